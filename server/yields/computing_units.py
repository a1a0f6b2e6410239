"""Pendle's quota, kept by the gateway itself: computing units per minute and per week (X-Computing-Unit)."""

from __future__ import annotations

import math
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from server.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.upstream.transport import Observer, Purpose

_MINUTE, _WEEK = 60.0, 604_800.0
# What is spent is counted together by so many parts of a window.
_PARTS = 120


class Quota(NamedTuple):
    """Computing units that may be spent in any minute and in any week."""

    per_minute: float
    per_week: float


KEYLESS = Quota(100, 200_000)
"""What an address may spend without a key. Source: pendle-finance/documentation, ApiOverview (rate limiting)."""


class _Window:
    """What was spent in the last `seconds`, in steps of a part of them."""

    def __init__(self, units: float, seconds: float) -> None:
        self.units = units
        self._seconds = seconds
        self._step = seconds / _PARTS
        self._spent: deque[list[float]] = deque()
        self.total = 0.0

    def forget(self, now: float) -> None:
        """Drop what is older than the window."""
        while self._spent and self._spent[0][0] + self._step + self._seconds <= now:
            self.total -= self._spent.popleft()[1]
        if not self._spent:
            self.total = 0.0

    def add(self, now: float, units: float) -> None:
        """Count units; a negative number gives some back."""
        if not self._spent or now - self._spent[-1][0] >= self._step:
            self._spent.append([now, 0.0])
        self._spent[-1][1] += units
        self.total += units

    def wait(self, now: float, units: float) -> float:
        """Return in how many seconds so many units are free again, 0 where they are."""
        over = self.total + units - self.units
        for began, spent in self._spent:
            if over <= 0:
                break
            over -= spent
            if over <= 0:
                return began + self._step + self._seconds - now
        return 0.0 if over <= 0 else self._seconds


class ComputingUnits:
    """Counts what requests cost. `clock` is monotonic, in seconds."""

    def __init__(self, name: str, quota: Quota, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._windows = (_Window(quota.per_minute, _MINUTE), _Window(quota.per_week, _WEEK))

    def set_quota(self, quota: Quota) -> None:
        """Keep to another quota from now on; what was spent counts within it."""
        for window, units in zip(self._windows, quota, strict=True):
            window.units = units

    def check(self, units: float) -> None:
        """Return where so many units may be spent now.

        Raises:
            UpstreamUnavailable: the quota does not hold so many more; states when it does.
        """
        now = self._clock()
        for window in self._windows:
            window.forget(now)
        seconds = max(window.wait(now, units) for window in self._windows)
        if seconds > 0:
            raise UpstreamUnavailable(
                f"the gateway's quota of computing units of {self._name} is used up; try again later",
                retry_after_ms=math.ceil(seconds * 1000),
            )

    def count(self, units: float) -> None:
        """Count units that are spent; a negative number gives back what a request did not cost after all."""
        now = self._clock()
        for window in self._windows:
            window.add(now, units)


class CountedRequests:
    """The observer of a pool that counts `units` for every request that leaves, also for those sent once more.

    Everything else is handed on.
    """

    def __init__(self, observer: Observer, counted: ComputingUnits, units: float) -> None:
        self._observer = observer
        self._counted = counted
        self._units = units

    def __getattr__(self, name: str) -> Any:
        return getattr(self._observer, name)

    def sent(self, chain: str, endpoint: str, purpose: Purpose, calls: int) -> None:
        """Count the request."""
        self._counted.count(self._units)
        self._observer.sent(chain, endpoint, purpose, calls)
