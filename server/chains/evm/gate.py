"""When planned reads leave: once the loop has nothing else to do, or a little later if they come in quick succession.

Reads of one burst do not arrive in one turn of the loop: a request may start reads as tasks of its own, and under load
grpc.aio's thread hands over one call whenever it gets the interpreter. So reads wait for a number of turns: an idle
loop makes them in some 30 microseconds, a busy one brings further reads with them. (64 gRPC callers on a local node:
reads that left at the end of their turn never folded and cost 2.5 times the processor time.)
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.upstream.hold import Hold

_TURNS = 48
_LONGEST_SECONDS = 0.002


class Gate:
    """Collects arrivals until none came for some turns, then calls `leave` once for all of them.

    `hold` says how long the first of them waits for company before those turns.
    """

    def __init__(self, leave: Callable[[], None], hold: Hold) -> None:
        self._leave = leave
        self._hold = hold
        self._opening: asyncio.Future[None] | None = None
        self._turns = 0

    def arrive(self) -> asyncio.Future[None]:
        """Return the future that is done once `leave` was called; all that arrived by then share it."""
        self._turns = _TURNS
        loop = asyncio.get_running_loop()
        now = loop.time()
        hold = self._hold.seconds(now)
        opening = self._opening
        if opening is None:
            opening = self._opening = loop.create_future()
            if hold > 0:
                loop.call_later(hold, self._turn, loop, now + hold + _LONGEST_SECONDS)
            else:
                loop.call_soon(self._turn, loop, now + _LONGEST_SECONDS)
        return opening

    def _turn(self, loop: asyncio.AbstractEventLoop, latest: float) -> None:
        self._turns -= 1
        if self._turns > 0 and loop.time() < latest:
            loop.call_soon(self._turn, loop, latest)
            return
        opening, self._opening = self._opening, None
        self._leave()
        if opening is not None and not opening.cancelled():
            opening.set_result(None)
