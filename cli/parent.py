"""What a worker and its parent report to each other: lines over the worker's standard output and input.

The parent takes a worker that says nothing for some seconds for hung (`cli/workers.py`): the lines leave from the event
loop, which is what must not stand still. The end of standard input is the end of the parent.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from runtime.metrics import set_workers

if TYPE_CHECKING:
    from cli.stopping import Stop

READY = b"ready"
ALIVE = b"alive"
# How often a worker says that it is alive, in seconds.
INTERVAL = 0.5


@dataclass(frozen=True)
class WorkerCounts:
    """How many workers there should be, how many serve, and how often one was started again."""

    configured: int
    serving: int
    restarts: int

    def line(self) -> bytes:
        """Return it as a parent says it."""
        return json.dumps(asdict(self)).encode() + b"\n"


class Parent:
    """The parent as its worker sees it; `counts` is what it said last."""

    def __init__(self) -> None:
        self.counts: WorkerCounts | None = None
        # Whatever else is printed goes where the log goes.
        self._output = os.dup(sys.stdout.fileno())
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        # A parent that does not read must not hold up its workers.
        os.set_blocking(self._output, False)

    def counts_by_name(self) -> dict[str, int] | None:
        """Return what the parent said last, None before."""
        return None if self.counts is None else asdict(self.counts)

    def report_ready(self) -> None:
        """Say that this worker serves."""
        self._say(READY)

    async def follow(self, stop: Stop) -> None:
        """Say at every interval that the event loop runs, and listen; ask for a stop when the parent is gone."""
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
            self._say(ALIVE)
            await asyncio.sleep(INTERVAL)

    def _say(self, word: bytes) -> None:
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._output, word + b"\n")
