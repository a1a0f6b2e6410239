"""The newest block, its number and time, as an endpoint reports it that keeps pace with the others.

Its header is read and not `eth_blockNumber`: a bare number does not show that its block is of a time to come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from server.chains.view import BlockAnswer, NewestBlock, NewestCall, read_newest_block
from server.contracts.words import check_count, quantity
from server.errors import ArchiveRequired, GatewayError, InvalidArgument, NotFound
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import TypeVar

    from server.chains.view import ReadView
    from server.upstream.pool import Pool

    Answer = TypeVar("Answer")


NEWEST: tuple[str, list[object]] = ("eth_getBlockByNumber", ["latest", False])
"""The call, method and parameters, that brings the header of the newest block."""

_PLAIN = CallPolicy()


class _Header(msgspec.Struct):
    number: str
    timestamp: str


_decode = msgspec.json.Decoder(_Header).decode


def parse_newest(result: bytes) -> NewestBlock:
    """Return what an answer to `NEWEST` holds; ValueError for what is no block."""
    try:
        header = _decode(result)
    except (msgspec.MsgspecError, RecursionError):
        raise ValueError("not a block") from None
    return NewestBlock(check_count(quantity(header.number)), check_count(quantity(header.timestamp)))


NEWEST_CALL = NewestCall(*NEWEST, parse_newest)


async def read_newest_height(pool: Pool, deadline: float | None, policy: CallPolicy = _PLAIN) -> BlockAnswer[None]:
    """Return the newest block and its endpoint; raises as `Pool.call` and `read_newest`."""
    return await read_newest_block(pool, NEWEST_CALL, deadline, policy)


# Nodes answer both alike ("header not found", "BlockOutOfRangeError"), so the head decides. Asked only after a
# failure.

_AMBIGUOUS = (ArchiveRequired, NotFound, InvalidArgument)


class Heights:
    """Judges failures of pinned reads on one chain."""

    def __init__(self, slug: str, pool: Pool) -> None:
        self._slug = slug
        self._pool = pool

    async def explain_block_error(self, read: Awaitable[Answer], view: ReadView, field: str = "blockHeight") -> Answer:
        """Return what `read` returns.

        Raises:
            NotFound: the block that the caller chose is beyond the chain's head.
            ArchiveRequired: the block exists, but no configured node has its state.
            GatewayError: any other failure of `read`, unchanged.
        """
        block = view.block
        if block is None:
            return await read
        try:
            return await read
        except _AMBIGUOUS as error:
            raise await self._judge(error, block, field, view.deadline) from None

    async def _judge(self, error: GatewayError, block: int, field: str, deadline: float | None) -> GatewayError:
        if error.field is not None:
            return error
        try:
            head = (await read_newest_height(self._pool, deadline)).block
        except GatewayError:
            return error
        if block > head:
            return NotFound(
                f"block {block} of {self._slug} does not exist yet: the newest block is {head}",
                field=field,
                head=head,
            )
        if isinstance(error, ArchiveRequired):
            return ArchiveRequired(error.message, field=field, oldest_block=error.oldest_block)
        return error
