"""A rig with all that streams need, and how their ends are read."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from waypost.v1.stream_pb2 import WatchBlocksResponse

from server.streams.events import Event

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from server.access.keys import KeyStore
    from server.access.usage import Usage
    from server.rpc.pipeline.open_streams import OpenStreams
    from tests.server.inprocess.rig import Rig


class Watching:
    """A rig behind all stages, whose keys are in a database of their own."""

    def __init__(self, rig: Rig, keys: KeyStore, streams: OpenStreams, usage: Usage) -> None:
        self.rig, self.keys, self.streams, self.usage = rig, keys, streams, usage

    def watch(self, key: str = "local", request: Any = None, **options: Any) -> Any:
        metadata = (("x-api-key", key), *options.pop("metadata", ()))
        return self.rig.watch(request, metadata=metadata, **options)

    async def until_open(self, streams: int) -> None:
        """Wait until so many streams are open: a socket brings an end in its own time."""
        async with asyncio.timeout(5):
            while len(self.streams) != streams:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


def event(number: int) -> Event:
    return Event(WatchBlocksResponse(block_number=number).SerializeToString(), f"after {number}")


async def endless(request: Any, context: Any) -> AsyncIterator[Event]:
    yield event(0)
    await asyncio.sleep(60)


async def ended(call: Any) -> tuple[list[int], StatusCode, str, dict[str, str]]:
    """Return the numbers of a stream's events, and its status with reason and facts."""
    numbers: list[int] = []
    try:
        async for received in call:
            numbers.append(received.block_number)
    except grpc.aio.AioRpcError as error:
        return numbers, error.code(), *facts_of(error)
    return numbers, await call.code(), "", {}


def facts_of(error: grpc.aio.AioRpcError) -> tuple[str, dict[str, str]]:
    status = status_pb2.Status.FromString(dict(error.trailing_metadata() or ())["grpc-status-details-bin"])
    kind = error_details_pb2.ErrorInfo
    [info] = [kind.FromString(one.value) for one in status.details if one.Is(kind.DESCRIPTOR)]
    return info.reason, dict(info.metadata)
