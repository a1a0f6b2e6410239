"""Several fresh processes on the same ports: started, watched and ended together.

Each worker runs `waypost serve --worker N`. It gets what it needs by environment, says on its standard output when it
serves, and ends when its standard input does, so that none outlives the parent. Signals reach the parent alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE
from typing import TYPE_CHECKING, Any

from runtime.logs import get_logger
from runtime.settings.environment import SHORT, variable_of

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from cli.stopping import Stop

# A worker that ends sooner than this has not served: starting it again would only loop.
SHORTEST_LIFE = 5.0
# How long a worker may take beyond its grace before it is killed.
OVERSTAY = 5.0
READY = "ready"

_log = get_logger("waypost.workers")


async def run_workers(
    count: int,
    stop: Stop,
    announce: Callable[[], None],
    *,
    config: Path | None,
    overrides: Mapping[str, Any],
    grace: float,
) -> int:
    """Run workers until a stop is asked for; return the exit code, 1 when a worker could not be kept running.

    `announce` is called once when all of them serve.
    """
    safely = ["-P"] if sys.flags.safe_path else []
    command = [sys.executable, *safely, "-m", "cli", "serve"]
    if config is not None:
        command += ["--config", str(config)]
    environment = worker_environment(os.environ, {**overrides, "workers": count})
    workers = [Worker(number, [*command, "--worker", str(number)], environment) for number in range(count)]
    try:
        started = await stop.wait_for(_start(workers))
        if started is None:
            return 0
        if not started:
            return 1
        announce()
        kept = await stop.wait_for(_keep(workers))
        return 0 if kept is None else 1
    finally:
        await asyncio.gather(*(worker.end(stop, grace) for worker in workers))


class Worker:
    """One worker process, started again when it dies."""

    def __init__(self, number: int, command: list[str], environment: Mapping[str, str]) -> None:
        self._number = number
        self._command = command
        self._environment = environment
        self._process: Process | None = None
        self._began = 0.0

    @property
    def pid(self) -> int | None:
        """The process id while it runs, else None."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def start(self) -> bool:
        """Start it; return whether it came to serve."""
        self._began = time.monotonic()
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=PIPE, stdout=PIPE, env=self._environment, start_new_session=True
        )
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        return line.decode().strip() == READY

    async def keep(self) -> None:
        """Start it again whenever it dies; return when it dies too soon after a start."""
        while self._process is not None:
            code = await self._process.wait()
            lived = time.monotonic() - self._began
            _log.error("a worker ended", worker=self._number, exit_code=code, lived_seconds=round(lived, 1))
            if lived < SHORTEST_LIFE or not await self.start():
                return

    async def end(self, stop: Stop, grace: float) -> None:
        """End it: SIGTERM, another one when the parent is in a hurry, SIGKILL when it overstays its grace."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.send_signal(signal.SIGTERM)
        waiting = asyncio.ensure_future(process.wait())
        hurry = asyncio.ensure_future(stop.hurried.wait())
        await asyncio.wait((waiting, hurry), timeout=grace + OVERSTAY, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        if not waiting.done() and stop.hurried.is_set():
            process.send_signal(signal.SIGTERM)
            await asyncio.wait((waiting,), timeout=2.0)
        if not waiting.done():
            process.kill()
        await waiting


def worker_environment(environ: Mapping[str, str], overrides: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment in which a worker reads the same settings as its parent with these overrides."""
    environment = dict(environ)
    for key, value in _leaves("", overrides):
        for short, meant in SHORT.items():
            if meant == key:
                environment.pop(short, None)
        environment[variable_of(key)] = value if isinstance(value, str) else json.dumps(value)
    return environment


def report_ready() -> None:
    """Tell the parent that this worker serves."""
    print(READY, flush=True)


async def _start(workers: list[Worker]) -> bool:
    """Return whether all of them came to serve."""
    return all(await asyncio.gather(*(worker.start() for worker in workers)))


async def _keep(workers: list[Worker]) -> bool:
    """Return False once a worker cannot be kept running."""
    tasks = [asyncio.ensure_future(worker.keep()) for worker in workers]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return False
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _leaves(prefix: str, values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    leaves: list[tuple[str, Any]] = []
    for name, value in values.items():
        key = f"{prefix}{name}"
        leaves += _leaves(f"{key}.", value) if isinstance(value, dict) else [(key, value)]
    return leaves
