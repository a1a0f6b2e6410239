"""Cursors of log queries, and the window that they freeze (decisions section 3.6).

A cursor says where the next, older page begins: right below a place in the chain. Its text is

- `N` where a page ended between two blocks: the next page begins with block N, its logs included (JSON: an integer);
- `block:logIndex` where it ended inside a block: the next page begins below that log;
- `block:logIndex:fromBlock` where the caller left out a `fromBlock` that depends on the head: the oldest block of the
  first page's window comes along, because later it could not be found out again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from server.chains.evm.log_entries import Place
from server.errors import InvalidArgument

_TEXT = re.compile(r"([0-9]{1,16})(?::([0-9]{1,9})(?::([0-9]{1,16}))?)?")


@dataclass(frozen=True, slots=True)
class Cursor:
    """Everything at or above `below` is done; `low` is the window's oldest block where the cursor carries it."""

    below: Place
    low: int | None = None

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Return the cursor of a text.

        Raises:
            InvalidArgument: not a cursor as pages carry them; names the field `cursor`.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise _refused("write the cursor of the previous page as it was answered")
        block, index, low = match.groups()
        if index is None:
            return cls(Place(int(block) + 1, 0))
        cursor = cls(Place(int(block), int(index)), None if low is None else int(low))
        if cursor.low is not None and cursor.low > cursor.top:
            raise _refused("its blocks contradict each other")
        return cursor

    @property
    def top(self) -> int:
        """The newest block that the next page looks at, -1 where there is none."""
        return self.below.block if self.below.log_index > 0 else self.below.block - 1

    def __str__(self) -> str:
        if self.low is not None:
            return f"{self.below.block}:{self.below.log_index}:{self.low}"
        return f"{self.below.block}:{self.below.log_index}" if self.below.log_index else str(self.top)


@dataclass(frozen=True, slots=True)
class Window:
    """What a page may hold: logs below the place `below`, in blocks from `low` on. `carried` goes into the cursor."""

    low: int
    below: Place
    carried: int | None = None

    @property
    def top(self) -> int:
        """The newest block of the window; below `low` where the window is empty."""
        return Cursor(self.below).top

    def cursor(self, below: Place) -> str:
        """Return the text of the cursor for what is below that place."""
        return str(Cursor(below, self.carried))


def _refused(why: str) -> InvalidArgument:
    return InvalidArgument(f"cursor: {why}", field="cursor")
