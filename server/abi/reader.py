"""Encoded data that is read with a budget.

Offsets in it are its author's: several may point at the same bytes, so that a few kilobytes stand for millions of
values. Every value read is paid for, long texts by their words.
"""

from __future__ import annotations

WORD = 32

MAX_VALUES = 20_000
"""Most values that are read out of one piece of data."""


class Undecodable(ValueError):
    """The data is no encoding of the types."""


class TooManyValues(Undecodable):
    """The data stands for more values than are read."""


class Reader:
    """Reads words and bytes of `data`; offsets are counted from its beginning."""

    __slots__ = ("_data", "_left", "size")

    def __init__(self, data: bytes, budget: int = MAX_VALUES) -> None:
        self._data = data
        self._left = budget
        self.size = len(data)

    def word(self, at: int) -> bytes:
        """Return the 32 bytes at an offset; Undecodable where the data ends before."""
        self._spend(1)
        end = at + WORD
        if end > self.size:
            raise Undecodable("the data ends before the value")
        return self._data[at:end]

    def words(self, at: int, count: int) -> list[bytes]:
        """Return so many neighbouring words; Undecodable where the data ends before the last."""
        self._spend(count)
        end = at + WORD * count
        if end > self.size:
            raise Undecodable("the data ends before the value")
        return [self._data[place : place + WORD] for place in range(at, end, WORD)]

    def number(self, at: int) -> int:
        """Return the word at an offset as an unsigned number: a length or a relative offset."""
        return int.from_bytes(self.word(at), "big")

    def text(self, at: int) -> bytes:
        """Return the bytes whose length stands at an offset, before them; padding is not asked for."""
        length = self.number(at)
        start = at + WORD
        if start + length > self.size:
            raise Undecodable("the data ends before the value")
        self._spend(length // WORD)
        return self._data[start : start + length]

    def _spend(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            raise TooManyValues("the data holds too many values")
