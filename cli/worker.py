"""One worker process: its parent as it sees it (`Parent`), and itself as its parent sees it (`Worker`).

It runs `waypost serve --worker N`, gets what it needs by environment, reports on its standard output that it serves and
is alive, and ends when its standard input does, so that none outlives the parent. One that dies is started again, after
a pause where it did not live long; one that is silent for some seconds hangs, and is killed first, which closes its
connections: the lines leave from the event loop, which is what must not stand still.
"""

from __future__ import annotations

import asyncio
import itertools
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

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Mapping

    from cli.process import Stop
    from cli.template import Forked, Template
    from server.access.ledger import Ledger

_log = get_logger("waypost.workers")

READY = b"ready"
ALIVE = b"alive"
# How often a worker reports that it is alive, in seconds.
INTERVAL = 0.5
# The longest line between a parent and a worker: it holds the configuration file.
LONGEST_LINE = 16 << 20
_PIPE_PAUSE = 0.02


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
        self.on_request: Callable[[dict[str, Any]], None] = lambda _: None
        """Called with what the parent asks of this worker, to be answered by `reply`."""
        self._is_replying = False
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
            reader = asyncio.StreamReader(LONGEST_LINE)
            await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
            while line := await reader.readline():
                received = json.loads(line)
                if "step" in received:
                    self.on_request(received)
                    continue
                self.counts = WorkerCounts(**received)
                set_workers(**asdict(self.counts))
            stop.requested.set()
            await beating
        finally:
            beating.cancel()

    async def reply(self, number: int, answer: dict[str, Any]) -> None:
        """Answer what the parent asked under a number."""
        line = json.dumps({"number": number, **answer}).encode() + b"\n"
        self._is_replying = True
        try:
            while line:
                try:
                    line = line[os.write(self._output, line) :]
                except BlockingIOError:
                    await asyncio.sleep(_PIPE_PAUSE)
                except BrokenPipeError:
                    return
        finally:
            self._is_replying = False

    async def _beat(self) -> None:
        while True:
            if not self._is_replying:
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


class Worker:
    """One worker process, started again when it dies or hangs. `changed` is called when it serves or no longer does.

    It inherits a connection to the ledger, where there is one, and finds its descriptor after `--ledger`. It is forked
    from the template, where there is one, which takes what follows `serve` in the command; else a fresh process.
    """

    def __init__(
        self,
        number: int,
        command: list[str],
        environment: Mapping[str, str],
        ledger: Ledger | None = None,
        template: Template | None = None,
    ) -> None:
        self.restarts = 0
        self.is_serving = False
        self.generation = 0
        """The generation of the settings that it has, or began with."""
        self.configuration: Callable[[], tuple[int, bytes | None]] = lambda: (1, None)
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.changed: Callable[[], None] = lambda: None
        self._number = number
        self._command = command
        self._environment = environment
        self._ledger = ledger
        self._template = template
        self._process: Process | Forked | None = None
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
            self._process = process = await self._spawn()
            self._configure(process)
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

    async def _spawn(self) -> Process | Forked:
        inherited = None if self._ledger is None else await self._ledger.connect()
        try:
            descriptors = () if inherited is None else (inherited.fileno(),)
            if self._template is not None:
                try:
                    behind = self._command[self._command.index("serve") + 1 :]
                    return await self._template.fork(behind, descriptors, LONGEST_LINE)
                except OSError as error:
                    _log.warning("workers are fresh processes from now on", worker=self._number, error=str(error))
                    self._template = None
            return await asyncio.create_subprocess_exec(
                *self._command,
                *(f"--ledger={descriptor}" for descriptor in descriptors),
                stdin=PIPE,
                stdout=PIPE,
                env=self._environment,
                start_new_session=True,
                limit=LONGEST_LINE,
                pass_fds=descriptors,
            )
        finally:
            if inherited is not None:
                inherited.close()

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

    def kill(self) -> None:
        """End it at once; it is started again."""
        if self.pid is not None and self._process is not None:
            self._process.kill()

    async def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """Return what it answers to a request; None where it does not in time, or ends."""
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self.send(json.dumps({**request, "number": number}).encode() + b"\n")
        done, _ = await asyncio.wait((answer,), timeout=seconds)
        self._answers.pop(number, None)
        if not done or answer.cancelled():
            return None
        received = answer.result()
        if request["step"] == "apply":
            self.generation = request["generation"]
        return received

    def _configure(self, process: Process | Forked) -> None:
        """Write it the configuration that holds, where it reads a file: as it was at the last reload."""
        self.generation, content = self.configuration()
        if content is not None and process.stdin is not None:
            line = {"generation": self.generation, "config": content.decode(errors="surrogateescape")}
            process.stdin.write(json.dumps(line).encode() + b"\n")

    def send(self, line: bytes) -> None:
        """Write a line to its standard input, if it serves."""
        if self.is_serving and self._process is not None and self._process.stdin is not None:
            with suppress(ConnectionError, RuntimeError):
                self._process.stdin.write(line)

    async def _read(self, process: Process | Forked) -> None:
        """Read its lines until it closes its output."""
        assert process.stdout is not None
        while line := await process.stdout.readline():
            self._silent_from, self._longest_silence = monotonic(), LONGEST_SILENCE
            word = line.strip()
            if word == READY:
                self._ready.set()
                self._set_serving(True)
            elif word.startswith(b"{"):
                self._take(json.loads(word))
        self._set_serving(False)
        for answer in self._answers.values():
            answer.cancel()

    def _take(self, received: dict[str, Any]) -> None:
        answer = self._answers.get(received.pop("number", 0))
        if answer is not None and not answer.done():
            answer.set_result(received)

    async def _watch(self, process: Process | Forked) -> None:
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
