"""When planned reads leave: once the loop has nothing else to do, or a little later if they come in quick succession.

Reads of one burst do not arrive in one turn of the loop: a request may start reads as tasks of its own, and under load
grpc.aio's thread hands over one call whenever it gets the interpreter. So reads wait for a number of turns: an idle
loop makes them in some 30 microseconds, a busy one brings further reads with them. (64 gRPC callers on a local node:
reads that left at the end of their turn never folded and cost 2.5 times the processor time.)

A read that comes when nobody else is about, as the one before it did, waits for its own request's other reads alone:
the turns would be a twelfth of a lone caller's time.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.upstream.batcher import BatchDelay

_TURNS = 48
_TURNS_ALONE = 4

LONGEST_SECONDS = 0.008
"""A loop that is busy all this time is saturated: whoever waits here would wait for the processor otherwise."""


class CollectionWindow:
    """Collects arrivals until none came for some turns, then calls `leave` once for all of them.

    `delay` says how long the first of them waits for company before those turns.
    """

    def __init__(self, leave: Callable[[], None], delay: BatchDelay) -> None:
        self._leave = leave
        self._delay = delay
        self._waiting: list[asyncio.Future[None]] = []
        self._is_closed = True
        self._turns = 0
        self._arrivals = 0
        self._had_company = True

    def arrive(self) -> None:
        """Take note that a read is there: `leave` is called in a moment."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        delay = self._delay.seconds(now)
        self._arrivals += 1
        is_alone = self._is_closed and self._delay.is_quiet and not self._had_company
        self._turns = _TURNS_ALONE if is_alone else _TURNS
        if self._is_closed:
            self._is_closed = False
            if delay > 0:
                loop.call_later(delay, self._turn, loop, now + delay + LONGEST_SECONDS)
            else:
                loop.call_soon(self._turn, loop, now + LONGEST_SECONDS)

    def wait(self) -> asyncio.Future[None]:
        """Arrive, and return a future of this caller's own, done once `leave` was called."""
        self.arrive()
        # Not one future for all: a caller who hangs up cancels what it awaits.
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def _turn(self, loop: asyncio.AbstractEventLoop, latest: float) -> None:
        self._turns -= 1
        if self._turns > 0 and loop.time() < latest:
            loop.call_soon(self._turn, loop, latest)
            return
        self._is_closed = True
        self._had_company, self._arrivals = self._arrivals > 1, 0
        waiting, self._waiting = self._waiting, []
        self._leave()
        for future in waiting:
            if not future.done():
                future.set_result(None)
