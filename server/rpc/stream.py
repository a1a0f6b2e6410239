"""StreamService."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from waypost.v1 import stream_pb2_grpc

from server.streams.blocks import BLOCKS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from waypost.v1 import stream_pb2

    from server.streams.events import Event
    from server.streams.follower import Followers


class StreamServicer(stream_pb2_grpc.StreamServiceServicer):
    """Streams of what happens on chains; `charge` takes units of the quota of the stream being served."""

    def __init__(self, followers: Followers, charge: Callable[[int], Awaitable[None]]) -> None:
        self._followers = followers
        self._charge = charge

    async def WatchBlocks(self, request: stream_pb2.WatchBlocksRequest, context: Any) -> AsyncIterator[Event]:
        """Yield the headers of a chain's blocks."""
        events = self._followers.watch(request.chain, BLOCKS, request.cursor, self._charge)
        async with aclosing(events):
            async for event in events:
                yield event
