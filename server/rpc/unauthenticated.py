"""What needs no key: grpc.health.v1, and the bounds within which it and server reflection are served.

gRPC has one limit of message size for a whole server, and these messages are tiny: of what may come at once, a few
messages are read at a time, each within seconds, and those beyond a few kilobytes are refused. The rest of the open
calls costs no more than its headers. One client has a part of the room, so that it takes no other client's.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2, health_pb2_grpc

from runtime.listening import client_network
from runtime.metrics import count_refusal
from server.errors import BodyTooLarge, DeadlineExceeded, GatewayError, InvalidArgument, UpstreamUnavailable
from server.rpc.pipeline.boundary import state_starter
from server.rpc.pipeline.call import Method
from server.rpc.pipeline.errors import answer_failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from server.rpc.pipeline.call import Context


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much callers without a key may have at once, in all and per client address (an IPv6 client by its /64).

    `calls` are open calls; `reads` messages being read, which others wait for; `message_bytes` is the longest message,
    `read_seconds` how long one may take to come, the wait for its turn included.
    """

    calls: int = 1024
    calls_per_client: int = 256
    reads: int = 16
    reads_per_client: int = 4
    message_bytes: int = 4096
    read_seconds: float = 10.0


class Unauthenticated:
    """Wraps handlers of methods that need no key; all share the bounds."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self._bounds = bounds or Bounds()
        self._open: Counter[str] = Counter()
        self._reads = asyncio.Semaphore(self._bounds.reads)
        self._reads_by_client: dict[str, asyncio.Semaphore] = {}

    def bound(self, path: str, handler: grpc.RpcMethodHandler[Any, Any]) -> grpc.RpcMethodHandler[Any, Any]:
        """Return the handler within the bounds: beyond them UNAVAILABLE, or INVALID_ARGUMENT for a long message.

        It takes the messages of a stream also where the method has but one: only so is it known when one is read.
        """
        start = state_starter(Method(path, handler, None), None)
        name = path.rpartition("/")[2]

        async def refuse(context: Context, failure: GatewayError) -> None:
            count_refusal("grpc", failure.reason)
            await answer_failure(name, start(context.invocation_metadata(), False), context, failure)

        async def answer(_: Any, context: Context) -> Any:
            try:
                client = client_of(context.peer())
                with self.open_call(client):
                    message = await self.read_only(context, client)
                    return await handler.unary_unary(_parse(handler, message), context)
            except GatewayError as failure:
                await refuse(context, failure)

        async def stream(_: Any, context: Context) -> AsyncIterator[Any]:
            try:
                client = client_of(context.peer())
                with self.open_call(client):
                    if handler.request_streaming:
                        answers = handler.stream_stream(self._messages(handler, context, client), context)
                    else:
                        message = await self.read_only(context, client)
                        answers = handler.unary_stream(_parse(handler, message), context)
                    async for message in answers:
                        yield message
            except GatewayError as failure:
                await refuse(context, failure)

        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(stream, None, handler.response_serializer)
        return grpc.stream_unary_rpc_method_handler(answer, None, handler.response_serializer)

    @contextmanager
    def open_call(self, client: str) -> Iterator[None]:
        """Count a call of the client as open. Raises UpstreamUnavailable where there are too many."""
        if self._open[client] >= self._bounds.calls_per_client or self._open.total() >= self._bounds.calls:
            raise UpstreamUnavailable(
                "too many calls without a key are open; end some, or try again shortly", retry_after_ms=1000
            )
        self._open[client] += 1
        try:
            yield
        finally:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]
                self._reads_by_client.pop(client, None)

    async def read(self, context: Context, client: str) -> bytes | None:
        """Return the next message of an open call as it came, None at the end of them.

        Raises DeadlineExceeded for one that does not come in time, BodyTooLarge for a long one.
        """
        bounds = self._bounds
        turn = self._reads_by_client.setdefault(client, asyncio.Semaphore(bounds.reads_per_client))
        try:
            async with asyncio.timeout(bounds.read_seconds), turn, self._reads:
                raw = await context.read()
        except TimeoutError:
            raise DeadlineExceeded(
                f"no message came within {bounds.read_seconds:g} s; open a call when there is something to ask",
                retry_after_ms=1000,
            ) from None
        if raw is grpc.aio.EOF:
            return None
        message: bytes = raw
        if len(message) > bounds.message_bytes:
            raise BodyTooLarge(f"the message has {len(message)} bytes; here it may have {bounds.message_bytes}")
        return message

    async def read_only(self, context: Context, client: str) -> bytes:
        """Return the one message of a call, as `read` does. Raises InvalidArgument where there is none."""
        message = await self.read(context, client)
        if message is None:
            raise InvalidArgument("the call holds no message")
        return message

    async def _messages(
        self, handler: grpc.RpcMethodHandler[Any, Any], context: Context, client: str
    ) -> AsyncIterator[Any]:
        while (message := await self.read(context, client)) is not None:
            yield _parse(handler, message)


def _parse(handler: grpc.RpcMethodHandler[Any, Any], message: bytes) -> Any:
    try:
        return handler.request_deserializer(message)
    except DecodeError:
        raise InvalidArgument("the message is not of this method; is the client of another version?") from None


def address_of(peer: str) -> str:
    """Return the address in gRPC's name of a peer: `192.0.2.1` of `ipv4:192.0.2.1:5000`, empty for a Unix socket."""
    host = unquote(peer).partition(":")[2].rpartition(":")[0]
    # An interface (`fe80::1%eth0`) is no part of a network's address.
    return host.strip("[]").partition("%")[0]


def client_of(peer: str) -> str:
    """Return the client's address of gRPC's name of a peer, an IPv6 one as its /64 network."""
    return client_network(address_of(peer))


SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
_UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


class HealthServicer(health_pb2_grpc.HealthServicer):  # type: ignore[misc]  # grpc has no types
    """grpc.health.v1: every service NOT_SERVING until `open`, all again, and for good, from `drain` on.

    The library's own servicer drops all watchers of a service when one leaves, and keeps a stopping server waiting for
    watchers; this one ends them once they have read NOT_SERVING.
    """

    def __init__(self, services: Iterable[str]) -> None:
        self._states = dict.fromkeys(("", *services), NOT_SERVING)
        self._changed = asyncio.Event()
        self._draining = False

    def replace(self, services: Iterable[str]) -> None:
        """Report on these services from now on, each in the state of the gateway as a whole."""
        self._states = dict.fromkeys(("", *services), self._states[""])
        self._notify()

    def open(self) -> None:
        """Report every service as SERVING."""
        self._set(SERVING)

    def drain(self) -> None:
        """Report every service as NOT_SERVING and end the watchers."""
        self._draining = True
        self._set(NOT_SERVING)

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Context) -> health_pb2.HealthCheckResponse:
        """Return the state of a service; NOT_FOUND for one that is not here, as the protocol has it."""
        state = self._states.get(request.service)
        if state is None:
            context.set_code(grpc.StatusCode.NOT_FOUND)
            context.set_details("no such service here")
            return health_pb2.HealthCheckResponse()
        return health_pb2.HealthCheckResponse(status=state)

    async def Watch(
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """Yield the state of a service now and at every change, until the server drains."""
        reported = None
        while True:
            changed = self._changed
            state = self._states.get(request.service, _UNKNOWN)
            if state != reported:
                # The server may begin to drain before this has been written: look again before leaving.
                reported = state
                yield health_pb2.HealthCheckResponse(status=state)
            elif self._draining:
                return
            else:
                await changed.wait()

    def _set(self, state: health_pb2.HealthCheckResponse.ServingStatus) -> None:
        for service in self._states:
            self._states[service] = state
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
