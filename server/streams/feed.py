"""One source walked along its chain, once for all its readers: what it sends goes into a ring."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import structlog
from waypost.v1 import stream_pb2

from server.chains.view import ReadView
from server.errors import (
    DeadlineExceeded,
    GatewayError,
    Internal,
    NotFound,
    UpstreamDisagrees,
    UpstreamUnavailable,
    release,
)
from server.streams.cursor import WHOLE, digest_source, encode_cursor
from server.streams.events import Event
from server.streams.ring import Entry, Ring
from server.streams.signal import Signal
from server.streams.source import Stamp
from server.streams.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.streams.chain_follower import Follower
    from server.streams.chain_record import Block
    from server.streams.source import Source

Item = TypeVar("Item")

PROGRESS_BLOCKS = 100
"""Blocks without an event after which there is a PROGRESS."""

PROGRESS_SECONDS = 60.0
"""Seconds without an event after which there is a PROGRESS, where the chain went on."""

READ_SECONDS = 15.0
"""How long a source may take for the items of a block."""

MOST_SENT_BYTES = 4 << 20
"""Bytes of payloads that can be taken back block by block."""

_MOST_SENT_BLOCKS = 1_024
_RETRY_SECONDS = 0.5
_MOST_RETRY_SECONDS = 5.0
_MAY_PASS = (UpstreamUnavailable, UpstreamDisagrees, DeadlineExceeded, NotFound)

_log = structlog.get_logger("waypost.streams")


class Writer(Generic[Item]):
    """Writes the events of one source of one chain."""

    def __init__(self, follower: Follower, source: Source[Item]) -> None:
        self.source = source
        self._follower = follower
        self._digest = digest_source(source.key)

    def write(
        self,
        kind: stream_pb2.EventKind,
        block: Block,
        item: Item | None = None,
        *,
        at: Block | None = None,
        items: int = WHOLE,
    ) -> Event:
        """Return an event about a block, its cursor at block `at` (the same, if None) after so many of its items."""
        at = at or block
        slug, final = self._follower.slug, self._follower.final
        cursor = encode_cursor(slug, at.number, at.marks(final), self._digest, items)
        finality = stream_pb2.FINALITY_FINAL if block.number <= final else stream_pb2.FINALITY_LATEST
        stamp = Stamp(slug, kind, block.number, block.link.hash, finality, cursor)
        return Event(self.source.encode(stamp, item), cursor)

    def is_own(self, digest: bytes) -> bool:
        """Return whether a cursor with that digest is of this source."""
        return digest == self._digest

    def added(self, block: Block, items: Sequence[Item], skipped: int = 0) -> list[Event]:
        """Return the events of a block's items, but for the first ones that are skipped."""
        return [
            self.write(stream_pb2.EVENT_KIND_ADDED, block, item, items=WHOLE if number == len(items) else number)
            for number, item in enumerate(items[skipped:], skipped + 1)
        ]


class _Sent(NamedTuple):
    block: Block
    items: Sequence[Any]
    size: int


class Feed(Generic[Item]):
    """A source under way on the chain of a follower.

    `position` is the newest block of which everything is in `ring`, `joint` the number of the entry that follows it.
    `moved` fires when they change. `users` counts those that read it or are about to.
    """

    def __init__(self, follower: Follower, source: Source[Item], position: Block) -> None:
        self.ring = Ring()
        self.joint = 0
        self.moved = Signal()
        self.users = 0
        self.is_stalled = False
        self.writer = Writer(follower, source)
        self._follower = follower
        self._source = source
        self._walk = Walk(follower.record, follower.read_range, position)
        self._sent: deque[_Sent] = deque()
        self._sent_bytes = 0
        self._quiet_blocks = 0
        self._spoke_at = time.monotonic()
        self._is_retreating = self._is_lost = False
        # Of what was sent of this block and those below it nothing is known.
        self._unknown = position.number
        self._trouble_since: float | None = None
        self._pause = _RETRY_SECONDS
        self._progress: tuple[Block, Event] | None = None
        # Of no caller's context: what it reads is the gateway's own.
        loop, context = asyncio.get_running_loop(), contextvars.Context()
        self._task = loop.create_task(self._run(), name=f"feed {follower.slug}", context=context)

    @property
    def position(self) -> Block:
        """The newest block of which everything was published."""
        return self._walk.position

    def progress(self) -> Event:
        """Return the PROGRESS event at the position, the same for all who ask there."""
        if self._progress is None or self._progress[0] is not self.position:
            self._progress = self.position, self.writer.write(stream_pb2.EVENT_KIND_PROGRESS, self.position)
        return self._progress[1]

    def stalled(self) -> Event:
        """Return the STALLED event at the position."""
        return self.writer.write(stream_pb2.EVENT_KIND_STALLED, self.position)

    async def close(self) -> None:
        """Stop."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        failure: GatewayError
        try:
            while self._follower.failure is None:
                try:
                    await self._judge_silence()
                    await self._step()
                    self._trouble_since = None
                    self._pause = _RETRY_SECONDS
                except _MAY_PASS as error:
                    await self._rest(error)
            failure = self._follower.failure
        except GatewayError as error:
            release(error)
            failure = error
        except Exception as error:
            _log.exception("a source failed", chain=self._follower.slug, error=type(error).__name__)
            failure = Internal(f"following {self._follower.slug} failed in the gateway")
        self.ring.close(lambda: copy.copy(failure))
        self.moved.fire()

    async def _judge_silence(self) -> None:
        """Send STALLED where the chain is silent or its items cannot be read, and RESUMED after that."""
        since = self._trouble_since
        is_stuck = since is not None and time.monotonic() - since >= self._follower.silence
        if self.is_stalled is (self._follower.is_stalled or is_stuck):
            return
        self.is_stalled = not self.is_stalled
        kind = stream_pb2.EVENT_KIND_STALLED if self.is_stalled else stream_pb2.EVENT_KIND_RESUMED
        await self._publish(Entry(self.writer.write(kind, self.position)))
        self._settle()

    async def _step(self) -> None:
        """Do what comes next, or wait until there is something."""
        if self._walk.is_off:
            await self._take_back()
        elif self._is_retreating:
            await self._end_retreat()
        elif (block := await self._walk.next()) is not None:
            await self._go_on(block)
        else:
            await self._follower.changed.wait()

    async def _rest(self, error: GatewayError) -> None:
        """Wait before what failed is tried again."""
        release(error)
        if self._trouble_since is None:
            self._trouble_since = time.monotonic()
            _log.warning("a block's items not read", chain=self._follower.slug, reason=error.reason)
        await asyncio.sleep(self._pause)
        self._pause = min(2 * self._pause, _MOST_RETRY_SECONDS)

    async def _go_on(self, block: Block) -> None:
        view = ReadView(deadline=time.monotonic() + READ_SECONDS)
        items = await self._source.read_items(block.link, view)
        if self._is_replaced(block):
            return
        size = 0
        for event in self.writer.added(block, items):
            size += len(event.payload)
            await self._publish(Entry(event))
        if items:
            self._sent.append(_Sent(block, items, size))
            self._sent_bytes += size
        self._forget_sent()
        self._walk.advance(block)
        self._settle()
        self._quiet_blocks = 0 if items else self._quiet_blocks + 1
        is_quiet = time.monotonic() - self._spoke_at >= PROGRESS_SECONDS
        if not items and (is_quiet or self._quiet_blocks >= PROGRESS_BLOCKS):
            await self._publish(Entry(self.progress()))
            self._quiet_blocks = 0
            self._settle()

    async def _take_back(self) -> None:
        """Take back what was sent of the block at the position, which was replaced."""
        block = self._walk.retreat()
        below, self._is_retreating = self.position, True
        if self._sent and self._sent[-1].block is block:
            sent = self._sent.pop()
            self._sent_bytes -= sent.size
            for left in range(len(sent.items) - 1, -1, -1):
                at, items = (block, left) if left else (below, WHOLE)
                event = self.writer.write(stream_pb2.EVENT_KIND_REMOVED, block, sent.items[left], at=at, items=items)
                await self._publish(Entry(event, removes=block.number))
        elif block.number <= self._unknown:
            self._is_lost = True
        self._settle()

    async def _end_retreat(self) -> None:
        """Send ROLLED_BACK to streams that began above the common block, to all if what they were sent is not known."""
        position = self.position
        if self._is_lost or self.ring.begins_above(position.number):
            event = self.writer.write(stream_pb2.EVENT_KIND_ROLLED_BACK, position)
            await self._publish(Entry(event, rolls_back=position.number, is_for_all=self._is_lost))
        self._is_retreating = self._is_lost = False
        self._settle()

    def _is_replaced(self, block: Block) -> bool:
        base = self._follower.record.base
        if base is None or block.number < base.number:
            return False
        known = self._follower.record.at(block.number)
        return known is None or known.link.hash != block.link.hash

    def _forget_sent(self) -> None:
        """Forget what was sent of blocks that are not replaced any more, and of more than can be kept."""
        final = self._follower.final
        while self._sent and (
            self._sent[0].block.number <= final
            or self._sent_bytes > MOST_SENT_BYTES
            or len(self._sent) > _MOST_SENT_BLOCKS
        ):
            sent = self._sent.popleft()
            self._sent_bytes -= sent.size
            self._unknown = max(self._unknown, sent.block.number)

    async def _publish(self, entry: Entry) -> None:
        await self.ring.publish(entry)
        self._spoke_at = time.monotonic()

    def _settle(self) -> None:
        """Note that everything of the position is published."""
        self.joint = self.ring.end
        self.moved.fire()
