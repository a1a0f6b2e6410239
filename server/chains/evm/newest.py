"""The newest block, its number and time, as an endpoint reports it that keeps pace with the others.

Its header is read and not `eth_blockNumber`: a bare number does not say that its block is of a time to come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from server.chains.shared.newest import BlockAnswer, NewestBlock, NewestCall, read_newest_block
from server.contracts.quantity import check_count, quantity
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from server.upstream.pool import Pool

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
