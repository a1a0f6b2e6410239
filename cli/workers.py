"""Several fresh processes on the same ports: started, watched, replaced and ended together.

Each worker runs `waypost serve --worker N`. It gets what it needs by environment, reports on its standard output that
it serves and is alive (`Parent`), and ends when its standard input does, so that none outlives the parent. Signals
reach the parent alone. One that dies is started again, after a pause where it did not live long; one that is silent
for some seconds hangs, and is killed first, which closes its connections: the lines leave from the event loop, which is
what must not stand still. The others go on all the while.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE
from contextlib import suppress
from dataclasses import asdict, dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from runtime.logs import get_logger
from runtime.metrics import set_workers
from runtime.settings.loading import SHORT, variable_of

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from cli.process import Stop


READY = b"ready"
ALIVE = b"alive"
# How often a worker reports that it is alive, in seconds.
INTERVAL = 0.5


@dataclass(frozen=True)
class WorkerCounts:
    """How many workers there should be, how many serve, and how often one was started again."""

    configured: int
    serving: int
    restarts: int

    def line(self) -> bytes:
        """Return it as the line that a parent writes."""
        return json.dumps(asdict(self)).encode() + b"\n"


class Parent:
    """The parent as its worker sees it; `counts` is what it reported last."""

    def __init__(self) -> None:
        self.counts: WorkerCounts | None = None
        # Whatever else is printed goes where the log goes.
        self._output = os.dup(sys.stdout.fileno())
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        # A parent that does not read must not hold up its workers.
        os.set_blocking(self._output, False)

    def counts_by_name(self) -> dict[str, int] | None:
        """Return what the parent reported last, None before."""
        return None if self.counts is None else asdict(self.counts)

    def report_ready(self) -> None:
        """Report that this worker serves."""
        self._write(READY)

    async def follow(self, stop: Stop) -> None:
        """Report at every interval that the event loop runs, and read; request a stop when the parent is gone."""
        beating = asyncio.create_task(self._beat())
        try:
            reader = asyncio.StreamReader()
            await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
            while line := await reader.readline():
                self.counts = WorkerCounts(**json.loads(line))
                set_workers(**asdict(self.counts))
            stop.requested.set()
            await beating
        finally:
            beating.cancel()

    async def _beat(self) -> None:
        while True:
            self._write(ALIVE)
            await asyncio.sleep(INTERVAL)

    def _write(self, word: bytes) -> None:
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._output, word + b"\n")


# A worker that ends sooner than this is not started again at once, which might only loop.
SHORTEST_LIFE = 5.0
# The pause before it is started again: the first, doubled each time, up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
# A worker that is silent for so long hangs: it is noticed within five seconds. Before its first line it may load.
LONGEST_SILENCE = 4.0
LONGEST_START = 60.0
# How often it is looked whether one hangs.
LOOK = 0.25
# How long a worker may take beyond its grace before it is killed.
OVERSTAY = 5.0

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
    """Run workers until a stop is asked for; return the exit code, 1 when none of them served at first.

    `announce` is called once, when each of them serves or has failed to; those are tried again.
    """
    safely = ["-P"] if sys.flags.safe_path else []
    command = [sys.executable, *safely, "-m", "cli", "serve"]
    if config is not None:
        command += ["--config", str(config)]
    environment = worker_environment(os.environ, {**overrides, "workers": count})
    workers = Workers([Worker(number, [*command, "--worker", str(number)], environment) for number in range(count)])
    try:
        started = await stop.wait_for(workers.start())
        if started is None:
            return 0
        if not started:
            _log.error("no worker came to serve", workers=count)
            return 1
        announce()
        await stop.wait_for(workers.keep())
        return 0
    finally:
        await workers.end(stop, grace)


class Workers:
    """All the workers; each gets the number of those that serve."""

    def __init__(self, workers: list[Worker]) -> None:
        self._workers = workers
        for worker in workers:
            worker.changed = self._report

    @property
    def counts(self) -> WorkerCounts:
        """How many there are, how many serve, how often one was started again."""
        serving = sum(worker.is_serving for worker in self._workers)
        return WorkerCounts(len(self._workers), serving, sum(worker.restarts for worker in self._workers))

    async def start(self) -> bool:
        """Start all of them; return whether one serves."""
        return any(await asyncio.gather(*(worker.start() for worker in self._workers)))

    async def keep(self) -> None:
        """Start each again whenever it dies or hangs; never returns."""
        await asyncio.gather(*(worker.keep() for worker in self._workers))

    async def end(self, stop: Stop, grace: float) -> None:
        """End all of them."""
        await asyncio.gather(*(worker.end(stop, grace) for worker in self._workers))

    def _report(self) -> None:
        line = self.counts.line()
        for worker in self._workers:
            worker.send(line)


class Worker:
    """One worker process, started again when it dies or hangs. `changed` is called when it serves or no longer does."""

    def __init__(self, number: int, command: list[str], environment: Mapping[str, str]) -> None:
        self.restarts = 0
        self.is_serving = False
        self.changed: Callable[[], None] = lambda: None
        self._number = number
        self._command = command
        self._environment = environment
        self._process: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._began = 0.0
        self._silent_from = 0.0
        self._longest_silence = LONGEST_START
        self._pause = 0.0

    @property
    def pid(self) -> int | None:
        """The process id while it runs, else None."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def start(self) -> bool:
        """Start it; return whether it serves."""
        self._began = self._silent_from = monotonic()
        self._longest_silence = LONGEST_START
        self._ready = asyncio.Event()
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                *self._command, stdin=PIPE, stdout=PIPE, env=self._environment, start_new_session=True
            )
        except OSError as error:
            _log.error("a worker cannot be started", worker=self._number, error=error.strerror)
            self._process = None
            return False
        self._reading = asyncio.create_task(self._read(process))
        watching, ready = asyncio.ensure_future(self._watch(process)), asyncio.ensure_future(self._ready.wait())
        try:
            await asyncio.wait((watching, ready), return_when=asyncio.FIRST_COMPLETED)
        finally:
            watching.cancel()
            ready.cancel()
        return self._ready.is_set()

    async def keep(self) -> None:
        """Start it again whenever it dies or hangs; never returns."""
        while True:
            if self._process is not None:
                await self._watch(self._process)
            self._report_end()
            await asyncio.sleep(self._pause)
            self.restarts += 1
            if await self.start():
                _log.info("a worker was started again", worker=self._number, restarts=self.restarts)

    async def end(self, stop: Stop, grace: float) -> None:
        """End it: SIGTERM, another one when the parent is in a hurry, SIGKILL when it overstays its grace or hangs."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.send_signal(signal.SIGTERM)
        waiting = asyncio.ensure_future(self._watch(process))
        hurry = asyncio.ensure_future(stop.hurried.wait())
        await asyncio.wait((waiting, hurry), timeout=grace + OVERSTAY, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        if not waiting.done() and stop.hurried.is_set():
            process.send_signal(signal.SIGTERM)
            await asyncio.wait((waiting,), timeout=2.0)
        if not waiting.done():
            process.kill()
        await waiting

    def send(self, line: bytes) -> None:
        """Write a line to its standard input, if it serves."""
        if self.is_serving and self._process is not None and self._process.stdin is not None:
            with suppress(ConnectionError, RuntimeError):
                self._process.stdin.write(line)

    async def _read(self, process: Process) -> None:
        """Read its lines until it closes its output."""
        assert process.stdout is not None
        while line := await process.stdout.readline():
            self._silent_from, self._longest_silence = monotonic(), LONGEST_SILENCE
            if line.strip() == READY:
                self._ready.set()
                self._set_serving(True)
        self._set_serving(False)

    async def _watch(self, process: Process) -> None:
        """Return when it has ended; it is killed when it is silent for too long."""
        ended = asyncio.ensure_future(process.wait())
        looked = monotonic()
        try:
            while not ended.done():
                await asyncio.wait((ended,), timeout=LOOK)
                now = monotonic()
                # What it wrote while this process itself was held up was not read.
                self._silent_from += max(0.0, now - looked - 2 * LOOK)
                looked = now
                silence = now - self._silent_from
                if silence > self._longest_silence and not ended.done():
                    _log.error("a worker hangs and is killed", worker=self._number, silent_seconds=round(silence, 1))
                    # A stopped process takes no other signal. Its connections close with it.
                    process.kill()
                    await ended
            if self._reading is not None:
                await self._reading
        finally:
            ended.cancel()

    def _set_serving(self, is_serving: bool) -> None:
        if is_serving != self.is_serving:
            self.is_serving = is_serving
            self.changed()

    def _report_end(self) -> None:
        """Set the pause by how long it lived, and log its end."""
        lived = monotonic() - self._began
        died_young = lived < SHORTEST_LIFE or not self._ready.is_set()
        self._pause = min(max(self._pause * 2, FIRST_PAUSE), LONGEST_PAUSE) if died_young else 0.0
        _log.error(
            "a worker ended",
            worker=self._number,
            exit_code=None if self._process is None else self._process.returncode,
            lived_seconds=round(lived, 1),
            again_in_seconds=self._pause,
        )


def worker_environment(environ: Mapping[str, str], overrides: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment in which a worker reads the same settings as its parent with these overrides."""
    environment = dict(environ)
    for key, value in _leaves("", overrides):
        for short, meant in SHORT.items():
            if meant == key:
                environment.pop(short, None)
        environment[variable_of(key)] = value if isinstance(value, str) else json.dumps(value)
    return environment


def _leaves(prefix: str, values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    leaves: list[tuple[str, Any]] = []
    for name, value in values.items():
        key = f"{prefix}{name}"
        leaves += _leaves(f"{key}.", value) if isinstance(value, dict) else [(key, value)]
    return leaves
