"""Gateways over all local chains: one asked over gRPC, and one with both faces; and one over no chain at all."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc
import pytest
import pytest_asyncio
from google.protobuf.json_format import ParseDict
from google.rpc import error_details_pb2, status_pb2

from runtime.operations import load_operations
from runtime.settings import Settings, load_settings
from server.app import Gateway
from tests.e2e.gateway import RunningGateway, run_gateway, run_gateway_on
from tests.rewinding import rewound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from google.protobuf.message import Message

    from devnet.evm.node import Node
    from devnet.launcher import Devnet

OPERATIONS = {operation.name: operation for operation in load_operations()}


@dataclass(frozen=True)
class Refusal:
    """A failed call: gRPC status, stable reason, offending field, message."""

    status: grpc.StatusCode
    reason: str
    field: str
    message: str
    metadata: dict[str, str]


class Client:
    """Asks operations by their JSON-RPC names over gRPC."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel

    async def ask(self, name: str, **fields: Any) -> Any:
        """Return the response message; fields are the request's JSON names."""
        operation = OPERATIONS[name]
        request: Message = ParseDict(fields, operation.request())
        call = self._channel.unary_unary(
            operation.path,
            request_serializer=operation.request.SerializeToString,
            response_deserializer=operation.response.FromString,
        )
        return await call(request, metadata=(("x-api-key", "local"),), timeout=30)

    async def refused(self, name: str, **fields: Any) -> Refusal:
        """Return why the call is refused; it must be."""
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await self.ask(name, **fields)
        details = dict(caught.value.trailing_metadata() or ())
        status = status_pb2.Status.FromString(details["grpc-status-details-bin"])
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        for detail in status.details:
            detail.Unpack(info)
            detail.Unpack(bad)
        field = bad.field_violations[0].field if bad.field_violations else ""
        return Refusal(caught.value.code(), info.reason, field, status.message, dict(info.metadata))


@asynccontextmanager
async def unchanged(devnet: Devnet, slug: str) -> AsyncIterator[Node]:
    """The node of a chain of the shared devnet, set back to what it was at the end."""
    async with rewound(devnet.nodes[slug]) as node:
        yield node


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def client(full_devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    folder: Path = tmp_path_factory.mktemp("gateway")
    settings = Settings.model_validate(
        full_devnet.settings_overrides() | {"storage": {"url": f"sqlite:///{folder}/keys.db"}, "grpc": {"port": 0}}
    )
    gateway = await Gateway.create(settings)
    port = await gateway.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield Client(channel)
    await gateway.drain(0)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def faces(full_devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    """Both faces of a gateway over every local chain; starknet has no endpoint."""
    overrides = full_devnet.settings_overrides() | {
        "storage": {"url": f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('faces') / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1", "port": 0},
        # Lines of the pages ask as the demo, from one address.
        "quotas": {"demo_burst": 100},
    }
    async with run_gateway(load_settings(environ={}, overrides=overrides)) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def bare(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    """Both faces of a gateway over chains and sources without endpoints, where whatever passes its checks fails."""
    async with run_gateway_on({}, tmp_path_factory.mktemp("bare")) as running:
        yield running
