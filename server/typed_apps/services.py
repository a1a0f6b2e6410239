"""The typed services of all published apps, as the gateway serves them."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from server.typed_apps.codec import MethodCodec
from server.typed_apps.descriptors import file_descriptor
from server.typed_apps.design import design_app

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from waypost.v1 import marketplace_pb2

    from runtime.operations import Operation
    from server.catalog.apps import Catalogue, PublishedMethod

    CallMethod = Callable[[Any, Any], Awaitable[marketplace_pb2.CallMethodResponse]]

_LARGE = 4096
CALL_METHOD = "/waypost.v1.MarketplaceService/CallMethod"


class TypedServices:
    """One service per app. `files` are their descriptors, `names` the services' full names."""

    def __init__(self, catalogue: Catalogue) -> None:
        layouts = [design_app(app, catalogue) for app in catalogue.apps.values()]
        self.names: Sequence[str] = [layout.service_name for layout in layouts]
        self.files: Sequence[FileDescriptorProto] = [file_descriptor(layout) for layout in layouts]
        pool = DescriptorPool()
        for file in self.files:
            pool.Add(file)  # type: ignore[no-untyped-call]
        self._rpcs = {
            f"/{layout.service_name}/{rpc.name}": _TypedRpc(rpc.method, pool, f"{layout.package}.{rpc.name}")
            for layout in layouts
            for rpc in layout.rpcs
        }

    def operations(self, call_method: Operation) -> dict[str, Operation]:
        """Return the operation of each path: all are the one that calls published methods."""
        return dict.fromkeys(self._rpcs, call_method)

    def handlers(self, call_method: grpc.RpcMethodHandler[Any, Any]) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """Return the handlers by path: each is CallMethod behind another parser and serialiser."""
        return {
            path: grpc.unary_unary_rpc_method_handler(
                rpc.answered_by(call_method.unary_unary), request_deserializer=rpc.read_request
            )
            for path, rpc in self._rpcs.items()
        }


class _TypedRpc:
    """One rpc; its message classes are made when it is first called."""

    def __init__(self, method: PublishedMethod, pool: DescriptorPool, prefix: str) -> None:
        self._method = method
        self._pool = pool
        self._prefix = prefix

    @cached_property
    def _codec(self) -> MethodCodec:
        request, response = (
            GetMessageClass(self._pool.FindMessageTypeByName(self._prefix + suffix))  # type: ignore[no-untyped-call]
            for suffix in ("Request", "Response")
        )
        return MethodCodec(self._method, request, response)

    def read_request(self, raw: bytes) -> marketplace_pb2.CallMethodRequest:
        return self._codec.read_request(raw)

    def answered_by(self, call_method: CallMethod) -> Callable[[Any, Any], Awaitable[bytes]]:
        """Return the servicer method; what it answers is serialised already."""

        async def answer(request: marketplace_pb2.CallMethodRequest, context: Any) -> bytes:
            answered = await call_method(request, context)
            if answered.ByteSize() > _LARGE:
                # Many values, which the contract chose: beside the event loop.
                return await asyncio.to_thread(self._codec.write_response, answered)
            return self._codec.write_response(answered)

        return answer
