"""Reads of the newest state: whose answer about it is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from server.errors import UpstreamDisagrees

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from server.upstream.pool import Pool

Answer = TypeVar("Answer")

NOBODY: frozenset[str] = frozenset()

UNTOLD = -1
"""The block of an answer that does not name one."""


class Told(NamedTuple, Generic[Answer]):
    """An answer, the label of the endpoint that gave it, and the block (or slot) that it is of, or `UNTOLD`.

    `made_at` is the block's time in unix seconds, where the answer names it.
    """

    answer: Answer
    endpoint: str
    block: int
    made_at: float | None = None


async def read_newest(pool: Pool, read: Callable[[frozenset[str]], Awaitable[Told[Answer]]]) -> Told[Answer]:
    """Return what `read` brings from an endpoint that is about as far as the others, as far as they are known.

    `read` gets the labels of the endpoints to ask last. An endpoint that turns out to lag, or to tell a block that
    the others cannot have reached, is noted, and the read is made again elsewhere. If nobody else answers, a lagging
    one does, for its answer names its block; one that is too far ahead, or at block 0 of a chain that was further, is
    not believed: UpstreamDisagrees. So is one whose block is beyond what the chain can have come to, unless its header
    proves it. An answer that names no block is taken as it is.
    """
    avoid = NOBODY
    while True:
        told = await read(avoid)
        if told.block == UNTOLD:
            return told
        pool.observe_head(told.endpoint, told.block, told.made_at)
        if pool.heads.is_claimed(told.endpoint):
            await pool.prove_head(told.endpoint, is_last=told.endpoint in avoid)
        if not pool.heads.is_out_of_step(told.endpoint):
            return told
        if told.endpoint in avoid:
            if told.block <= 0:
                raise UpstreamDisagrees(f"endpoint {told.endpoint} of {pool.chain} has only begun to follow the chain")
            if pool.heads.is_ahead(told.endpoint):
                message = f"endpoint {told.endpoint} of {pool.chain} tells a block that the others have not reached"
                raise UpstreamDisagrees(message)
            return told
        avoid |= {told.endpoint}


def majority_height(heights: Iterable[int]) -> int:
    """Return the highest block that a strict majority of endpoints, each told by its newest, has reached."""
    ordered = sorted(heights, reverse=True)
    return ordered[len(ordered) // 2]
