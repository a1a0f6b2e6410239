"""Catalogues, and a gateway over all 16 local EVM chains, asked over both faces; web3's own contracts as the judge."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from google.protobuf.descriptor import FieldDescriptor
from web3 import AsyncWeb3
from web3.providers.async_base import AsyncJSONBaseProvider

from runtime.operations import LATEST_BLOCK, load_operations
from runtime.settings import load_settings
from server.chains.facts import load_facts
from server.marketplace.folders import load_catalogue
from tests.e2e.gateway import RunningGateway, run_gateway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.evm.node import Node
    from devnet.launcher import Devnet
    from server.marketplace.catalogue import Catalogue, PublishedMethod

APPS = Path(__file__).parents[2] / "apps"
OPERATION = next(operation for operation in load_operations() if operation.name == "svc_*")
CHAINS = ("arbitrum", "avalanche", "base", "bsc", "ethereum", "polygon")
METHODS: dict[str, PublishedMethod] = dict(load_catalogue(CHAINS).methods)


class NodeProvider(AsyncJSONBaseProvider):
    """web3's way to a local node."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._node = node

    async def make_request(self, method: Any, params: Any) -> Any:
        return {"jsonrpc": "2.0", "id": 1, "result": await self._node.call(method, *params)}


@dataclass(frozen=True)
class Marketplace:
    """Calls published methods."""

    gateway: RunningGateway
    devnet: Devnet

    async def call(self, name: str, **params: Any) -> dict[str, Any]:
        """Return `data` of the answer; both faces are asked and have to say the same."""
        answer = await self.gateway.ask(name, {key.rstrip("_"): value for key, value in params.items()})
        assert "error" not in answer, answer
        data: dict[str, Any] = answer["result"]["data"]
        message: Any = await self.gateway.ask_grpc(OPERATION, request(name, **params))
        outcome = getattr(message, message.WhichOneof("outcome"))
        assert (message.chain, message.address, message.method) == (data["chain"], data["address"], name)
        if "outputs" in data:
            assert json.loads(outcome.outputs.json) == data["outputs"]
        else:
            assert [json.loads(log.args.json) for log in outcome.logs] == [log["args"] for log in data["logs"]]
        return data

    async def refused(self, name: str, **params: Any) -> dict[str, Any]:
        """Return the error of a call that must fail."""
        answer = await self.gateway.ask(name, {key.rstrip("_"): value for key, value in params.items()})
        assert "error" in answer, answer
        error: dict[str, Any] = answer["error"]
        return error

    def contract(self, chain: str, address: str, items: list[Any]) -> Any:
        """Return web3's contract object on the chain's own node."""
        return AsyncWeb3(NodeProvider(self.devnet.nodes[chain])).eth.contract(address=address, abi=items)


def request(name: str, **params: Any) -> Any:
    """Return the same call as a message."""
    members = {key.rstrip("_"): value for key, value in params.items()}
    args = members.pop("args", None)
    message = OPERATION.request(method=name)
    for key, value in members.items():
        field = next(one for one in OPERATION.request.DESCRIPTOR.fields if one.json_name == key)
        is_number = field.cpp_type == FieldDescriptor.CPPTYPE_INT64
        number = LATEST_BLOCK if value == "latest" else value
        setattr(message, field.name, int(number) if is_number else str(value))
    if args is not None:
        message.args.json = json.dumps(args)  # type: ignore[attr-defined]
    return message


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def marketplace(full_devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Marketplace]:
    folder: Path = tmp_path_factory.mktemp("marketplace")
    overrides = full_devnet.settings_overrides() | {
        "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1"},
    }
    async with run_gateway(load_settings(environ={}, overrides=overrides)) as running:
        yield Marketplace(running, full_devnet)


@pytest.fixture(scope="session")
def evm_chains() -> list[str]:
    return [slug for slug, facts in load_facts().items() if facts.family == "evm"]


@pytest.fixture(scope="session")
def catalogue(evm_chains: list[str]) -> Catalogue:
    return load_catalogue(evm_chains)


@pytest.fixture(scope="session")
def odd_catalogue(evm_chains: list[str]) -> Catalogue:
    """The built-in apps with those of tests/apps/good."""
    return load_catalogue(evm_chains, APPS / "good")
