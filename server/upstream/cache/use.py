"""What one request had of the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

Status = Literal["hit", "miss", "stale", "bypass"]


class Holding(NamedTuple):
    """How long a whole answer holds: to `until` on the cache's clock, and no longer than `is_true` says so."""

    until: float
    is_true: Callable[[], bool]


class CacheUse:
    """Told by whoever looks into the cache for a request, and shown to its caller.

    With `bypass` nothing is looked up (what the nodes answer is still kept). `status` is how the answer came about:
    `stale` when any part was past its lifetime, `bypass` when the caller wanted no cache, `miss` when a node was asked
    for any part, else `hit`; None for a request that has nothing to do with the cache.
    """

    __slots__ = ("bypass", "holding", "longest", "status")

    def __init__(self, *, bypass: bool = False) -> None:
        self.bypass = bypass
        self.holding: Holding | None = None
        self.longest: float | None = None
        self.status: Status | None = None

    def holds(self, until: float, is_true: Callable[[], bool]) -> None:
        """Take note for how long the whole answer may be given again to the same request; the last word counts."""
        self.holding = Holding(until, is_true)

    def lasts(self, seconds: float) -> None:
        """Take note that the answer may be kept for so long at most, though its operation lets answers live longer.

        With 0 it is not given again at all.
        """
        self.longest = seconds if self.longest is None else min(self.longest, seconds)

    def hit(self) -> None:
        """Take note that a part of the answer came out of the cache."""
        if self.status is None:
            self.status = "bypass" if self.bypass else "hit"

    def miss(self) -> None:
        """Take note that a part of the answer was looked for in vain, or would have been."""
        if self.status != "stale":
            self.status = "bypass" if self.bypass else "miss"

    def stale(self) -> None:
        """Take note that the nodes failed and an answer past its lifetime was given instead."""
        self.status = "stale"
