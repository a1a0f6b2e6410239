"""The newest blocks of a chain as they are believed, and those that they replaced as long as anyone stands on them."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from server.streams.cursor import MOST_MARKS, Mark, encode_marks, mark_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from server.chains.capabilities.following import Link

MOST_BLOCKS = 1_024
"""Blocks that are kept of a chain."""

_SLACK = 256


class Block:
    """A block that someone stands on. `parent` is None where what lies below is not known."""

    __slots__ = ("_marks", "link", "mark", "parent")

    def __init__(self, link: Link, parent: Block | None = None) -> None:
        self.link = link
        self.parent = parent
        self.mark: Mark = mark_of(link.number, link.hash)
        self._marks: bytes | None = None

    @property
    def number(self) -> int:
        """The block's number."""
        return self.link.number

    def follows(self, other: Block) -> bool:
        """Return whether the block states that the other one lies directly below it."""
        return self.link.parent_hash == other.link.hash and self.link.parent_number == other.number

    def marks(self, final: int) -> bytes:
        """Return the marks of cursors at this block, down to the newest final one where that is known."""
        if self._marks is None:
            self._marks = encode_marks(self._below(final))
        return self._marks

    def _below(self, final: int) -> Iterator[Mark]:
        block: Block | None = self
        for _ in range(MOST_MARKS):
            if block is None:
                return
            yield block.mark
            if block.number <= final:
                return
            block = block.parent


class ChainRecord:
    """The believed chain, lowest block first. Blocks are compared by identity: each is kept once."""

    def __init__(self, most_blocks: int = MOST_BLOCKS) -> None:
        self._blocks: list[Block] = []
        self._most_blocks = most_blocks

    @property
    def tip(self) -> Block | None:
        """The newest block, None before the first."""
        return self._blocks[-1] if self._blocks else None

    @property
    def base(self) -> Block | None:
        """The oldest block that is kept."""
        return self._blocks[0] if self._blocks else None

    def at(self, number: int) -> Block | None:
        """Return the block of that number; None where there is none, or none is kept."""
        at = self._place(number)
        return self._blocks[at] if at < len(self._blocks) and self._blocks[at].number == number else None

    def after(self, number: int) -> Block | None:
        """Return the lowest block above that number."""
        at = self._place(number + 1)
        return self._blocks[at] if at < len(self._blocks) else None

    def before(self, number: int) -> Block | None:
        """Return the highest block below that number."""
        at = self._place(number)
        return self._blocks[at - 1] if at > 0 else None

    def holds(self, block: Block) -> bool:
        """Return whether the block is part of the believed chain and kept."""
        return self.at(block.number) is block

    def begin(self, links: Sequence[Link]) -> None:
        """Begin anew with blocks that follow each other, lowest first."""
        self._blocks = []
        self._append(links)

    def replace(self, ancestor: Block, links: Sequence[Link]) -> None:
        """Have these blocks, which follow the ancestor and each other, in place of all above it."""
        del self._blocks[self._place(ancestor.number) + 1 :]
        self._append(links)
        if len(self._blocks) > self._most_blocks + _SLACK:
            del self._blocks[: len(self._blocks) - self._most_blocks]
            # What no reader stands on any more can be freed.
            self._blocks[0].parent = None

    def prepend(self, links: Sequence[Link]) -> None:
        """Put blocks below the oldest, to which they lead, lowest first."""
        below: list[Block] = []
        for link in links:
            below.append(Block(link, below[-1] if below else None))
        if below and self._blocks:
            self._blocks[0].parent = below[-1]
        self._blocks[:0] = below

    def _append(self, links: Sequence[Link]) -> None:
        for link in links:
            self._blocks.append(Block(link, self._blocks[-1] if self._blocks else None))

    def _place(self, number: int) -> int:
        return bisect_left(self._blocks, number, key=lambda block: block.number)
