"""The real application on a loopback socket, over a real grpc.aio server with servicers that the tests script."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
from aiohttp import web
from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from waypost_internal.v1 import access_pb2, publication_pb2

from runtime.operations import load_operations, load_watches
from transcoder.app import create_app
from transcoder.serving import Runner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from google.protobuf.message import Message

    from transcoder.console_files import ConsoleFiles

    Script = Callable[[Message, Any], Awaitable[Message]]

KEY = "wp_good"
ACCESS = "waypost_internal.v1.AccessService"
PUBLICATION = "waypost_internal.v1.PublicationService"


@dataclass
class Options:
    """Settings of the face, as `runtime.settings.HttpSettings` names them."""

    trusted_proxies: tuple[str, ...] = ()
    max_body_bytes: int = 1 << 20
    cors_origins: tuple[str, ...] = ()
    max_in_flight: int = 2000
    max_connections: int = 10_000
    max_connections_per_client: int = 1024
    max_sockets: int = 10_000
    body_timeout: float = 30.0
    min_transfer_rate: int = 1024


@dataclass
class Server:
    """What the scripted server does, and what it was asked."""

    scripts: dict[str, Script] = field(default_factory=dict)
    streams: dict[str, Callable[[Any, Any], AsyncIterator[Message]]] = field(default_factory=dict)
    asked: list[tuple[str, Message, dict[str, Any]]] = field(default_factory=list)
    admits: list[access_pb2.AdmitRequest] = field(default_factory=list)
    looks: list[access_pb2.AdmitRequest] = field(default_factory=list)
    admitted: int | None = None
    limit: int = 0
    retry_after_ms: int = 0
    documented: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=lambda: {KEY})
    holders: dict[str, str] = field(default_factory=dict)
    ready: bool = True
    chains: dict[str, str] = field(default_factory=dict)
    published: publication_pb2.ListPublicationsResponse | None = field(
        default_factory=publication_pb2.ListPublicationsResponse
    )

    def reset(self) -> None:
        self.__init__()  # type: ignore[misc]

    async def admit(self, request: access_pb2.AdmitRequest, context: Any) -> access_pb2.AdmitResponse:
        if request.items:
            self.admits.append(request)
            self.asked.append(("Admit", request, dict(context.invocation_metadata())))
        else:
            self.looks.append(request)
        if not request.demo and request.api_key not in self.keys:
            await refuse(context, grpc.StatusCode.UNAUTHENTICATED, "KEY_INVALID", "no such API key")
        admitted = request.items if self.admitted is None else min(self.admitted, request.items)
        return access_pb2.AdmitResponse(
            principal="key:1",
            admitted=admitted,
            policy="default",
            limit=self.limit,
            remaining=0 if self.admitted == 0 else 3,
            window_seconds=1,
            retry_after_ms=self.retry_after_ms,
            reset_seconds=2,
            holder=self.holders.get(request.api_key, ""),
        )

    async def ticket(self, request: access_pb2.IssueTicketRequest, context: Any) -> access_pb2.IssueTicketResponse:
        self.asked.append(("IssueTicket", request, dict(context.invocation_metadata())))
        if request.api_key == "local":
            await refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "use this one as it is")
        if request.api_key not in self.keys:
            await refuse(context, grpc.StatusCode.UNAUTHENTICATED, "KEY_INVALID", "no such API key")
        if self.admitted == 0:
            wait = self.retry_after_ms
            await refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED", "too many", retry_after_ms=wait)
        return access_pb2.IssueTicketResponse(ticket="wt_" + "t" * 43, expires_in=900)

    async def readiness(self, request: access_pb2.GetReadinessRequest, _: Any) -> access_pb2.GetReadinessResponse:
        return access_pb2.GetReadinessResponse(ready=self.ready, chains=self.chains)

    async def _admit_call(self, metadata: dict[str, Any], context: Any) -> None:
        """Admit one call by the key it carries, as the server's admission stage does."""
        if metadata.get("x-api-key") not in self.keys:
            await refuse(context, grpc.StatusCode.UNAUTHENTICATED, "KEY_INVALID", "no such API key")
        left = 0 if self.admitted == 0 else 3
        quota = (("ratelimit", f'"default";r={left};t=2'), ("ratelimit-policy", f'"default";q={self.limit};w=1'))
        if self.limit:
            context.set_trailing_metadata(quota)
        if self.admitted == 0:
            status, wait = grpc.StatusCode.RESOURCE_EXHAUSTED, self.retry_after_ms
            await refuse(context, status, "RATE_LIMITED", "too many", retry_after_ms=wait, trailing=quota)

    async def publications(self, _: Message, context: Any) -> publication_pb2.ListPublicationsResponse:
        self.documented.append(dict(context.invocation_metadata()))
        if self.published is None:
            await refuse(context, grpc.StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE", "the server is stopping")
        assert self.published is not None
        return self.published

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        services: dict[str, dict[str, Any]] = {
            ACCESS: {
                "Admit": _handler(self.admit, access_pb2.AdmitRequest),
                "IssueTicket": _handler(self.ticket, access_pb2.IssueTicketRequest),
                "GetReadiness": _handler(self.readiness, access_pb2.GetReadinessRequest),
            },
            PUBLICATION: {
                "ListPublications": _handler(self.publications, publication_pb2.ListPublicationsRequest),
            },
        }
        for operation in load_operations():
            service, _, name = operation.path.strip("/").partition("/")
            services.setdefault(service, {})[name] = _handler(self._answer(operation), operation.request)
        for watch in load_watches():
            service, _, name = watch.path.strip("/").partition("/")
            services.setdefault(service, {})[name] = grpc.unary_stream_rpc_method_handler(
                self._stream(watch),
                request_deserializer=watch.request.FromString,
                response_serializer=lambda message: message.SerializeToString(),
            )
        return [grpc.method_handlers_generic_handler(name, methods) for name, methods in services.items()]

    def _answer(self, operation: Any) -> Script:
        async def answer(request: Message, context: Any) -> Message:
            metadata = dict(context.invocation_metadata())
            self.asked.append((operation.name, request, metadata))
            if "x-waypost-principal" not in metadata:
                await self._admit_call(metadata, context)
            script = self.scripts.get(operation.name)
            if script is not None:
                return await script(request, context)
            response: Message = operation.response()
            return response

        return answer

    def _stream(self, watch: Any) -> Any:
        async def stream(request: Message, context: Any) -> AsyncIterator[Message]:
            metadata = dict(context.invocation_metadata())
            self.asked.append((watch.name, request, metadata))
            if "x-waypost-principal" not in metadata:
                await self._admit_call(metadata, context)
            async for event in self.streams[watch.name](request, context):
                yield event

        return stream


def _handler(function: Any, request: Any) -> Any:
    return grpc.unary_unary_rpc_method_handler(
        function,
        request_deserializer=request.FromString,
        response_serializer=lambda message: message.SerializeToString(),
    )


async def refuse(
    context: Any,
    status: grpc.StatusCode,
    reason: str,
    message: str,
    *,
    field: str | None = None,
    retry_after_ms: int | None = None,
    trailing: tuple[tuple[str, str], ...] = (),
) -> None:
    """End a call as Waypost's server does: with ErrorInfo and the details that apply."""
    details: list[Any] = [ErrorInfo(reason=reason, domain="waypost")]
    if field is not None:
        details.append(BadRequest(field_violations=[BadRequest.FieldViolation(field=field, description=message)]))
    if retry_after_ms is not None:
        details.append(RetryInfo(retry_delay=Duration(nanos=retry_after_ms * 1_000_000)))
    packed = []
    for detail in details:
        packed.append(Packed())
        packed[-1].Pack(detail)
    rich = Status(code=status.value[0], message=message, details=packed)
    await context.abort(status, message, (*trailing, ("grpc-status-details-bin", rich.SerializeToString())))


@dataclass
class Face:
    """The application on its socket."""

    base: str
    session: aiohttp.ClientSession
    server: Server
    channel: grpc.aio.Channel
    runner: Runner

    def open_connections(self) -> int:
        assert self.runner.server is not None
        return len(self.runner.server.connections)

    async def post(
        self, body: Any, path: str = f"/{KEY}/v1", headers: dict[str, str] | None = None
    ) -> tuple[int, Any, Any]:
        """Return status, parsed body (None when empty) and headers."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with self.session.post(self.base + path, data=data, headers=headers) as response:
            text = await response.read()
            return response.status, json.loads(text) if text else None, response.headers

    async def call(self, method: str, params: Any = None, **more: Any) -> Any:
        """Return the response object of one request."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, **more}
        if params is not None:
            request["params"] = params
        return (await self.post(request))[1]


@asynccontextmanager
async def serving(
    options: Options, server: Server, credential: str | None = None, console: ConsoleFiles | None = None
) -> AsyncIterator[Face]:
    grpc_server = grpc.aio.server()
    grpc_server.add_generic_rpc_handlers(server.handlers())
    port = grpc_server.add_insecure_port("127.0.0.1:0")
    await grpc_server.start()
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
    app = create_app(channel, options, credential=credential, console=console)  # type: ignore[arg-type]  # the same attributes
    runner = Runner(app, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with aiohttp.ClientSession() as session:
            yield Face(f"http://127.0.0.1:{runner.addresses[0][1]}", session, server, channel, runner)
    finally:
        await runner.cleanup()
        await channel.close()
        await grpc_server.stop(None)
        await asyncio.sleep(0)
