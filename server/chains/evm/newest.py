"""The newest block, its number and time, as an endpoint reports it that keeps pace with the others.

Its header is read and not `eth_blockNumber`: a bare number does not say that its block is of a time to come.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from server.chains.newest import Told, read_newest
from server.chains.sound_answers import read_sound
from server.contracts.quantity import check_count, quantity
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from server.upstream.pool import Pool

NEWEST: tuple[str, list[object]] = ("eth_getBlockByNumber", ["latest", False])
"""The call, method and parameters, that brings the header of the newest block."""

_PLAIN = CallPolicy()


class NewestBlock(NamedTuple):
    """The newest block of an endpoint: its number, and when it was made in unix seconds."""

    number: int
    made_at: int


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


async def read_newest_height(pool: Pool, deadline: float | None, policy: CallPolicy = _PLAIN) -> Told[None]:
    """Return the newest block and who told it; raises as `Pool.call` and `read_newest`."""

    async def read(avoid: frozenset[str]) -> Told[None]:
        steered = replace(policy, avoid=avoid)
        newest, endpoint = await read_sound(pool, *NEWEST, parse_newest, steered, deadline=deadline)
        return Told(None, endpoint, newest.number, newest.made_at)

    return await read_newest(pool, read)
