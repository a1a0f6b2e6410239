"""One chain followed block by block: its newest block is read again and again, and what lies between is filled in."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import math
import time
from typing import TYPE_CHECKING

import structlog

from runtime.metrics import count_stream_failure
from server.errors import (
    CursorTooOld,
    GatewayError,
    HeightMissing,
    Internal,
    UpstreamDisagrees,
    UpstreamUnavailable,
    release,
)
from server.streams.branches import Branches, Vote, fitting_links, open_view
from server.streams.chain_record import Block, ChainRecord
from server.streams.cursor import MOST_MARKS
from server.streams.signal import Signal
from server.streams.wakeups import Wakeups
from server.streams.walk import CHUNK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.capabilities.following import FollowsBlocks, Link
    from server.chains.view import ReadView

MOST_BLOCKS = 10_000
"""Blocks that a follower fills in, and that a cursor may be old."""

_SHORTEST_PAUSE = 1.0
_HURRIED_PAUSE = 0.5
_LONGEST_PAUSE = 12.0
_SILENT_BLOCKS = 5
_SHORTEST_SILENCE = 10.0
_START_SECONDS = 15.0
_FINAL_SECONDS = 60.0
_REFUTED_SECONDS = 30.0
_OVERDUE_BLOCKS = 2
_SHORTEST_OVERDUE = 2.0
_ALONE_SECONDS = 60.0

_log = structlog.get_logger("waypost.streams")


class Follower:
    """What is believed of one chain while it is watched.

    `record` holds the believed blocks, `final` the newest final one known (-1: none). `changed` fires when either is
    another, `is_stalled` or `failure` is. `failure` ends the follower: what it knows is void.
    """

    def __init__(self, slug: str, reads: FollowsBlocks, block_time: float) -> None:
        self.slug = slug
        self.record = ChainRecord()
        self.final = -1
        self.is_stalled = False
        self.failure: GatewayError | None = None
        self.changed = Signal()
        self.pause = min(max(block_time, _SHORTEST_PAUSE), _LONGEST_PAUSE)
        """Seconds between two looks at the newest block."""
        self.silence = max(_SILENT_BLOCKS * block_time, _SHORTEST_SILENCE)
        """Seconds without a new block after which the chain counts as stalled."""
        self._reads = reads
        self._branches = Branches(reads, self.record)
        self._wants_history = self._has_history = False
        self._final_at: float | None = None
        self._trouble: GatewayError | None = None
        self._looked = Signal()
        self._wakeups = Wakeups(reads.pushes, self.pause, self._knows)
        self._shorter_since: float | None = None
        self._refuted_at = self._moved_at = self._elsewhere_at = -math.inf
        self._lasting = _lasting_seconds(block_time)
        self._overdue = max(_OVERDUE_BLOCKS * block_time, _SHORTEST_OVERDUE)
        # Whose newest block led on when others' did not.
        self._believed: str | None = None
        self._hurries = False
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to follow."""
        # Of no caller's context: what it reads is the gateway's own.
        loop, context = asyncio.get_running_loop(), contextvars.Context()
        self._task = loop.create_task(self._run(), name=f"follow {self.slug}", context=context)

    async def close(self) -> None:
        """Stop."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def wake(self) -> None:
        """Look at the newest block now."""
        self._wakeups.wake()

    def _knows(self, number: int, block_hash: str) -> bool:
        block = self.record.at(number)
        return block is not None and block.link.hash == block_hash

    async def settle(self, *, with_history: bool) -> Block:
        """Return the newest block, once the first is known; `with_history` also as many below as cursors know.

        Raises:
            GatewayError: no node returned one.
        """
        if with_history and not self._wants_history:
            self._wants_history = True
            self._wakeups.wake()
        until = time.monotonic() + _START_SECONDS
        while self.failure is None:
            tip = self.record.tip
            if tip is not None and (self._has_history or not with_history):
                return tip
            left = until - time.monotonic()
            if left <= 0:
                raise UpstreamUnavailable(f"no node of {self.slug} returned its newest block in time")
            trouble = self._trouble
            await self._looked.wait(left)
            if self.record.tip is None and self._trouble is not None and self._trouble is not trouble:
                raise copy.copy(self._trouble)
        raise copy.copy(self.failure)

    async def read_range(self, first: int, last: int) -> list[Link]:
        """Return the blocks of these heights, both counted, lowest first; heights without one are left out."""
        return await self._branches.read_heights(first, last, open_view())

    async def read_height(self, number: int) -> Link | None:
        """Return the block of one height, None where there is none."""
        known = self.record.at(number)
        if known is not None:
            return known.link
        try:
            return await self._reads.read_link(number, open_view())
        except HeightMissing:
            return None

    async def _run(self) -> None:
        try:
            with self._wakeups.listening():
                while self.failure is None:
                    announced = self._wakeups.take()
                    try:
                        await self._look(None if announced is None else announced.endpoint)
                        self._recover()
                    except GatewayError as error:
                        self._note_trouble(error)
                    self._looked.fire()
                    hurries, self._hurries = self._hurries, False
                    hurries |= announced is not None and not self._wakeups.judge(announced)
                    await self._wakeups.rest(_HURRIED_PAUSE if hurries else None)
        except Exception as error:
            _log.exception("following failed", chain=self.slug, error=type(error).__name__)
            self._fail(Internal(f"following {self.slug} failed in the gateway"))
        finally:
            self._looked.fire()

    async def _look(self, endpoint: str | None) -> None:
        """Read the newest block, of that endpoint where it can be had, and bring the record up to it."""
        view = open_view()
        view.endpoint = endpoint or self._believed
        newest = await self._reads.read_newest_link(view)
        tip = self.record.tip
        if tip is None:
            self.record.begin([newest])
            self._move()
        elif newest.hash != tip.link.hash:
            await self._approach(newest, view)
        else:
            self._shorter_since = None
            await self._look_elsewhere(view)
        if self._wants_history:
            if not self._has_history:
                await self._read_history()
            await self._refresh_final()

    async def _approach(self, newest: Link, view: ReadView) -> None:
        """Bring the record up to a newest block that is another one than its own."""
        tip = self._tip()
        if newest.number - tip.number > MOST_BLOCKS:
            message = f"{self.slug} went on by more than {MOST_BLOCKS} blocks while it was not read"
            self._fail(CursorTooOld(message, oldest_block=newest.number - MOST_BLOCKS))
            return
        if newest.number > tip.number and await self._extend(newest, view):
            self._shorter_since = None
            return
        known = self.record.at(newest.number)
        if known is not None and known.link.hash == newest.hash:
            await self._consider_shorter(known, view)
        else:
            self._shorter_since = None
            await self._consider_fork(newest, view)

    async def _extend(self, newest: Link, view: ReadView) -> bool:
        """Fill the gap up to a newest block; return False where its chain does not lead to the record's tip."""
        while True:
            tip = self._tip()
            block = Block(newest)
            if block.follows(tip):
                self._replace(tip, [newest])
                return True
            first, last = tip.number + 1, min(tip.number + CHUNK, newest.number - 1)
            if first > last:
                return False
            links = await self._branches.read_heights(first, last, view)
            while not links and last < newest.number - 1:
                first, last = last + 1, min(last + CHUNK, newest.number - 1)
                links = await self._branches.read_heights(first, last, view)
            fitting = fitting_links(tip, links)
            if not fitting:
                return False
            self._replace(tip, fitting)

    async def _consider_shorter(self, known: Block, view: ReadView) -> None:
        """Take back what is above a block only if that lasts and no endpoint has the tip: one may be behind."""
        if known.number < self.final:
            # No chain becomes shorter by what was final: its nodes are behind.
            return
        now = time.monotonic()
        is_suspected = self._shorter_since is not None
        if is_suspected or now - self._refuted_at < _REFUTED_SECONDS:
            if is_suspected and now - (self._shorter_since or now) < self._lasting:
                self._hurries = True
                return
            supporters, _ = await self._branches.ask_others(view)
            if supporters:
                self._shorter_since, self._refuted_at = None, now
                await self._extend_from(supporters)
                return
            if is_suspected:
                self._shorter_since = None
                await self._reorganise(known, [])
                return
        self._shorter_since, self._hurries = now, True

    async def _consider_fork(self, newest: Link, view: ReadView) -> None:
        """Follow another branch, unless as many endpoints as are on it are on ours."""
        supporters, asked = await self._branches.ask_others(view)
        if supporters and len(supporters) * 2 >= asked:
            self._hurries = True
            await self._extend_from(supporters)
            return
        found = await self._branches.read_branch(newest, view)
        if found is None:
            self._hurries = True
            return
        ancestor, links = found
        if ancestor is None:
            self._disagree(links[0].number)
        else:
            await self._reorganise(ancestor, links)

    async def _look_elsewhere(self, view: ReadView) -> None:
        """Ask another endpoint where the next block is overdue: the one that was asked may stand still."""
        now = time.monotonic()
        if view.endpoint is None or now < self._elsewhere_at or now - self._moved_at < self._overdue:
            return
        own = open_view()
        newest = await self._reads.read_newest_link(own, frozenset((view.endpoint,)))
        if own.endpoint is None or own.endpoint == view.endpoint:
            # There is no other one now.
            self._elsewhere_at = now + _ALONE_SECONDS
        elif newest.number > self._tip().number and await self._extend(newest, own):
            self._believed = own.endpoint

    async def _extend_from(self, supporters: Sequence[Vote]) -> None:
        """Go on by the highest of the newest blocks of endpoints that have the record's tip, and prefer that one."""
        highest = max(supporters, key=lambda vote: vote.newest.number)
        self._believed = highest.endpoint
        if highest.newest.number > self._tip().number:
            view = open_view()
            view.endpoint = highest.endpoint
            await self._extend(highest.newest, view)

    async def _reorganise(self, ancestor: Block, links: Sequence[Link]) -> None:
        """Replace what is above an ancestor, unless that was final."""
        tip = self._tip()
        if ancestor is tip:
            self._replace(ancestor, links)
            return
        await self._refresh_final(now=True)
        if ancestor.number < self.final and self._wants_history:
            self._disagree(self.final)
            return
        _log.info("chain reorganised", chain=self.slug, ancestor=ancestor.number, removed=tip.number - ancestor.number)
        self._replace(ancestor, links)

    def _disagree(self, block: int) -> None:
        if not self._wants_history:
            # The newest block alone is wanted, whatever it was before.
            self.record.begin([])
            return
        self._fail(
            UpstreamDisagrees(
                f"block {block} of {self.slug}, which was final, was replaced: its nodes contradict what they answered"
            )
        )

    async def _read_history(self) -> None:
        """Read the blocks below the newest, as many as cursors know; where they cannot be had, go on without."""
        tip, base, view = self._tip(), self.record.base, open_view()
        await self._refresh_final(now=True)
        first = max(tip.number - MOST_MARKS + 1, 0, min(self.final, tip.number))
        if base is not None and first < base.number:
            self.record.prepend(await self._branches.read_below(base, first, view))
        self._has_history = True

    async def _refresh_final(self, *, now: bool = False) -> None:
        """Ask for the newest final block, at most once a minute but where it matters `now`."""
        tip = self.record.tip
        if tip is None or not self._wants_history:
            return
        if self._reads.finalizes_at_once:
            self.final = max(self.final, tip.number)
            return
        if not now and self._final_at is not None and time.monotonic() - self._final_at < _FINAL_SECONDS:
            return
        self._final_at = time.monotonic()
        try:
            final = await self._reads.read_final(open_view())
        except GatewayError as error:
            release(error)
            return
        # A node that calls the future final is wrong.
        if self.final < final <= self._tip().number:
            self.final = final

    def _replace(self, ancestor: Block, links: Sequence[Link]) -> None:
        self.record.replace(ancestor, links)
        if self._reads.finalizes_at_once and self._wants_history:
            self.final = max(self.final, self._tip().number)
        self._move()

    def _move(self) -> None:
        """Note that the newest block is another one."""
        self.is_stalled = False
        self._moved_at = time.monotonic()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self.silence, self._stall)
        self.changed.fire()

    def _stall(self) -> None:
        self.is_stalled = True
        self.changed.fire()

    def _fail(self, failure: GatewayError) -> None:
        self.failure = failure
        _log.error("streams ended", chain=self.slug, reason=failure.reason, message=failure.message)
        count_stream_failure(self.slug, failure.reason)
        self.changed.fire()

    def _note_trouble(self, error: GatewayError) -> None:
        release(error)
        if self._trouble is None:
            _log.warning("newest block not read", chain=self.slug, reason=error.reason, message=error.message)
        self._trouble = error

    def _recover(self) -> None:
        if self._trouble is not None:
            _log.info("newest block read again", chain=self.slug)
        self._trouble = None

    def _tip(self) -> Block:
        tip = self.record.tip
        assert tip is not None, "called with a record that is not empty"
        return tip


def _lasting_seconds(block_time: float) -> float:
    """Return for how many seconds a chain has to be shorter than before to be believed.

    One label often stands for many machines, of which some are behind: by several blocks where these are quick.
    """
    return 5.0 if block_time < 1 else min(max(block_time / 2, 1.0), 10.0)
