"""How the headers that a chain is followed by are read, but for the calls and answers of its family."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from server.chains.capabilities.following import FollowsBlocks, Link
from server.chains.view import NO_ENDPOINTS, BlockAnswer, read_newest
from server.errors import HeightMissing, NotFound, UpstreamUnavailable
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from server.chains.shared.finality import AskFinalized
    from server.chains.view import ReadView
    from server.upstream.pool import Pool


class FoundLink(NamedTuple):
    """A block, the endpoint that returned it, and when it was made (unix seconds) where that shows a head's age."""

    link: Link
    endpoint: str
    made_at: float | None = None


class LinkReads(FollowsBlocks, ABC):
    """Reads links of one chain from a pool; a family supplies `read_newest` and `read_at`.

    `ask_final` asks the nodes for their newest final block; None where they name none.
    """

    finalizes_at_once = False

    def __init__(self, pool: Pool, ask_final: AskFinalized | None = None) -> None:
        self.pool = pool
        self.pushes = pool.pushes
        self._ask_final = ask_final

    @abstractmethod
    async def read_newest(self, policy: CallPolicy, view: ReadView) -> FoundLink:
        """Return the newest block as one endpoint reports it."""

    @abstractmethod
    async def read_at(self, number: int, policy: CallPolicy, view: ReadView) -> FoundLink | None:
        """Return the block of a height as one endpoint reports it; None, or NotFound, where the chain has none."""

    async def read_newest_link(self, view: ReadView, avoid: frozenset[str] = NO_ENDPOINTS) -> Link:
        """Return the newest block of an endpoint that keeps pace; raises as `server.chains.view.read_newest`."""

        async def read(lagging: frozenset[str]) -> BlockAnswer[Link]:
            last = avoid | lagging
            steered = CallPolicy(avoid=last, prefer=None if view.endpoint in last else view.endpoint)
            found = await self.read_newest(steered, view)
            return BlockAnswer(found.link, found.endpoint, found.link.number, found.made_at)

        newest = await read_newest(self.pool, read)
        view.endpoint = newest.endpoint
        self.pool.forks.observe(newest.endpoint, newest.block, newest.answer.hash)
        return newest.answer

    async def read_link(self, number: int, view: ReadView, avoid: frozenset[str] = NO_ENDPOINTS) -> Link:
        """Return the block of that height; HeightMissing where no node has it."""
        prefer = None if view.endpoint in avoid else view.endpoint
        policy = CallPolicy(null_elsewhere=True, min_block=number, prefer=prefer, avoid=avoid)
        try:
            found = await self.read_at(number, policy, view)
            if found is None and prefer is not None:
                # The preferred node may be one of several behind its address, and lag.
                found = await self.read_at(number, replace(policy, prefer=None), view)
        except NotFound as error:
            raise self._missing(number) from error
        if found is None:
            raise self._missing(number)
        return found.link

    async def read_final(self, view: ReadView) -> int:
        """Return the newest block that the nodes call final, -1 where they name none; raises as `Pool.call`."""
        return -1 if self._ask_final is None else await self._ask_final()

    def _missing(self, number: int) -> HeightMissing:
        return HeightMissing(f"{self.pool.chain} has no block {number}, or not yet")


def no_newest(pool: Pool) -> UpstreamUnavailable:
    """Return the error about nodes that name a newest block and do not return it."""
    return UpstreamUnavailable(f"the nodes of {pool.chain} do not return their newest block; try again")
