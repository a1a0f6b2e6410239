"""Which blocks a page of logs looks at: what the caller wrote, the newest block where it matters, the cursor."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from server.chains.evm.log_cursor import Cursor, Window
from server.chains.evm.log_entries import Place
from server.chains.evm.newest import read_newest_height
from server.errors import InvalidArgument, RangeTooLarge

if TYPE_CHECKING:
    from server.chains.capabilities import BlockRange
    from server.chains.shared.newest import BlockAnswer
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

LATEST = "latest"
# As many blocks as most nodes search at once.
_EXAMPLE_BLOCKS = 1000


class LogWindows:
    """Finds windows on one chain; the newest block is asked for only where the window depends on it."""

    def __init__(self, slug: str, pool: Pool) -> None:
        self._slug = slug
        self._pool = pool

    async def find(self, blocks: BlockRange, view: ReadView, depth: int = 0) -> Window:
        """Return the window; a `from_block` of None means `depth` blocks below the newest one.

        A window that lies beyond the newest block is empty. The view prefers the endpoint that told the newest block.

        Raises:
            InvalidArgument: the range is reversed, or the cursor is none or lies below the range.
        """
        lowest, highest = _number(blocks.from_block), _number(blocks.to_block)
        if blocks.cursor is not None:
            return await self._continued(Cursor.parse(blocks.cursor), lowest, highest, blocks.from_block, view, depth)
        if lowest is not None and highest is not None:
            if lowest > highest:
                raise _reversed(f"fromBlock {lowest} is above toBlock {highest}")
            return Window(lowest, Place(await self._reached(highest, view) + 1, 0))
        head = await self._head(view)
        if lowest is None:
            lowest = head.block if blocks.from_block == LATEST else max(head.block - depth, 0)
        if highest is not None and lowest > highest:
            begins = f"the latest block, {lowest}" if blocks.from_block == LATEST else f"block {lowest}"
            raise InvalidArgument(
                f"fromBlock: without one the range begins at {begins}, above toBlock {highest}; add a fromBlock of at "
                f"most {highest}, for example {max(highest - _EXAMPLE_BLOCKS + 1, 0)}",
                field="fromBlock",
            )
        top = head.block if highest is None else min(highest, head.block)
        return Window(lowest, Place(top + 1, 0), lowest if blocks.from_block is None else None)

    async def find_within(self, blocks: BlockRange, view: ReadView, most: int) -> Window:
        """Return a window of at most `most` blocks, both ends counted; without a `from_block` it has that many.

        The window travels whole in the cursors of its pages.

        Raises:
            RangeTooLarge: the range that the caller wrote is longer.
            InvalidArgument: as `find`.
        """
        lowest, highest = _number(blocks.from_block), _number(blocks.to_block)
        if lowest is None and blocks.from_block != LATEST:
            # Known without the head where the caller wrote the window's end, or continues a page.
            end = highest if blocks.cursor is None else Cursor.parse(blocks.cursor).top
            if end is not None:
                carried = None if blocks.cursor is None else Cursor.parse(blocks.cursor).low
                lowest = max(end - most + 1, 0) if carried is None else carried
                blocks = replace(blocks, from_block=str(lowest))
        if lowest is not None and highest is not None and highest - lowest >= most:
            raise _too_large(highest - lowest + 1, most)
        window = await self.find(blocks, view, most - 1)
        if window.top - window.low >= most:
            raise _too_large(window.top - window.low + 1, most)
        return Window(window.low, window.below, window.low)

    async def _continued(
        self, cursor: Cursor, lowest: int | None, highest: int | None, from_text: str | None, view: ReadView, depth: int
    ) -> Window:
        below, carried = cursor.below, cursor.low
        if lowest is not None and lowest > cursor.top:
            raise InvalidArgument(
                f"cursor: it stands at block {cursor.top}, below fromBlock {lowest}; repeat the first page's fromBlock",
                field="cursor",
            )
        if highest is not None and highest < cursor.top:
            below = Place(highest + 1, 0)
        reached = await self._reached(cursor.top, view)
        if reached < cursor.top:
            below = min(below, Place(reached + 1, 0))
        if carried is not None:
            return Window(carried if lowest is None else max(carried, lowest), below, carried)
        if lowest is not None:
            return Window(lowest, below)
        # `latest` froze a window of one block: the one that the cursor stands in.
        if from_text == LATEST:
            return Window(cursor.top, below)
        head = await self._head(view)
        lowest = max(head.block - depth, 0)
        return Window(lowest, below, lowest)

    async def _reached(self, block: int, view: ReadView) -> int:
        """Return `block`, or the newest block where the chain has not come that far."""
        known = self._pool.heads.head()
        if known is not None and known >= block:
            return block
        return min(block, (await self._head(view)).block)

    async def _head(self, view: ReadView) -> BlockAnswer[None]:
        head = await read_newest_height(self._pool, view.deadline)
        view.settle(head.block, head.endpoint)
        return head


def _number(text: str | None) -> int | None:
    return None if text is None or text in (LATEST, "") else int(text)


def _reversed(what: str) -> InvalidArgument:
    return InvalidArgument(f"fromBlock: the range is reversed: {what}", field="fromBlock")


def _too_large(blocks: int, most: int) -> RangeTooLarge:
    return RangeTooLarge(
        f"fromBlock: the range covers {blocks} blocks; ask for at most {most}, or leave fromBlock out",
        field="fromBlock",
        most_blocks=most,
    )
