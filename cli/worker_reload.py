"""A reload over several workers: all prepare the change, then all apply it, or none does.

The parent reads the configuration file once and hands its content on, to the workers that serve and to those that it
starts later: what is edited meanwhile has no effect before the next reload.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any, BinaryIO

from cli.reloader import Reloader, failed, log_outcome
from runtime.config_errors import ConfigError
from runtime.logs import set_log_level
from runtime.settings.changes import refuse_fixed

if TYPE_CHECKING:
    from contextlib import AsyncExitStack
    from pathlib import Path

    from cli.reloader import Changes, Read
    from cli.worker import Parent, Worker
    from cli.workers import Workers
    from runtime.settings import Settings

# New endpoints prove themselves in this time, and apps are built.
PREPARE_SECONDS = 30.0
APPLY_SECONDS = 10.0


def read_content(path: Path | None) -> bytes | None:
    """Return what the configuration file holds, None without one. Raises ConfigError."""
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        fix = f"the configuration file cannot be read ({error.strerror}): give the path of a TOML file"
        raise ConfigError("config", str(path), fix) from None


class WorkersReload:
    """The parent's side. `path` is the configuration file, None where there is none."""

    def __init__(self, workers: Workers, settings: Settings, read: Read, path: Path | None) -> None:
        self._workers = workers
        self._settings = settings
        self._read = read
        self._path = path
        self._turn = asyncio.Lock()

    async def reload(self) -> dict[str, Any]:
        """Have all workers change to the configuration as it is now; return the outcome."""
        async with self._turn:
            try:
                content = await asyncio.to_thread(read_content, self._path)
                settings = await asyncio.to_thread(self._read, content)
                refuse_fixed(self._settings, settings)
            except ConfigError as error:
                outcome = failed(error)
            else:
                outcome = await self._change(content, settings)
        log_outcome(outcome)
        return outcome

    async def _change(self, content: bytes | None, settings: Settings) -> dict[str, Any]:
        workers = self._workers
        asked = [worker for worker in workers.all if worker.is_serving]
        text = None if content is None else content.decode(errors="surrogateescape")
        answers = await _ask(asked, {"step": "prepare", "config": text}, PREPARE_SECONDS)
        problem = _problem(answers)
        if problem is not None:
            await _ask(asked, {"step": "discard"}, APPLY_SECONDS)
            return problem
        # From here on a worker that is started begins with these settings.
        generation = workers.set_configuration(content)
        applied = await _ask(asked, {"step": "apply", "generation": generation}, APPLY_SECONDS)
        done = {worker for worker, answer in zip(asked, applied, strict=True) if answer is not None}
        for worker in workers.all:
            if worker not in done and worker.generation != generation:
                # It is still starting with the settings of before, or hangs: it starts again with these.
                worker.kill()
        self._settings = settings
        set_log_level(settings.log)
        changed: list[str] = next((answer["changed"] for answer in answers if answer is not None), [])
        return {"ok": True, "generation": generation, "changed": changed, "workers": len(done)}


async def _ask(workers: list[Worker], request: dict[str, Any], seconds: float) -> list[dict[str, Any] | None]:
    return list(await asyncio.gather(*(worker.ask(request, seconds) for worker in workers)))


def _problem(answers: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Return the outcome where not every worker is prepared for the same settings."""
    refusal = next((answer for answer in answers if answer is not None and not answer["ok"]), None)
    if refusal is not None:
        return refusal
    if not answers:
        return {"ok": False, "error": "no worker serves"}
    if None in answers:
        return {"ok": False, "error": "a worker did not answer in time: reload again"}
    if len({answer["digest"] for answer in answers if answer is not None}) > 1:
        return {"ok": False, "error": "files changed while they were read: reload again"}
    return None


class WorkerControl:
    """A worker's side: does what the parent asks, one step after the other. It takes the place of a `Control`."""

    def __init__(self, parent: Parent, read: Read, generation: int) -> None:
        self._parent = parent
        self._read = read
        self._began = generation
        self._reloader: Reloader | None = None
        self._steps: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    def generation(self) -> int | None:
        """Return which of its settings the process has; None before it serves."""
        return None if self._reloader is None else self._reloader.generation

    async def open(self, stack: AsyncExitStack, settings: Settings, changes: Changes, port: int) -> None:
        """Take requests from now on."""
        self._reloader = Reloader(settings, self._read, changes, self._began)
        self._parent.on_request = self._begin

    def _begin(self, request: dict[str, Any]) -> None:
        task = asyncio.get_running_loop().create_task(self._step(request))
        self._steps.add(task)
        task.add_done_callback(self._steps.discard)

    async def _step(self, request: dict[str, Any]) -> None:
        reloader = self._reloader
        async with self._turn:
            answer: dict[str, Any] = {"ok": True}
            if reloader is None:
                return
            if request["step"] == "prepare":
                config = request["config"]
                content = None if config is None else config.encode(errors="surrogateescape")
                answer = await reloader.prepare(content)
            elif request["step"] == "apply":
                reloader.apply(request["generation"])
            else:
                await reloader.discard()
            await self._parent.reply(request["number"], answer)


def read_configuration(stream: BinaryIO) -> tuple[bytes | None, int]:
    """Return what the configuration file holds, and the generation, out of the first line that a parent writes."""
    line = b""
    # Byte by byte: what follows is for the event loop.
    while not line.endswith(b"\n") and (part := os.read(stream.fileno(), 1)):
        line += part
    received = json.loads(line)
    config = received["config"]
    return None if config is None else config.encode(errors="surrogateescape"), int(received["generation"])
