"""How long a read waits for company.

A read that follows another one closely is likely to be followed by a third: waiting a little folds them into one
request. A read that comes after a quiet moment leaves at once, so a lone caller never waits.
"""

from __future__ import annotations

from typing import Protocol

_LONGEST = 0.005
_SHORTEST = 0.001
_SHARE = 10


class HasMedian(Protocol):
    """What knows how long answers take."""

    @property
    def median(self) -> float | None:
        """Seconds, None before the first answer."""
        ...


class Hold:
    """The rule of design section 6: up to 5 ms or a tenth of the node's median, below 1 ms not at all."""

    def __init__(self, latency: HasMedian) -> None:
        self._latency = latency
        self._previous: float | None = None
        self.is_quiet = True
        """Whether the last read came later after the one before it than the node takes to answer."""

    def seconds(self, now: float) -> float:
        """Return for how long the read that arrives `now` is held; 0 if the one before it is longer ago than that."""
        previous, self._previous = self._previous, now
        median = self._latency.median
        self.is_quiet = previous is None or median is None or now - previous > median
        if previous is None or median is None:
            return 0.0
        hold = min(_LONGEST, median / _SHARE)
        return hold if hold >= _SHORTEST and now - previous < hold else 0.0
