"""A limited number of places, shared between those who hold them as evenly as they want (docs/decisions/0057)."""

from __future__ import annotations

# A holder may have this many times what is free, so one alone may have this part of all: 4 of 5.
_TIMES_FREE = 4


class FairShare:
    """Counts places by holder, and grants another one by what the holder has and what is free.

    One holder alone gets `limit`. A quarter of that is free beyond it, for those who have less than others: a holder
    gets another place while it has less than four times what is free. So whoever is refused has at least as many as
    anyone who gets one, and of those who always want more each has the same, at least `limit` divided by their number.
    Nothing waits, and there is nothing to tune: places that a large holder gives back go to the smaller ones.
    """

    __slots__ = ("_by_holder", "_weighed", "limit", "total")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.total = 0
        """Places that are taken, at most five quarters of the limit (rounded up)."""
        self._by_holder: dict[str, int] = {}
        # own < 4 * (5/4 * limit - total), in whole numbers.
        self._weighed = (_TIMES_FREE + 1) * limit

    def held(self, holder: str) -> int:
        """Return how many places the holder has."""
        return self._by_holder.get(holder, 0)

    def room(self, holder: str, reserved: int = 0) -> int:
        """Return how many more places the holder would get now, if it had at least the reserved ones."""
        own = self.held(holder)
        ahead = max(0, reserved - own)
        left = self._weighed - (own + ahead) - _TIMES_FREE * (self.total + ahead)
        return max(0, -(-left // (_TIMES_FREE + 1)))

    def has_room(self, holder: str) -> bool:
        """Return whether the holder would get a place now."""
        return self.held(holder) + _TIMES_FREE * self.total < self._weighed

    def is_over_part(self, holder: str) -> bool:
        """Return whether the holder is not alone and has at least the limit divided by the number of holders."""
        own = self.held(holder)
        return own < self.total and own * len(self._by_holder) >= self.limit

    def enter(self, holder: str) -> bool:
        """Give the holder a place and return True, which asks for a `leave`; return False where there is none."""
        own = self._by_holder.get(holder, 0)
        if own + _TIMES_FREE * self.total >= self._weighed:
            return False
        self._by_holder[holder] = own + 1
        self.total += 1
        return True

    def leave(self, holder: str) -> None:
        """Take one place of the holder back."""
        left = self._by_holder[holder] - 1
        if left:
            self._by_holder[holder] = left
        else:
            del self._by_holder[holder]
        self.total -= 1
