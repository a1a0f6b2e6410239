"""What a request reads of a chain: its state at one block, and whose answer about the newest state is taken."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from server.chains.shared.validated_reads import read_validated
from server.errors import MovedOn, UpstreamDisagrees
from server.upstream.cache import CacheContext
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from server.upstream.pool import Pool

Answer = TypeVar("Answer")


@dataclass(slots=True)
class ReadView:
    """One block of one chain, shared by every read of a request (design section 3).

    `block` is None until the first read, which goes to the node as `latest` and reports the block it was answered at;
    every later read is pinned to that block and prefers the endpoint that answered. A view made with a block is pinned
    from the start, and `is_chosen`: the caller named its block. `deadline` is in seconds of the monotonic clock.
    `cache` is the request's use of the cache: whether it may, and what came out of it.
    """

    block: int | None = None
    endpoint: str | None = None
    deadline: float | None = None
    cache: CacheContext | None = field(default=None, repr=False, compare=False)
    is_chosen: bool = field(init=False)
    _turn: asyncio.Lock | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.is_chosen = self.block is not None

    @property
    def is_settling(self) -> bool:
        """Whether a read under way is about to determine the block of this view."""
        return self.block is None and self._turn is not None and self._turn.locked()

    def settle(self, block: int, endpoint: str | None) -> None:
        """Pin the view to the block and endpoint of its first answer; later answers change nothing."""
        if self.block is None:
            self.block = block
        if self.endpoint is None:
            self.endpoint = endpoint

    def turn(self) -> asyncio.Lock:
        """Return the lock that reads of an unpinned view take, so that the second finds the block of the first."""
        if self._turn is None:
            self._turn = asyncio.Lock()
        return self._turn


ATTEMPTS = 4
"""How often a read begins at most."""


async def read_in_steps(view: ReadView, read: Callable[[ReadView], Awaitable[Answer]]) -> Answer:
    """Return what `read` brings, all its steps at one block, and settle the view on it.

    Nodes that have the latest state alone cannot be asked for the block of the first step once the chain has moved on:
    the read begins again then, past the cache, which is of the older block.

    Raises:
        MovedOn: the chain moves on faster than the steps follow each other.
        GatewayError: what `read` raises.
    """
    if view.block is not None:
        return await read(view)
    cache = view.cache
    for attempt in range(1, ATTEMPTS + 1):
        trial = ReadView(deadline=view.deadline, cache=cache)
        try:
            found = await read(trial)
        except MovedOn:
            if attempt == ATTEMPTS:
                raise
            if view.cache is not None:
                view.cache.miss()
            cache = CacheContext(bypass=True)
            continue
        if trial.block is not None:
            view.settle(trial.block, trial.endpoint)
        return found
    raise AssertionError("the last attempt returns or raises")


NO_ENDPOINTS: frozenset[str] = frozenset()

NO_BLOCK = -1
"""The block of an answer that does not name one."""

_PLAIN = CallPolicy()


class BlockAnswer(NamedTuple, Generic[Answer]):
    """An answer, the label of the endpoint that gave it, and the block (or slot) that it is of, or `NO_BLOCK`.

    `made_at` is the block's time in unix seconds, where the answer names it.
    """

    answer: Answer
    endpoint: str
    block: int
    made_at: float | None = None


class NewestBlock(NamedTuple):
    """The newest block of an endpoint: its height (or slot), and when it was made in unix seconds where it names that.

    `is_syncing` says that more blocks are on the way.
    """

    height: int
    made_at: float | None = None
    is_syncing: bool = False


class NewestCall(NamedTuple):
    """A family's call for the newest block; `parse` raises ValueError for an answer that is none."""

    method: str
    params: Sequence[object]
    parse: Callable[[bytes], NewestBlock]


async def read_newest_block(
    pool: Pool, call: NewestCall, deadline: float | None, policy: CallPolicy = _PLAIN
) -> BlockAnswer[None]:
    """Return the newest block of an endpoint that keeps pace; raises as `Pool.call` and `read_newest`."""

    async def read(avoid: frozenset[str]) -> BlockAnswer[None]:
        steered = replace(policy, avoid=avoid)
        newest, endpoint = await read_validated(pool, *call, steered, deadline=deadline)
        return BlockAnswer(None, endpoint, newest.height, newest.made_at)

    return await read_newest(pool, read)


async def read_newest(
    pool: Pool, read: Callable[[frozenset[str]], Awaitable[BlockAnswer[Answer]]]
) -> BlockAnswer[Answer]:
    """Return what `read` brings from an endpoint that is about as far as the others, as far as they are known.

    `read` gets the labels of the endpoints to ask last. An endpoint that turns out to lag, or to report a block that
    the others cannot have reached, is noted, and the read is made again elsewhere. If no other answers, a lagging one
    does, for its answer names its block; one that is too far ahead, or at block 0 of a chain that was further, is not
    believed: UpstreamDisagrees. So is one whose block is beyond what the chain can have come to, unless its header
    proves it. An answer that names no block is taken as it is.
    """
    avoid = NO_ENDPOINTS
    while True:
        found = await read(avoid)
        if found.block == NO_BLOCK:
            return found
        pool.observe_head(found.endpoint, found.block, found.made_at)
        if pool.heads.is_claimed(found.endpoint):
            await pool.prove_head(found.endpoint, is_last=found.endpoint in avoid)
        if is_newest(pool, found, avoid):
            return found
        avoid |= {found.endpoint}


def is_newest(pool: Pool, found: BlockAnswer[Answer], avoid: frozenset[str]) -> bool:
    """Return whether an answer of the newest state is taken, after the pool was shown its block: see `read_newest`.

    `avoid` are the endpoints that were to be asked last. Raises UpstreamDisagrees for what is not believed.
    """
    if not pool.heads.is_out_of_step(found.endpoint):
        return True
    if found.endpoint not in avoid:
        return False
    if found.block <= 0:
        raise UpstreamDisagrees(f"endpoint {found.endpoint} of {pool.chain} has only begun to follow the chain")
    if pool.heads.is_ahead(found.endpoint):
        message = f"endpoint {found.endpoint} of {pool.chain} reports a block that the others have not reached"
        raise UpstreamDisagrees(message)
    return True


def majority_height(heights: Iterable[int]) -> int:
    """Return the highest block that a strict majority of endpoints, each by its newest, has reached."""
    ordered = sorted(heights, reverse=True)
    return ordered[len(ordered) // 2]
