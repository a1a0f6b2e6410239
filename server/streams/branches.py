"""What the endpoints of a chain say of its blocks: those of some heights, of another branch, and who has the newest."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple

from server.chains.view import ReadView
from server.errors import GatewayError, HeightMissing, release
from server.streams.chain_record import Block
from server.streams.walk import CHUNK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chains.capabilities.following import FollowsBlocks, Link
    from server.streams.chain_record import ChainRecord

_LOOK_SECONDS = 10.0
_MOST_VOTERS = 4


class Vote(NamedTuple):
    """The newest block of an endpoint."""

    newest: Link
    endpoint: str


class Branches:
    """Reads what lies around the believed chain, which it does not change."""

    def __init__(self, reads: FollowsBlocks, record: ChainRecord) -> None:
        self._reads = reads
        self._record = record

    async def read_heights(self, first: int, last: int, view: ReadView) -> list[Link]:
        """Return the blocks of these heights, both counted, lowest first; heights without one are left out."""
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

    async def read_below(self, base: Block, first: int, view: ReadView) -> list[Link]:
        """Return the blocks from that height on that a block leads to, lowest first, as far as they can be had."""
        try:
            links = await self.read_heights(first, base.number - 1, view)
        except GatewayError as error:
            release(error)
            return []
        fitting: list[Link] = []
        above = base.link
        for link in reversed(links):
            if link.hash != above.parent_hash:
                break
            fitting.append(link)
            above = link
        return fitting[::-1]

    async def ask_others(self, view: ReadView) -> tuple[list[Vote], int]:
        """Return the newest blocks of other endpoints that have the record's tip, and how many endpoints were asked.

        The one that the view has is among these.
        """
        tip = self._record.tip
        assert tip is not None, "asked about a record that is not empty"
        asked = set() if view.endpoint is None else {view.endpoint}
        supporters: list[Vote] = []
        while len(asked) <= _MOST_VOTERS:
            own = open_view()
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
                supporters.append(Vote(newest, own.endpoint))
        return supporters, len(asked)

    async def read_branch(self, newest: Link, view: ReadView) -> tuple[Block | None, list[Link]] | None:
        """Return the record's block that a branch leaves it at (None: below all), and the branch above, lowest first.

        None altogether where the blocks that are read do not follow each other: the chain changes while it is read.
        """
        branch, count = [newest], 1
        while True:
            lowest = branch[-1]
            known = self._record.at(lowest.parent_number)
            if known is not None and known.link.hash == lowest.parent_hash:
                return known, branch[::-1]
            base = self._record.base
            if base is None or lowest.parent_number < base.number:
                return None, branch[::-1]
            links = await self.read_heights(max(lowest.number - count, base.number), lowest.number - 1, view)
            for link in reversed(links):
                if link.hash != branch[-1].parent_hash:
                    return None
                known = self._record.at(link.number)
                if known is not None and known.link.hash == link.hash:
                    return known, branch[::-1]
                branch.append(link)
            if not links and lowest.number - count <= base.number:
                return None
            count = min(count * 4, CHUNK)


def open_view() -> ReadView:
    """Return a view for one look."""
    return ReadView(deadline=time.monotonic() + _LOOK_SECONDS)


def fitting_links(below: Block, links: Sequence[Link]) -> list[Link]:
    """Return the links, lowest first, as far as they follow the block and each other."""
    fitting: list[Link] = []
    for link in links:
        if not Block(link).follows(Block(fitting[-1]) if fitting else below):
            break
        fitting.append(link)
    return fitting
