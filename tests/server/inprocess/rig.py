"""The same handlers behind two transports: the in-process channel and a grpc.aio server on a loopback socket."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc
from waypost.v1.account_pb2 import GetBalanceRequest, GetBalanceResponse
from waypost.v1.stream_pb2 import WatchBlocksRequest, WatchBlocksResponse

from server.inprocess import InProcessChannel
from server.listeners import bind
from server.rpc.registration import PathHandlers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from server.rpc.pipeline.interceptor import StagesInterceptor

    Servicer = Callable[[Any, Any], Awaitable[Any] | AsyncIterator[Any]]

MAX_REQUEST_BYTES = 1 << 18
MAX_BYTES = 1 << 20
PATH = "/waypost.v1.AccountService/GetBalance"
OTHER = "/waypost.v1.AccountService/GetOther"
WATCH = "/waypost.v1.StreamService/WatchBlocks"


@dataclass
class Rig:
    """One transport. `servicer` is what answers; `seen` is what servicers leave for the test."""

    channel: Any
    slot: dict[str, Servicer]
    seen: list[Any] = field(default_factory=list)

    def serve(self, servicer: Servicer) -> None:
        """Let the next calls be answered by this servicer."""
        self.slot["servicer"] = servicer

    def method(self, path: str = PATH, **codecs: Any) -> Any:
        """Return the callable of a method with the codecs of GetBalance, or those given."""
        return self.channel.unary_unary(
            path,
            **{
                "request_serializer": GetBalanceRequest.SerializeToString,
                "response_deserializer": GetBalanceResponse.FromString,
                **codecs,
            },
        )

    def watch(self, request: Any = None, path: str = WATCH, **options: Any) -> Any:
        """Start a stream of WatchBlocks; it has a deadline unless the test says otherwise."""
        method = self.channel.unary_stream(
            path,
            request_serializer=WatchBlocksRequest.SerializeToString,
            response_deserializer=WatchBlocksResponse.FromString,
        )
        return method(request or WatchBlocksRequest(chain="ethereum"), **{"timeout": 5, **options})

    def call(self, request: Any = None, **options: Any) -> Any:
        """Start a call of GetBalance; it has a deadline unless the test says otherwise."""
        return self.method()(request or GetBalanceRequest(chain="ethereum"), **{"timeout": 5, **options})


def _handlers(slot: dict[str, Servicer]) -> dict[str, Any]:
    async def answer(request: Any, context: Any) -> Any:
        return await slot["servicer"](request, context)

    async def watch(request: Any, context: Any) -> AsyncIterator[Any]:
        async for event in slot["servicer"](request, context):
            yield event

    return {
        WATCH: grpc.unary_stream_rpc_method_handler(
            watch,
            request_deserializer=WatchBlocksRequest.FromString,
            response_serializer=WatchBlocksResponse.SerializeToString,
        ),
        PATH: grpc.unary_unary_rpc_method_handler(
            answer,
            request_deserializer=GetBalanceRequest.FromString,
            response_serializer=GetBalanceResponse.SerializeToString,
        ),
    }


@asynccontextmanager
async def in_process(interceptor: StagesInterceptor | None = None) -> AsyncIterator[Rig]:
    slot: dict[str, Servicer] = {}
    handlers: Mapping[str, Any] = _handlers(slot)
    if interceptor is not None:
        handlers = interceptor.compose_in_process(handlers)
    async with InProcessChannel(handlers, max_request_bytes=MAX_REQUEST_BYTES, max_response_bytes=MAX_BYTES) as channel:
        yield Rig(channel, slot)


@asynccontextmanager
async def on_socket(interceptor: StagesInterceptor | None = None) -> AsyncIterator[Rig]:
    slot: dict[str, Servicer] = {}
    server = grpc.aio.server(
        handlers=(PathHandlers(_handlers(slot)),),
        interceptors=(interceptor,) if interceptor is not None else (),
        options=(("grpc.max_receive_message_length", MAX_REQUEST_BYTES), ("grpc.max_send_message_length", MAX_BYTES)),
    )
    port = bind(server, "127.0.0.1:0", "the test's address")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(
            f"127.0.0.1:{port}", options=(("grpc.max_receive_message_length", 4 * MAX_BYTES),)
        ) as channel:
            yield Rig(channel, slot)
    finally:
        await server.stop(0)


TRANSPORTS = {"in process": in_process, "socket": on_socket}
