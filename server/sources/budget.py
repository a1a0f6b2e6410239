"""A quota of our own for a source whose is small: requests leave evenly spaced, so that it is never exceeded."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING

from server.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_WAIT = 4.0
"""How long a request waits for its turn within the quota."""


class Budget:
    """Spaces the requests to the source `name` evenly. `rate` is in units per second, `clock` monotonic."""

    def __init__(self, name: str, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._unit_seconds = 1 / rate
        self._clock = clock
        self._next = 0.0

    async def wait(self, until: float, *, units: float = 1.0) -> None:
        """Return when the next request, which takes so many units of the quota, may leave.

        Raises:
            UpstreamUnavailable: that is more than `LONGEST_WAIT` away, or after `until`; says when to try again.
        """
        now = self._clock()
        turn = max(self._next, now)
        seconds = turn - now
        if seconds > min(LONGEST_WAIT, until - now):
            raise UpstreamUnavailable(
                f"the gateway's quota of requests to {self._name} is used up; try again in a few seconds",
                retry_after_ms=math.ceil(seconds * 1000),
            )
        following = self._next = turn + units * self._unit_seconds
        if seconds <= 0:
            return
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            # Nobody waits for this request any more; the turn is given back unless others come after it.
            if self._next == following:
                self._next = turn
            raise
