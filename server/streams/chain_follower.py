"""One chain followed block by block: its newest block is read again and again, and what lies between is filled in."""

from __future__ import annotations

import asyncio
import copy
import time
from typing import TYPE_CHECKING

import structlog

from runtime.metrics import count_stream_failure
from server.chains.view import ReadView
from server.errors import (
    CursorTooOld,
    GatewayError,
    HeightMissing,
    Internal,
    UpstreamDisagrees,
    UpstreamUnavailable,
    release,
)
from server.streams.chain_record import Block, ChainRecord
from server.streams.cursor import MOST_MARKS
from server.streams.signal import Signal
from server.streams.walk import CHUNK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.capabilities.following import FollowsBlocks, Link

MOST_BLOCKS = 10_000
"""Blocks that a follower fills in, and that a cursor may be old."""

_SHORTEST_PAUSE = 1.0
_HURRIED_PAUSE = 0.5
_LONGEST_PAUSE = 12.0
_SILENT_BLOCKS = 5
_SHORTEST_SILENCE = 10.0
_LOOK_SECONDS = 10.0
_START_SECONDS = 15.0
_FINAL_SECONDS = 60.0
_MOST_VOTERS = 4
# One label often stands for many machines, of which some are a moment behind.
_LASTING_SECONDS = 1.0

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
        self._wants_history = self._has_history = False
        self._final_at: float | None = None
        self._trouble: GatewayError | None = None
        self._looked = Signal()
        self._woken = asyncio.Event()
        self._shorter_since: float | None = None
        self._hurries = False
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to follow."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"follow {self.slug}")

    async def close(self) -> None:
        """Stop."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def wake(self) -> None:
        """Look at the newest block now."""
        self._woken.set()

    async def settle(self, *, with_history: bool) -> Block:
        """Return the newest block, once the first is known; `with_history` also as many below as cursors know.

        Raises:
            GatewayError: no node returned one.
        """
        if with_history and not self._wants_history:
            self._wants_history = True
            self._woken.set()
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
        return await self._read_heights(first, last, self._open_view())

    async def read_height(self, number: int) -> Link | None:
        """Return the block of one height, None where there is none."""
        known = self.record.at(number)
        if known is not None:
            return known.link
        try:
            return await self._reads.read_link(number, self._open_view())
        except HeightMissing:
            return None

    async def _run(self) -> None:
        try:
            while self.failure is None:
                self._woken.clear()
                try:
                    await self._look()
                    self._recover()
                except GatewayError as error:
                    self._note_trouble(error)
                self._looked.fire()
                await self._rest()
        except Exception as error:
            _log.exception("following failed", chain=self.slug, error=type(error).__name__)
            self._fail(Internal(f"following {self.slug} failed in the gateway"))
        finally:
            self._looked.fire()

    async def _rest(self) -> None:
        hurries, self._hurries = self._hurries, False
        try:
            async with asyncio.timeout(_HURRIED_PAUSE if hurries else self.pause):
                await self._woken.wait()
        except TimeoutError:
            pass

    async def _look(self) -> None:
        """Read the newest block and bring the record up to it."""
        view = self._open_view()
        newest = await self._reads.read_newest_link(view)
        tip = self.record.tip
        if tip is None:
            self.record.begin([newest])
            self._move()
        elif newest.hash != tip.link.hash:
            await self._approach(newest, view)
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
            links = await self._read_heights(first, last, view)
            while not links and last < newest.number - 1:
                first, last = last + 1, min(last + CHUNK, newest.number - 1)
                links = await self._read_heights(first, last, view)
            fitting = _fitting(tip, links)
            if not fitting:
                return False
            self._replace(tip, fitting)

    async def _consider_shorter(self, known: Block, view: ReadView) -> None:
        """Take back what is above a block only if that lasts and no endpoint has the tip: one may be behind."""
        now = time.monotonic()
        self._hurries = True
        if self._shorter_since is None:
            self._shorter_since = now
        elif now - self._shorter_since >= _LASTING_SECONDS:
            supporters, _ = await self._ask_others(view)
            self._shorter_since = None
            if supporters:
                await self._extend_from(supporters)
            else:
                await self._reorganise(known, [])

    async def _consider_fork(self, newest: Link, view: ReadView) -> None:
        """Follow another branch, unless as many endpoints as are on it are on ours."""
        supporters, asked = await self._ask_others(view)
        if supporters and len(supporters) * 2 >= asked:
            self._hurries = True
            await self._extend_from(supporters)
            return
        found = await self._read_branch(newest, view)
        if found is None:
            self._hurries = True
            return
        await self._reorganise(*found)

    async def _extend_from(self, newest: Sequence[Link]) -> None:
        """Go on by the highest of the newest blocks of endpoints that have the record's tip."""
        highest = max(newest, key=lambda link: link.number)
        if highest.number > self._tip().number:
            await self._extend(highest, self._open_view())

    async def _ask_others(self, view: ReadView) -> tuple[list[Link], int]:
        """Return the newest blocks of other endpoints that have the record's tip, and how many endpoints were asked.

        The one that the view has is among these.
        """
        tip = self._tip()
        asked = set() if view.endpoint is None else {view.endpoint}
        supporters: list[Link] = []
        while len(asked) <= _MOST_VOTERS:
            own = self._open_view()
            try:
                newest = await self._reads.read_newest_link(own, frozenset(asked))
                if own.endpoint is None or own.endpoint in asked:
                    break
                asked.add(own.endpoint)
                if newest.number > tip.number:
                    has_tip = (await self._reads.read_link(tip.number, own)).hash == tip.link.hash
                else:
                    has_tip = newest.hash == tip.link.hash
            except GatewayError as error:
                release(error)
                break
            if has_tip:
                supporters.append(newest)
        return supporters, len(asked)

    async def _read_branch(self, newest: Link, view: ReadView) -> tuple[Block, list[Link]] | None:
        """Return the record's block that a branch leaves it at, and the branch above, lowest first.

        None where the blocks that are read do not follow each other: the chain changes while it is read.
        """
        branch, count = [newest], 1
        while True:
            lowest = branch[-1]
            known = self.record.at(lowest.parent_number)
            if known is not None and known.link.hash == lowest.parent_hash:
                return known, branch[::-1]
            base = self.record.base
            if base is None or lowest.parent_number < base.number:
                self._disagree(base.number if base is not None else 0)
                return None
            links = await self._read_heights(max(lowest.number - count, base.number), lowest.number - 1, view)
            for link in reversed(links):
                if link.hash != branch[-1].parent_hash:
                    return None
                known = self.record.at(link.number)
                if known is not None and known.link.hash == link.hash:
                    return known, branch[::-1]
                branch.append(link)
            if not links and lowest.number - count <= base.number:
                return None
            count = min(count * 4, CHUNK)

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
        tip, base, view = self._tip(), self.record.base, self._open_view()
        await self._refresh_final(now=True)
        first = max(tip.number - MOST_MARKS + 1, 0, min(self.final, tip.number))
        if base is not None and first < base.number:
            try:
                links = await self._read_heights(first, base.number - 1, view)
            except GatewayError as error:
                release(error)
                links = []
            fitting: list[Link] = []
            above = base.link
            for link in reversed(links):
                if link.hash != above.parent_hash:
                    break
                fitting.append(link)
                above = link
            self.record.prepend(fitting[::-1])
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
            final = await self._reads.read_final(self._open_view())
        except GatewayError as error:
            release(error)
            return
        # A node that calls the future final is wrong.
        if self.final < final <= self._tip().number:
            self.final = final

    async def _read_heights(self, first: int, last: int, view: ReadView) -> list[Link]:
        links: list[Link] = []
        for start in range(first, last + 1, CHUNK):
            numbers = range(start, min(start + CHUNK, last + 1))
            read = await asyncio.gather(*(self._read_or_none(number, view) for number in numbers))
            links += [link for link in read if link is not None]
        return links

    async def _read_or_none(self, number: int, view: ReadView) -> Link | None:
        try:
            return await self._reads.read_link(number, view)
        except HeightMissing:
            return None

    def _replace(self, ancestor: Block, links: Sequence[Link]) -> None:
        self.record.replace(ancestor, links)
        if self._reads.finalizes_at_once and self._wants_history:
            self.final = max(self.final, self._tip().number)
        self._move()

    def _move(self) -> None:
        """Note that the newest block is another one."""
        self.is_stalled = False
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

    @staticmethod
    def _open_view() -> ReadView:
        return ReadView(deadline=time.monotonic() + _LOOK_SECONDS)


def _fitting(below: Block, links: Sequence[Link]) -> list[Link]:
    """Return the links, lowest first, as far as they follow the block and each other."""
    fitting: list[Link] = []
    for link in links:
        if not Block(link).follows(Block(fitting[-1]) if fitting else below):
            break
        fitting.append(link)
    return fitting
