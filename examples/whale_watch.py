"""Large transfers of a token as they happen: `python examples/whale_watch.py localhost:50051 KEY CHAIN TOKEN AT_LEAST`.

AT_LEAST counts whole tokens. It goes on until it is interrupted, also while the gateway is not reached for a time.
"""

from __future__ import annotations

import asyncio
import sys
from decimal import Decimal
from typing import TYPE_CHECKING

from waypost import AsyncWaypost
from waypost.v1 import stream_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def watch(client: AsyncWaypost, chain: str, token: str, at_least: Decimal) -> AsyncIterator[str]:
    """Yield a line for each large transfer, and for what the chain takes back."""
    async with client.streams.watch_transfers(chain=chain, tokens=[token]) as events:
        async for event in events:
            if event.kind == stream_pb2.EVENT_KIND_ROLLED_BACK:
                yield f"{event.block_number} the blocks above this one were replaced"
            elif event.kind == stream_pb2.EVENT_KIND_STALLED:
                yield f"{event.block_number} no block comes after this one"
            elif event.HasField("transfer") and Decimal(event.transfer.amount or 0) >= at_least:
                transfer = event.transfer
                taken_back = " (taken back)" if event.kind == stream_pb2.EVENT_KIND_REMOVED else ""
                way = f"{transfer.from_address} -> {transfer.to}"
                yield f"{event.block_number} {transfer.amount} {transfer.symbol} {way}{taken_back}"


async def main(target: str, key: str, chain: str, token: str, at_least: str) -> None:
    """Print what is seen from now on."""
    async with AsyncWaypost(target, key) as client:
        async for line in watch(client, chain, token, Decimal(at_least)):
            print(line, flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
