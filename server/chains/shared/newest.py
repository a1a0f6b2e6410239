"""Reads of the newest state: which endpoint's answer is taken, and the newest block of a chain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from server.chains.shared.validated_reads import read_validated
from server.errors import UpstreamDisagrees
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from server.upstream.pool import Pool

Answer = TypeVar("Answer")

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

    `is_syncing` states that more blocks are on the way.
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
    """Return what `read` brings from an endpoint that is about as far as the others, as far as is known.

    `read` gets the labels of the endpoints to ask last. An endpoint that turns out to lag, or to report a block that
    the others cannot have reached, is noted, and the read is made again elsewhere. If no other answers, a lagging one
    does, for its answer names its block; one that is too far ahead, or at block 0 of a chain that was further, is
    rejected: UpstreamDisagrees. So is one whose block is beyond what the chain can have come to, unless its header
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
        if not pool.heads.is_out_of_step(found.endpoint):
            return found
        if found.endpoint in avoid:
            if found.block <= 0:
                raise UpstreamDisagrees(f"endpoint {found.endpoint} of {pool.chain} has only begun to follow the chain")
            if pool.heads.is_ahead(found.endpoint):
                message = f"endpoint {found.endpoint} of {pool.chain} tells a block that the others have not reached"
                raise UpstreamDisagrees(message)
            return found
        avoid |= {found.endpoint}


def majority_height(heights: Iterable[int]) -> int:
    """Return the highest block that a strict majority of endpoints, each by its newest, has reached."""
    ordered = sorted(heights, reverse=True)
    return ordered[len(ordered) // 2]
