"""The client for programs without an event loop."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from waypost.generated.reasons import RateLimited
from waypost.generated.services import Services
from waypost.grpc_transport import GrpcTransport
from waypost.methods import Answer, Method, StreamMethod, message_of
from waypost.target import parse_target
from waypost.watches import Position, Watch

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Protocol, Self

    import grpc
    from google.protobuf.message import Message
    from waypost.errors import WaypostError
    from waypost.target import Target, Transport
    from waypost.watches import Events

    class SyncTransport(Protocol):
        """What takes calls to a gateway."""

        def call(self, method: Method[Answer], request: Message, timeout: float) -> Answer:
            """Return the answer; raises WaypostError."""
            ...

        def batch(self, requests: list[Message], timeout: float) -> list[Message | WaypostError]:
            """Return what each request came to; raises WaypostError."""
            ...

        def stream(self, method: StreamMethod[Answer], request: Message) -> Events[Answer]:
            """Return the events of a stream that begins."""
            ...

        def close(self) -> None:
            """Close the connections."""
            ...


class Waypost(Services):
    """A gateway, and its services by name: `Waypost("localhost:50051", key="...").accounts.get_balance(...)`.

    Methods return the messages of `waypost.v1` and raise `WaypostError`. Safe to use from several threads.
    """

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
        channel: grpc.Channel | None = None,
    ) -> None:
        """Prepare a client; the gateway is reached by the first call.

        Args:
            address: `host:port` for gRPC, or a URL `https://host/KEY/v1` for JSON-RPC, where gRPC cannot pass.
            key: The API key. It is not sent in the clear to another machine unless `tls=False` says so.
            transport: "grpc" or "jsonrpc", where the address does not say it.
            tls: Whether to encrypt; by default everything but what is on this machine.
            roots: Certificates (PEM) to trust instead of the usual ones.
            timeout: Seconds for each call; by default what its operation is given.
            quota_wait: Seconds that a call refused by the quota may wait in all until it is repeated; 0 raises at once.
            channel: A channel of the caller's own (interceptors, other credentials) to use for gRPC.
        """
        super().__init__(self._ask, self._watch)
        self._timeout, self._quota_wait = timeout, quota_wait
        self._watches: WeakSet[Watch[Any]] = WeakSet()
        self._transport = _open(parse_target(address, key, transport, tls, roots), channel)

    def _ask(self, method: Method[Answer], fields: dict[str, Any], timeout: float | None) -> Answer:
        request = message_of(method.request, fields)
        patience = self._quota_wait
        while True:
            try:
                return self._transport.call(method, request, timeout or self._timeout or method.timeout)
            except RateLimited as refused:
                if refused.retry_after is None or refused.retry_after > patience:
                    raise
                patience -= refused.retry_after
                time.sleep(refused.retry_after)

    def _watch(self, method: StreamMethod[Answer], fields: dict[str, Any], patience: float | None) -> Watch[Answer]:
        position = Position(message_of(method.request, fields), self._quota_wait, patience)
        watch = Watch(partial(self._transport.stream, method), position)
        self._watches.add(watch)
        return watch

    def execute(self, requests: Iterable[Message], *, timeout: float | None = None) -> list[Message | WaypostError]:
        """Return what each request of a batch came to, in their order: the answer, or the failure of that one.

        `requests` are the request messages of any operations, at most 200 (50 over JSON-RPC). Raises WaypostError
        where the batch as a whole fails.
        """
        return self._transport.batch(list(requests), timeout or self._timeout or 30.0)

    def close(self) -> None:
        """Close the connections; streams end."""
        for watch in tuple(self._watches):
            watch.close()
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open(target: Target, channel: grpc.Channel | None) -> SyncTransport:
    if target.transport == "grpc":
        return GrpcTransport(target, channel)
    from waypost.jsonrpc import JsonRpcTransport

    return JsonRpcTransport(target)
