"""The caller's side: the channel and its methods, which begin calls."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

import grpc

from server.inprocess.call import InProcessCall
from server.inprocess.context import ONE_REQUEST, InProcessContext, received
from server.inprocess.stream import InProcessStream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import TypeAlias

    from server.inprocess.call import Call
    from server.inprocess.context import Beginning, Entries

    Served: TypeAlias = grpc.RpcMethodHandler[Any, Any] | Beginning

MAX_REQUEST_BYTES = 4 * 1024 * 1024
MAX_RESPONSE_BYTES = 64 * 1024 * 1024


class InProcessChannel(grpc.aio.Channel):  # type: ignore[misc]  # grpc has no types
    """A channel onto `handlers`, by path (`/waypost.v1.AccountService/GetBalance`), within one event loop.

    A handler is a coroutine function in an `RpcMethodHandler`, or a `Beginning`: a call that it answers at once has no
    task. `max_request_bytes` and `max_response_bytes` bound messages as a listener does; a larger one ends the call as
    RESOURCE_EXHAUSTED.
    """

    def __init__(
        self,
        handlers: Mapping[str, Served],
        *,
        max_request_bytes: int = MAX_REQUEST_BYTES,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self._handlers = handlers
        self.max_request_bytes = max_request_bytes
        self.max_response_bytes = max_response_bytes
        self.tasks: dict[asyncio.Task[None], Call] = {}
        self.closed = False
        # Of the last call: the items of a batch share theirs.
        self._metadata: tuple[object, Entries] = ((), ())

    def receive(self, metadata: Any) -> Entries:
        """Return the metadata as servicers receive it. Raises what `received` raises."""
        if metadata is self._metadata[0]:
            return self._metadata[1]
        entries = received(metadata)
        if metadata.__class__ is tuple:
            self._metadata = metadata, entries
        return entries

    def unary_unary(
        self,
        method: str,
        request_serializer: Callable[[Any], bytes] | None = None,
        response_deserializer: Callable[[bytes], Any] | None = None,
        _registered_method: bool | None = False,
    ) -> InProcessMethod:
        """Return the callable of a method; one that does not exist answers UNIMPLEMENTED when called."""
        return InProcessMethod(self, self._handlers.get(method), request_serializer, response_deserializer)

    def unary_stream(
        self,
        method: str,
        request_serializer: Callable[[Any], bytes] | None = None,
        response_deserializer: Callable[[bytes], Any] | None = None,
        _registered_method: bool | None = False,
    ) -> InProcessStreamMethod:
        """Return the callable of a method that answers with messages; one that does not exist is UNIMPLEMENTED."""
        return InProcessStreamMethod(self, self._handlers.get(method), request_serializer, response_deserializer)

    def stream_unary(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: streams of requests need a socket."""
        raise grpc.aio.UsageError(ONE_REQUEST)

    stream_stream = stream_unary

    async def close(self, grace: float | None = None) -> None:
        """Accept no more calls, let those in flight finish for `grace` seconds, then cancel the rest."""
        self.closed = True
        if self.tasks and grace:
            await asyncio.wait(tuple(self.tasks), timeout=grace)
        for call in tuple(self.tasks.values()):
            call.cancel()
        if self.tasks:
            await asyncio.wait(tuple(self.tasks))

    async def __aenter__(self) -> InProcessChannel:
        """Return the channel itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close without grace."""
        await self.close()

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        """Return READY, or SHUTDOWN once closed."""
        return grpc.ChannelConnectivity.SHUTDOWN if self.closed else grpc.ChannelConnectivity.READY

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Return once the state differs; only closing changes it, so waiting on READY raises UsageError."""
        if self.get_state() is last_observed_state:
            raise grpc.aio.UsageError("the in-process channel is always ready: there is no change to wait for")

    async def channel_ready(self) -> None:
        """Return at once."""


class _Method:
    """One method of the channel, ready to be called with request messages."""

    __slots__ = ("_channel", "_handler", "_parse", "_serialise")

    kind: ClassVar[type[InProcessCall | InProcessStream]]

    def __init__(
        self,
        channel: InProcessChannel,
        handler: Served | None,
        serialise: Callable[[Any], bytes] | None,
        parse: Callable[[bytes], Any] | None,
    ) -> None:
        self._channel = channel
        # One of the other kind does not exist for those who call it so.
        is_stream = isinstance(handler, grpc.RpcMethodHandler) and handler.response_streaming
        self._handler = handler if is_stream is (self.kind is InProcessStream) else None
        self._serialise = serialise
        self._parse = parse

    def __call__(
        self,
        request: Any,
        *,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Any:
        """Start a call with the request as it is now; later changes to it are not seen by the servicer.

        Raises TypeError for a request that the serialiser refuses, UsageError on a closed channel.
        """
        payload = self._serialise(request) if self._serialise else request
        if not isinstance(payload, bytes):
            raise TypeError(f"the serialiser yields bytes, not {type(payload).__name__}")
        channel, handler = self._channel, self._handler
        if channel.closed:
            raise grpc.aio.UsageError("Channel is closed.")
        call = self._call(timeout)
        try:
            entries = channel.receive(metadata)
        except (TypeError, ValueError) as error:
            call.fail(error)
            return call
        if handler is None:
            call.settle(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")
        elif len(payload) > channel.max_request_bytes:
            text = f"SERVER: Received message larger than max ({len(payload)} vs. {channel.max_request_bytes})"
            call.settle(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
        elif timeout is not None and timeout <= 0:
            call.settle(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")
        else:
            call.start(handler, payload, entries)
        return call

    def _call(self, timeout: float | None) -> Any:
        channel = self._channel
        loop = asyncio.get_running_loop()
        return self.kind(loop, self._parse, timeout, channel.max_response_bytes, channel.tasks)


class InProcessStreamMethod(_Method, grpc.aio.UnaryStreamMultiCallable[Any, Any]):  # type: ignore[misc]  # grpc has no types
    """A method that answers with messages; calling it returns an `InProcessStream`."""

    kind = InProcessStream


class InProcessMethod(_Method, grpc.aio.UnaryUnaryMultiCallable[Any, Any]):  # type: ignore[misc]  # grpc has no types
    """A method that answers with one message; calling it returns an `InProcessCall`."""

    kind = InProcessCall

    def begin(self, payload: bytes, timeout: float | None, metadata: Any) -> tuple[bytes, Entries] | InProcessCall:
        """Return the serialised response and its trailing metadata where they are there at once, else the call.

        The serialised request goes as it is, and so does the response. Raises UsageError on a closed channel.
        """
        channel, handler = self._channel, self._handler
        if (
            channel.closed
            or handler is None
            or isinstance(handler, grpc.RpcMethodHandler)
            or len(payload) > channel.max_request_bytes
        ):
            begun: InProcessCall = self(payload, timeout=timeout, metadata=metadata)
            return begun
        context = InProcessContext(channel.receive(metadata), None if timeout is None else monotonic() + timeout)
        answer = handler(payload, context)
        if isinstance(answer, bytes) and len(answer) <= channel.max_response_bytes:
            if context.callbacks:
                context.finish()
            return answer, received(context.trailing) if context.made is None else context.made()
        call: InProcessCall = self._call(timeout)
        call.go_on(answer, context)
        return call
