"""StreamService."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from waypost.v1 import stream_pb2_grpc

from server.streams.blocks import BLOCKS
from server.streams.logs import open_log_source, open_transfer_source

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

    from waypost.v1 import stream_pb2

    from server.chains.registry import Chains
    from server.streams.events import Event
    from server.streams.follower import Followers
    from server.streams.source import Source

    EventRequest = stream_pb2.WatchBlocksRequest | stream_pb2.WatchLogsRequest | stream_pb2.WatchTransfersRequest


class StreamServicer(stream_pb2_grpc.StreamServiceServicer):
    """Streams of what happens on chains; `charge` takes units of the quota of the stream being served."""

    def __init__(self, followers: Followers, chains: Chains, charge: Callable[[int], Awaitable[None]]) -> None:
        self._followers = followers
        self._chains = chains
        self._charge = charge

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

    def _watch(self, request: EventRequest, source: Source[Any]) -> aclosing[AsyncGenerator[Event]]:
        return aclosing(self._followers.watch(request.chain, source, request.cursor, self._charge))
