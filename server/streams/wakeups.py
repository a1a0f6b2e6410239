"""When a chain is looked at: after a pause, or as soon as a node announces a block that is not known."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from server.upstream.push_socket import Announcement
    from server.upstream.pushes import Pushes

MOST_UNTRUE = 3
"""Untrue announcements in a row after which an endpoint is not listened to for a while."""

PUSHED_PAUSE = 1.5
"""Pauses between two looks while blocks are announced: a reorganisation that no node announces is noticed within two
block times."""
LONGEST_PUSHED_PAUSE = 15.0
"""Seconds between two looks at most, whoever announces blocks: local chains stand still when nothing is asked of them
for 20 s."""


class Wakeups:
    """The looks at one chain. `pause` is between two of them while nothing is announced, in seconds.

    While a node announces blocks looks are further apart, so that they come when an announcement is late: one that is
    lost, or never made, delays a block by that much. An endpoint whose announcements turn out to
    be untrue three times in a row is not listened to for one pause. `is_known` tells whether a block is on the believed
    chain.
    """

    def __init__(self, pushes: Pushes | None, pause: float, is_known: Callable[[int, str], bool]) -> None:
        self._pushes = pushes
        self._pause = pause
        self._pushed_pause = min(PUSHED_PAUSE * pause, LONGEST_PUSHED_PAUSE)
        self._is_known = is_known
        self._woken = asyncio.Event()
        self._announced: Announcement | None = None
        self._untrue: Counter[str] = Counter()
        self._ignored: dict[str, float] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Have nodes announce blocks while the context is open."""
        with nullcontext() if self._pushes is None else self._pushes.listen(self._note):
            yield

    def wake(self) -> None:
        """Have the chain looked at now."""
        self._woken.set()

    def take(self) -> Announcement | None:
        """Return what is announced since the last look, which begins now."""
        self._woken.clear()
        announced, self._announced = self._announced, None
        return announced

    def judge(self, announced: Announcement) -> bool:
        """Return, after a look, whether the announcement was true: the block is on the believed chain now."""
        endpoint, is_true = announced.endpoint, self._is_known(announced.number, announced.hash)
        self._untrue[endpoint] = 0 if is_true else self._untrue[endpoint] + 1
        if self._untrue[endpoint] >= MOST_UNTRUE:
            self._ignored[endpoint] = time.monotonic() + self._pause
        return is_true

    async def rest(self, seconds: float | None = None) -> None:
        """Return when it is time for the next look: after so many seconds, or a pause, or when the chain is woken."""
        is_pushed = self._pushes is not None and self._pushes.is_healthy and not self._ignored
        pause = self._pushed_pause if is_pushed else self._pause
        with suppress(TimeoutError):
            async with asyncio.timeout(pause if seconds is None else seconds):
                await self._woken.wait()

    def _note(self, announced: Announcement) -> None:
        until = self._ignored.get(announced.endpoint)
        if until is not None:
            if until > time.monotonic():
                return
            del self._ignored[announced.endpoint]
        if not self._is_known(announced.number, announced.hash):
            self._announced = announced
            self._woken.set()
