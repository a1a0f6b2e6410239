"""How a stream goes on at a cursor: what became of its blocks, then everything since, up to where others read."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Generic, TypeVar

from waypost.v1 import stream_pb2

from server.chains.view import ReadView
from server.errors import CursorTooOld, DeadlineExceeded, NotFound, UpstreamDisagrees, UpstreamUnavailable, release
from server.streams.chain_follower import MOST_BLOCKS
from server.streams.chain_record import Block
from server.streams.cursor import WHOLE, Mark, mark_of
from server.streams.feed import READ_SECONDS
from server.streams.walk import Walk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from server.streams.chain_follower import Follower
    from server.streams.cursor import Cursor
    from server.streams.events import Event
    from server.streams.feed import Feed
    from server.streams.ring import Reader
    from server.streams.source import Source

Item = TypeVar("Item")

CHARGED_BLOCKS = 1_000
"""Replayed blocks that cost one unit."""

_TRIES = 4
_RETRY_SECONDS = 0.5


class Replay(Generic[Item]):
    """One stream on its way from its cursor to the ring of its source; `reader` reads it once `events` has ended."""

    def __init__(
        self,
        follower: Follower,
        feed: Feed[Item],
        source: Source[Item],
        cursor: Cursor,
        charge: Callable[[int], Awaitable[None]] | None,
    ) -> None:
        self.reader: Reader | None = None
        self._follower = follower
        self._feed = feed
        self._source = source
        self._cursor = cursor
        self._charge = charge
        self._is_silent = False

    async def events(self) -> AsyncIterator[Event]:
        """Yield PROGRESS at the cursor, or ROLLED_BACK to where its blocks were replaced, then what came since.

        Raises:
            CursorTooOld: the cursor is more than `MOST_BLOCKS` old, or all blocks that it knows were replaced.
            GatewayError: the chain could not be read.
        """
        cursor, writer = self._cursor, self._feed.writer
        position = await self._find()
        floor = position.number
        walk = Walk(self._follower.record, self._follower.read_range, position)
        if position.mark != cursor.marks[0]:
            yield writer.write(stream_pb2.EVENT_KIND_ROLLED_BACK, position)
        else:
            yield writer.write(stream_pb2.EVENT_KIND_PROGRESS, position, items=cursor.items)
            if cursor.items != WHOLE:
                skipped = cursor.items if writer.is_own(cursor.source) else 0
                for event in writer.added(position, await self._read_items(position), skipped):
                    yield event
        replayed = 0
        while not self._join(walk.position, floor):
            left = walk.position
            while walk.is_off:
                walk.retreat()
            if walk.position is not left:
                floor = min(floor, walk.position.number)
                yield writer.write(stream_pb2.EVENT_KIND_ROLLED_BACK, walk.position)
                continue
            block = await walk.next()
            if block is None:
                is_moved = await self._feed.moved.wait(self._follower.silence)
                if not is_moved and not self._is_silent:
                    self._is_silent = True
                    yield writer.write(stream_pb2.EVENT_KIND_STALLED, walk.position)
                continue
            for event in writer.added(block, await self._read_items(block)):
                yield event
            walk.advance(block)
            replayed += 1
            if replayed % CHARGED_BLOCKS == 0 and self._charge is not None:
                await self._charge(1)
        if self._feed.is_stalled is not self._is_silent:
            kind = stream_pb2.EVENT_KIND_RESUMED if self._is_silent else stream_pb2.EVENT_KIND_STALLED
            yield writer.write(kind, walk.position)

    def _join(self, position: Block, floor: int) -> bool:
        """Read the ring from now on, if the source stands at that very block."""
        feed = self._feed
        feed.ring.check()
        if feed.position.mark != position.mark or feed.joint < feed.ring.first:
            return False
        self.reader = feed.ring.join(feed.joint, floor)
        return True

    async def _find(self) -> Block:
        """Return the newest block of the cursor that the chain still has."""
        marks = self._cursor.marks
        tip = await self._follower.settle(with_history=True)
        oldest = max(tip.number - MOST_BLOCKS, 0)
        if marks[0].number < oldest:
            raise CursorTooOld(
                f"cursor: block {marks[0].number} is too old to go on at: begin at {oldest} or later",
                field="cursor",
                oldest_block=oldest,
            )
        if marks[0].number > tip.number:
            tip = await self._catch_up(tip, marks)
        marks = tuple(mark for mark in marks if mark.number <= tip.number)
        # Above where the chain was replaced none of the hashes fits, below it all of them do.
        low, high, found = 0, len(marks), None
        middle = 0
        while low < high:
            block = await self._block_of(marks[middle])
            if block is None:
                low = middle + 1
            else:
                high, found = middle, block
            middle = (low + high) // 2
        if found is None:
            message = f"cursor: all blocks that it knows were replaced: begin at block {oldest} or later"
            raise CursorTooOld(message, field="cursor", oldest_block=oldest)
        return found

    async def _catch_up(self, tip: Block, marks: Sequence[Mark]) -> Block:
        """Return the newest block once the chain is as far as the cursor: the one who sent it may have been ahead."""
        until = time.monotonic() + self._follower.silence
        while tip.mark in marks and tip.number < marks[0].number and (left := until - time.monotonic()) > 0:
            await self._follower.changed.wait(left)
            tip = await self._follower.settle(with_history=True)
        return tip

    async def _block_of(self, mark: Mark) -> Block | None:
        """Return the block of a mark; None where the chain has another one of its number."""
        known = self._follower.record.at(mark.number)
        if known is not None:
            return known if known.mark == mark else None
        link = await self._follower.read_height(mark.number)
        return None if link is None or mark_of(link.number, link.hash) != mark else Block(link)

    async def _read_items(self, block: Block) -> Sequence[Item]:
        tries = _TRIES
        while True:
            try:
                return await self._source.read_items(block.link, ReadView(deadline=time.monotonic() + READ_SECONDS))
            except (UpstreamUnavailable, UpstreamDisagrees, DeadlineExceeded, NotFound) as error:
                tries -= 1
                if tries == 0:
                    raise
                release(error)
            await asyncio.sleep(_RETRY_SECONDS)
