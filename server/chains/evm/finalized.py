"""The newest block that an EVM chain cannot change any more, as a node tells it by the tag `finalized`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from server.chains.sound_answers import read_sound
from server.contracts.quantity import quantity
from server.errors import NotFound

if TYPE_CHECKING:
    from server.upstream.pool import Pool


class _Header(msgspec.Struct):
    number: str


class FinalizedReader:
    """Asks the nodes of one chain."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read(self) -> int:
        """Return the number of the newest final block; GatewayError where no node tells one."""
        number, _ = await read_sound(
            self._pool, "eth_getBlockByNumber", ["finalized", False], _read_number, deadline=None
        )
        return number


def _read_number(result: bytes) -> int:
    if result == b"null":
        raise NotFound("no block is final yet")
    return quantity(msgspec.json.decode(result, type=_Header).number)
