"""StreamService."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from waypost.v1 import stream_pb2_grpc

from server.rpc.rows import check_items
from server.streams.blocks import BLOCKS
from server.streams.logs import open_log_source, open_transfer_source

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from waypost.v1 import stream_pb2, stream_state_pb2

    from server.chains.registry import Chains
    from server.streams.balances import BalanceWatches
    from server.streams.events import Event
    from server.streams.follower import Followers
    from server.streams.prices import PriceWatches
    from server.streams.receipts import ReceiptWatches
    from server.streams.source import Source
    from server.streams.values import Charge

    EventRequest = stream_pb2.WatchBlocksRequest | stream_pb2.WatchLogsRequest | stream_pb2.WatchTransfersRequest


class StreamServicer(stream_pb2_grpc.StreamServiceServicer):
    """Streams of what happens on chains, and of values; `charge` takes units of the quota of the stream served."""

    def __init__(
        self,
        followers: Followers,
        chains: Chains,
        charge: Charge,
        balances: BalanceWatches,
        prices: PriceWatches,
        receipts: ReceiptWatches,
    ) -> None:
        self._followers = followers
        self._chains = chains
        self._charge = charge
        self._balances = balances
        self._prices = prices
        self._receipts = receipts

    async def WatchBlocks(self, request: stream_pb2.WatchBlocksRequest, context: Any) -> AsyncIterator[Event]:
        """Yield the headers of a chain's blocks."""
        async with self._watch(request, BLOCKS) as events:
            async for event in events:
                yield event

    async def WatchLogs(self, request: stream_pb2.WatchLogsRequest, context: Any) -> AsyncIterator[Event]:
        """Yield the logs that a filter selects."""
        async with self._watch(request, open_log_source(self._chains, request)) as events:
            async for event in events:
                yield event

    async def WatchTransfers(self, request: stream_pb2.WatchTransfersRequest, context: Any) -> AsyncIterator[Event]:
        """Yield the token transfers from or to accounts, or of tokens."""
        async with self._watch(request, open_transfer_source(self._chains, request)) as events:
            async for event in events:
                yield event

    def WatchBalances(self, request: stream_state_pb2.WatchBalancesRequest, context: Any) -> AsyncGenerator[Event]:
        """Yield the balances of accounts, then each one that changes."""
        check_items(self._balances.check, request.items)
        return self._balances.watch(request, self._charge)

    def WatchPrices(self, request: stream_state_pb2.WatchPricesRequest, context: Any) -> AsyncGenerator[Event]:
        """Yield the prices of tokens, then each one that changes."""
        return self._prices.watch(request, self._charge)

    def WatchReceipt(self, request: stream_state_pb2.WatchReceiptRequest, context: Any) -> AsyncGenerator[Event]:
        """Yield how far a transaction is; ends once it has the confirmations wanted."""
        return self._receipts.watch(request, self._charge)

    def _watch(self, request: EventRequest, source: Source[Any]) -> aclosing[AsyncGenerator[Event]]:
        return aclosing(self._followers.watch(request.chain, source, request.cursor, self._charge))
