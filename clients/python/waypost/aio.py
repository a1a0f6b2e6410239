"""The client for programs with an event loop."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from waypost.generated.async_services import AsyncServices
from waypost.generated.reasons import RateLimited
from waypost.grpc_transport import AsyncGrpcTransport
from waypost.methods import Answer, Method, StreamMethod, message_of
from waypost.target import parse_target
from waypost.watches import AsyncWatch, Position

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Protocol, Self

    import grpc
    from google.protobuf.message import Message
    from waypost.errors import WaypostError
    from waypost.target import Target, Transport
    from waypost.watches import AsyncEvents

    class AsyncTransport(Protocol):
        """What takes calls to a gateway."""

        async def call(self, method: Method[Answer], request: Message, timeout: float) -> Answer:
            """Return the answer; raises WaypostError."""
            ...

        async def batch(self, requests: list[Message], timeout: float) -> list[Message | WaypostError]:
            """Return what each request came to; raises WaypostError."""
            ...

        def stream(self, method: StreamMethod[Answer], request: Message) -> AsyncEvents[Answer]:
            """Return the events of a stream that begins."""
            ...

        async def close(self) -> None:
            """Close the connections."""
            ...


class AsyncWaypost(AsyncServices):
    """A gateway as `Waypost` is, for one event loop: methods are awaited, iterators are asynchronous."""

    def __init__(
        self,
        address: str,
        key: str | None = None,
        *,
        transport: Transport | None = None,
        tls: bool | None = None,
        roots: bytes | None = None,
        timeout: float | None = None,
        quota_wait: float = 0.0,
        channel: grpc.aio.Channel | None = None,
    ) -> None:
        """Prepare a client; the arguments are those of `Waypost`."""
        super().__init__(self._ask, self._watch)
        self._timeout, self._quota_wait = timeout, quota_wait
        self._watches: WeakSet[AsyncWatch[Any]] = WeakSet()
        self._transport = _open(parse_target(address, key, transport, tls, roots), channel)

    async def _ask(self, method: Method[Answer], fields: dict[str, Any], timeout: float | None) -> Answer:
        request = message_of(method.request, fields)
        patience = self._quota_wait
        while True:
            try:
                return await self._transport.call(method, request, timeout or self._timeout or method.timeout)
            except RateLimited as refused:
                if refused.retry_after is None or refused.retry_after > patience:
                    raise
                patience -= refused.retry_after
                await asyncio.sleep(refused.retry_after)

    def _watch(
        self, method: StreamMethod[Answer], fields: dict[str, Any], patience: float | None
    ) -> AsyncWatch[Answer]:
        position = Position(message_of(method.request, fields), self._quota_wait, patience)
        watch = AsyncWatch(partial(self._transport.stream, method), position)
        self._watches.add(watch)
        return watch

    async def execute(
        self, requests: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message | WaypostError]:
        """Return what each request of a batch came to; see `Waypost.execute`."""
        return await self._transport.batch(list(requests), timeout or self._timeout or 30.0)

    async def close(self) -> None:
        """Close the connections; streams end."""
        for watch in tuple(self._watches):
            await watch.aclose()
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _open(target: Target, channel: grpc.aio.Channel | None) -> AsyncTransport:
    if target.transport == "grpc":
        return AsyncGrpcTransport(target, channel)
    from waypost.jsonrpc import AsyncJsonRpcTransport

    return AsyncJsonRpcTransport(target)
