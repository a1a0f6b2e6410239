"""The channel: looks up handlers, serialises requests, and ends with its calls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc

from server.inprocess.call import InProcessCall
from server.inprocess.metadata import received

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

MAX_REQUEST_BYTES = 4 * 1024 * 1024
MAX_RESPONSE_BYTES = 64 * 1024 * 1024
_UNARY_ONLY = "the in-process channel carries unary calls only; streams (health Watch, reflection) need a socket"


class InProcessChannel(grpc.aio.Channel):  # type: ignore[misc]  # grpc has no types
    """A channel onto `handlers`, by path (`/waypost.v1.AccountService/GetBalance`), within one event loop.

    Handlers are coroutine functions. `max_request_bytes` and `max_response_bytes` bound messages as a listener does; a
    larger one ends the call as RESOURCE_EXHAUSTED.
    """

    def __init__(
        self,
        handlers: Mapping[str, grpc.RpcMethodHandler[Any, Any]],
        *,
        max_request_bytes: int = MAX_REQUEST_BYTES,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self._handlers = handlers
        self._max_request_bytes = max_request_bytes
        self._max_response_bytes = max_response_bytes
        self._tasks: dict[asyncio.Task[None], InProcessCall] = {}
        self._closed = False

    def unary_unary(
        self,
        method: str,
        request_serializer: Callable[[Any], bytes] | None = None,
        response_deserializer: Callable[[bytes], Any] | None = None,
        _registered_method: bool | None = False,
    ) -> InProcessMethod:
        """Return the callable of a method; one that does not exist answers UNIMPLEMENTED when called."""
        return InProcessMethod(self, self._handlers.get(method), request_serializer, response_deserializer)

    def unary_stream(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: streams need a socket."""
        raise grpc.aio.UsageError(_UNARY_ONLY)

    def stream_unary(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: streams need a socket."""
        raise grpc.aio.UsageError(_UNARY_ONLY)

    def stream_stream(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: streams need a socket."""
        raise grpc.aio.UsageError(_UNARY_ONLY)

    async def close(self, grace: float | None = None) -> None:
        """Take no more calls, let those in flight finish for `grace` seconds, then cancel the rest."""
        self._closed = True
        if self._tasks and grace:
            await asyncio.wait(tuple(self._tasks), timeout=grace)
        for call in tuple(self._tasks.values()):
            call.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

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
        return grpc.ChannelConnectivity.SHUTDOWN if self._closed else grpc.ChannelConnectivity.READY

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Return once the state differs; only closing changes it, so waiting on READY raises UsageError."""
        if self.get_state() is last_observed_state:
            raise grpc.aio.UsageError("the in-process channel is always ready: there is no change to wait for")

    async def channel_ready(self) -> None:
        """Return at once."""

    def open(
        self,
        handler: grpc.RpcMethodHandler[Any, Any] | None,
        request: bytes,
        metadata: Any,
        timeout: float | None,
        parse: Callable[[bytes], Any] | None,
    ) -> InProcessCall:
        """Start one call of a handler."""
        if self._closed:
            raise grpc.aio.UsageError("Channel is closed.")
        call = InProcessCall(asyncio.get_running_loop(), parse, timeout, self._max_response_bytes)
        try:
            entries = received(metadata)
        except (TypeError, ValueError) as error:
            call.fail(error)
            return call
        if handler is None:
            call.settle(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")
        elif len(request) > self._max_request_bytes:
            text = f"SERVER: Received message larger than max ({len(request)} vs. {self._max_request_bytes})"
            call.settle(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
        elif timeout is not None and timeout <= 0:
            call.settle(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")
        else:
            task = call.start(handler, request, entries)
            self._tasks[task] = call
            task.add_done_callback(self._forget)
        return call

    def _forget(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]


class InProcessMethod(grpc.aio.UnaryUnaryMultiCallable[Any, Any]):  # type: ignore[misc]  # grpc has no types
    """One method of the channel, ready to be called with request messages."""

    __slots__ = ("_channel", "_handler", "_parse", "_serialise")

    def __init__(
        self,
        channel: InProcessChannel,
        handler: grpc.RpcMethodHandler[Any, Any] | None,
        serialise: Callable[[Any], bytes] | None,
        parse: Callable[[bytes], Any] | None,
    ) -> None:
        self._channel = channel
        self._handler = handler
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
    ) -> InProcessCall:
        """Start a call with the request as it is now; later changes to it are not seen by the servicer.

        Raises TypeError for a request that the serialiser refuses, UsageError on a closed channel.
        """
        payload = self._serialise(request) if self._serialise else request
        if not isinstance(payload, bytes):
            raise TypeError(f"the serialiser yields bytes, not {type(payload).__name__}")
        return self._channel.open(self._handler, payload, metadata, timeout, self._parse)
