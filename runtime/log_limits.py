"""Bounds for log lines that clients cause: one a minute for each kind, the others are counted."""

from __future__ import annotations

from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

SECONDS = 60.0
CAPACITY = 4096
_OTHERS = object()


class LogLimit:
    """Decides which of many equal events are written: for each key one in `seconds`.

    At most `capacity` keys are held. Those beyond it share one line while none of the others is old enough to be
    forgotten, so that neither memory nor the log grows with the number of clients.
    """

    def __init__(
        self, seconds: float = SECONDS, capacity: int = CAPACITY, clock: Callable[[], float] = monotonic
    ) -> None:
        self._seconds = seconds
        self._capacity = capacity
        self._clock = clock
        # By key, longest ago first: when its last line was written, and how many events have not been since.
        self._written: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._written)

    def count(self, key: Hashable) -> int | None:
        """Count an event; return how many of its key went unwritten since the last line, None to leave it unwritten."""
        now = self._clock()
        if key not in self._written and len(self._written) >= self._capacity:
            oldest, (then, _) = next(iter(self._written.items()))
            if now - then >= self._seconds:
                del self._written[oldest]
            else:
                key = _OTHERS
        then, unwritten = self._written.get(key, (float("-inf"), 0))
        if now - then < self._seconds:
            self._written[key] = (then, unwritten + 1)
            return None
        self._written[key] = (now, 0)
        self._written.move_to_end(key)
        return unwritten
