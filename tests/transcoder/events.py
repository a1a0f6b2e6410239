"""Scripted watches: streams of blocks and of receipts, as the server's servicers would send them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc
from waypost.v1 import stream_pb2, stream_state_pb2

from tests.transcoder.scripted import refuse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ADDED = stream_pb2.EVENT_KIND_ADDED
CONFIRMED = stream_state_pb2.RECEIPT_STATE_CONFIRMED


def block(number: int, *, extra: int = 0) -> stream_pb2.WatchBlocksResponse:
    """Return the event of a block; `extra` are bytes that it is longer by."""
    return stream_pb2.WatchBlocksResponse(
        cursor=f"c{number}", chain="ethereum", kind=ADDED, block_number=number, block_hash="0x" + "a" * extra
    )


class Blocks:
    """Streams of blocks, from after the cursor on, as many as `count`; then open until `release`, then refused."""

    def __init__(self, count: int = 3, *, extra: int = 0) -> None:
        self.count = count
        self.extra = extra
        self.release = asyncio.Event()
        self.open = 0
        self.sent = 0

    async def __call__(self, request: Any, context: Any) -> AsyncIterator[Any]:
        self.open += 1
        try:
            cursor = getattr(request, "cursor", "")
            first = int(cursor[1:]) + 1 if cursor else 0
            for number in range(first, first + self.count):
                self.sent += 1
                yield block(number, extra=self.extra)
            await self.release.wait()
            await refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "SLOW_CONSUMER", "too slow")
        finally:
            self.open -= 1


async def receipt(request: Any, _: Any) -> AsyncIterator[Any]:
    """Send one state, and end."""
    transaction = stream_state_pb2.WatchedTransaction(state=CONFIRMED, confirmations=2)
    yield stream_state_pb2.WatchReceiptResponse(chain=request.chain, hash=request.hash, value=transaction)


async def until(condition: Any) -> None:
    """Wait for what happens on its own."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  # nothing tells
            await asyncio.sleep(0.01)
