"""Cursors of log queries, and the window that they freeze (decisions section 3.6).

A cursor states where the next, older page begins: right below a place in the chain. Its text is

- `N` where a page ended between two blocks: the next page begins with block N, its logs included (JSON: an integer);
- `block:logIndex` where it ended inside a block: the next page begins below that log;
- `block:logIndex:fromBlock` where the caller left out a `fromBlock` that depends on the head: the oldest block of the
  first page's window comes along, because later it could not be determined again.

A window is found from what the caller wrote, the cursor, and the newest block where it matters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from server.chains.evm.logs.entries import Place
from server.chains.evm.newest import read_newest_height
from server.errors import InvalidArgument, RangeTooLarge

if TYPE_CHECKING:
    from server.chains.capabilities.logs import BlockRange
    from server.chains.view import BlockAnswer, ReadView
    from server.upstream.pool import Pool

LATEST = "latest"
# As many blocks as most nodes search at once.
_EXAMPLE_BLOCKS = 1000
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


class LogWindows:
    """Finds windows on one chain; the newest block is read only where the window depends on it."""

    def __init__(self, slug: str, pool: Pool) -> None:
        self._slug = slug
        self._pool = pool

    async def find(self, blocks: BlockRange, view: ReadView, depth: int = 0) -> Window:
        """Return the window; a `from_block` of None means `depth` blocks below the newest one.

        A window that lies beyond the newest block is empty. The view prefers the endpoint that reported that block.

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


def _refused(why: str) -> InvalidArgument:
    return InvalidArgument(f"cursor: {why}", field="cursor")
