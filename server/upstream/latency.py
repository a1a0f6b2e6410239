"""A rolling picture of how fast an endpoint answers."""

from __future__ import annotations

from collections import deque

_SAMPLES = 64
_RECOMPUTE_EVERY = 8


class LatencyWindow:
    """Median and 95th percentile of the last 64 measured exchanges, in seconds; None before the first."""

    def __init__(self) -> None:
        self._samples: deque[float] = deque(maxlen=_SAMPLES)
        self._since = 0
        self.median: float | None = None
        self.p95: float | None = None

    @property
    def count(self) -> int:
        """How many measurements the figures rest on."""
        return len(self._samples)

    def add(self, seconds: float) -> None:
        """Take one measurement; the figures are refreshed at every one at first, later at every eighth."""
        self._samples.append(seconds)
        self._since += 1
        if self._since >= _RECOMPUTE_EVERY or len(self._samples) <= _RECOMPUTE_EVERY:
            self._since = 0
            ordered = sorted(self._samples)
            self.median = ordered[len(ordered) // 2]
            self.p95 = ordered[min(len(ordered) * 95 // 100, len(ordered) - 1)]
