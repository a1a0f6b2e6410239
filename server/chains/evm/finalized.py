"""The newest block that an EVM chain cannot change any more, as a node tells it by the tag `finalized`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from server.chains.evm.quantity import quantity
from server.errors import UpstreamUnavailable

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
        reply = await self._pool.call("eth_getBlockByNumber", ["finalized", False])
        try:
            return quantity(msgspec.json.decode(reply.result, type=_Header).number)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            raise UpstreamUnavailable(f"endpoint {reply.endpoint} does not tell its newest final block") from None
