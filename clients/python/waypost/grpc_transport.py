"""Calls over gRPC, with and without an event loop. Retries are the channel's own, by its service config."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

import grpc
from google.protobuf import descriptor_pool
from waypost.errors import WaypostError, of_rpc, of_status
from waypost.methods import Answer, class_of
from waypost.v1.batch_pb2 import ExecuteRequest, ExecuteResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.protobuf.any_pb2 import Any as AnyMessage
    from google.protobuf.message import Message
    from waypost.methods import Method, StreamMethod
    from waypost.target import Target

BATCH = "/waypost.v1.BatchService/Execute"


def batch_request(requests: Iterable[Message]) -> ExecuteRequest:
    """Return the requests as one."""
    packed = ExecuteRequest()
    for request in requests:
        packed.requests.add().Pack(request)
    return packed


def batch_results(answer: ExecuteResponse) -> list[Message | WaypostError]:
    """Return what each request of a batch came to."""
    return [
        _unpacked(result.response) if result.WhichOneof("outcome") == "response" else of_status(result.error)
        for result in answer.results
    ]


def _unpacked(packed: AnyMessage) -> Message:
    pool: Any = descriptor_pool.Default()  # type: ignore[no-untyped-call]
    return class_of(pool.FindMessageTypeByName(packed.TypeName())).FromString(packed.value)


class GrpcTransport:
    """Calls over one channel, which any number of threads may share."""

    def __init__(self, target: Target, channel: grpc.Channel | None = None) -> None:
        if channel is None:
            channel = (
                grpc.secure_channel(target.address, target.credentials(), options=target.options)
                if target.tls
                else grpc.insecure_channel(target.address, options=target.options)
            )
        self._channel = channel
        self._metadata = target.metadata
        self._rpcs: dict[str, Any] = {}

    def call(self, method: Method[Answer], request: Message, timeout: float) -> Answer:
        """Return the answer; raises WaypostError."""
        return self._ask(method.path, request, method.answer, timeout)

    def batch(self, requests: list[Message], timeout: float) -> list[Message | WaypostError]:
        """Return what each request came to; raises WaypostError."""
        return batch_results(self._ask(BATCH, batch_request(requests), ExecuteResponse, timeout))

    def _ask(self, path: str, request: Message, answer: type[Answer], timeout: float) -> Answer:
        rpc = self._rpcs.get(path)
        if rpc is None:
            rpc = self._rpcs[path] = self._channel.unary_unary(
                path, request_serializer=_serialised, response_deserializer=answer.FromString
            )
        try:
            received: Answer = rpc(request, timeout=timeout, metadata=self._metadata)
        except grpc.RpcError as failure:
            raise of_rpc(failure) from None
        return received

    def stream(self, method: StreamMethod[Answer], request: Message) -> GrpcEvents[Answer]:
        """Return the events of a call that begins."""
        rpc = self._rpcs.get(method.path)
        if rpc is None:
            rpc = self._rpcs[method.path] = self._channel.unary_stream(
                method.path, request_serializer=_serialised, response_deserializer=method.answer.FromString
            )
        return GrpcEvents(rpc(request, metadata=self._metadata))

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()


class GrpcEvents(Generic[Answer]):
    """The events of one call."""

    def __init__(self, call: Any) -> None:
        self._call = call

    def read(self) -> Answer | None:
        """Return the next event, None after the last; raises WaypostError."""
        try:
            event: Answer | None = next(self._call, None)
        except grpc.RpcError as failure:
            raise of_rpc(failure) from None
        return event

    def close(self) -> None:
        """Cancel the call."""
        self._call.cancel()


class AsyncGrpcTransport:
    """Calls over one channel of the event loop in which the first one is made."""

    def __init__(self, target: Target, channel: grpc.aio.Channel | None = None) -> None:
        self._target = target
        self._metadata = target.metadata
        self._channel: Any = channel
        self._rpcs: dict[str, Any] = {}

    async def call(self, method: Method[Answer], request: Message, timeout: float) -> Answer:
        """Return the answer; raises WaypostError."""
        return await self._ask(method.path, request, method.answer, timeout)

    async def batch(self, requests: list[Message], timeout: float) -> list[Message | WaypostError]:
        """Return what each request came to; raises WaypostError."""
        return batch_results(await self._ask(BATCH, batch_request(requests), ExecuteResponse, timeout))

    async def _ask(self, path: str, request: Message, answer: type[Answer], timeout: float) -> Answer:
        rpc = self._rpcs.get(path)
        if rpc is None:
            rpc = self._rpcs[path] = self._opened().unary_unary(
                path, request_serializer=_serialised, response_deserializer=answer.FromString
            )
        try:
            received: Answer = await rpc(request, timeout=timeout, metadata=self._metadata)
        except grpc.RpcError as failure:
            raise of_rpc(failure) from None
        return received

    def stream(self, method: StreamMethod[Answer], request: Message) -> AsyncGrpcEvents[Answer]:
        """Return the events of a call that begins."""
        rpc = self._rpcs.get(method.path)
        if rpc is None:
            rpc = self._rpcs[method.path] = self._opened().unary_stream(
                method.path, request_serializer=_serialised, response_deserializer=method.answer.FromString
            )
        return AsyncGrpcEvents(rpc(request, metadata=self._metadata))

    def _opened(self) -> Any:
        if self._channel is None:
            target = self._target
            if target.tls:
                self._channel = grpc.aio.secure_channel(target.address, target.credentials(), options=target.options)
            else:
                self._channel = grpc.aio.insecure_channel(target.address, options=target.options)
        return self._channel

    async def close(self) -> None:
        """Close the channel."""
        if self._channel is not None:
            await self._channel.close()


class AsyncGrpcEvents(Generic[Answer]):
    """The events of one call of an event loop."""

    def __init__(self, call: Any) -> None:
        self._call = call

    async def read(self) -> Answer | None:
        """Return the next event, None after the last; raises WaypostError."""
        try:
            event = await self._call.read()
        except grpc.RpcError as failure:
            raise of_rpc(failure) from None
        return None if event is grpc.aio.EOF else event

    async def close(self) -> None:
        """Cancel the call."""
        self._call.cancel()


def _serialised(request: Message) -> bytes:
    return request.SerializeToString()
