"""The way of one reader of blocks along a chain that may be replaced under its feet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.errors import CursorTooOld, UpstreamDisagrees
from server.streams.chain_record import Block

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from server.chains.capabilities.following import Link
    from server.streams.chain_record import ChainRecord

CHUNK = 64
"""Blocks that are read at a time where many are missing."""


class Walk:
    """A position in a chain, which moves to the believed newest block one block at a time.

    `read` returns the blocks that a range of heights (both ends counted) has, lowest first. Blocks below those of the
    record are read so.
    """

    def __init__(
        self, record: ChainRecord, read: Callable[[int, int], Awaitable[Sequence[Link]]], position: Block
    ) -> None:
        self.position = position
        self._record = record
        self._read = read
        self._ahead: list[Block] = []

    @property
    def is_off(self) -> bool:
        """Whether the position was replaced: it is on no believed chain any more."""
        base = self._record.base
        if base is None or self.position.number < base.number:
            return False
        known = self._record.at(self.position.number)
        return known is None or known.link.hash != self.position.link.hash

    def retreat(self) -> Block:
        """Step off a replaced block to the one below it, and return the block that was left.

        Raises:
            CursorTooOld: what lies below it is not known.
        """
        left = self.position
        if left.parent is None:
            message = f"block {left.number} was replaced, and it is not known which blocks below it were: begin anew"
            raise CursorTooOld(message, oldest_block=left.number)
        self.position = left.parent
        self._ahead.clear()
        return left

    async def next(self) -> Block | None:
        """Return the block above the position, None at the newest one. The position stays; see `advance`.

        Raises:
            UpstreamDisagrees: blocks below the record do not follow each other.
            GatewayError: they could not be read.
        """
        known = self._record.after(self.position.number)
        if known is not None and known.follows(self.position):
            return known
        base = self._record.base
        if known is None or base is None or self.position.number >= base.number:
            return None
        if not self._ahead:
            self._ahead = await self._read_below(base.number)
        return self._ahead[0]

    def advance(self, block: Block) -> None:
        """Move on to the block that `next` returned."""
        self.position = block
        if self._ahead and self._ahead[0] is block:
            del self._ahead[0]

    async def _read_below(self, end: int) -> list[Block]:
        """Return blocks above the position and below that height, as many as are read at a time."""
        below, first = self.position, self.position.number + 1
        while first < end:
            last = min(first + CHUNK, end) - 1
            blocks: list[Block] = []
            for link in await self._read(first, last):
                block = Block(link, below)
                if not block.follows(below):
                    break
                blocks.append(block)
                below = block
            if blocks:
                return blocks
            # On Solana whole ranges of slots may be without a block.
            first = last + 1
        raise UpstreamDisagrees(f"the blocks above {self.position.number} do not follow it")
