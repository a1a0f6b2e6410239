"""A gateway over the local ethereum, behind a relay that counts, with a cache whose time a test owns."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest_asyncio
from web3 import AsyncHTTPProvider, AsyncWeb3

from bench.relay import CountingRelay
from devnet import known_nft
from devnet.install import installed
from runtime.settings import Settings
from server.upstream.cache import Cache
from tests.e2e.gateway import run_gateway
from tests.server.upstream.cache.conftest import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import pytest
    from web3.contract import AsyncContract

    from devnet.evm.node import Node
    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway

PRESETS = "node_modules/@openzeppelin/contracts/build/contracts"


@dataclass
class Site:
    """The gateway (`running`), the node and the relay between them, the cache's clock, the documents' base URL."""

    running: RunningGateway
    node: Node
    relay: CountingRelay
    clock: Clock
    documents: str

    async def asked(self) -> int:
        """Return how many requests reached the node since this was asked last."""
        count, self.relay.requests = self.relay.requests, 0
        return count

    async def head(self) -> int:
        """Return the node's newest block."""
        return int(await self.node.call("eth_blockNumber"), 16)

    async def answer(self, method: str, contract: str, **params: Any) -> dict[str, Any]:
        """Return the data of an answer."""
        found = await self.running.ask(method, {"chain": "ethereum", "contract": contract, **params})
        assert "error" not in found, found
        data: dict[str, Any] = found["result"]["data"]
        return data

    async def fresh(self, method: str, contract: str, **params: Any) -> tuple[dict[str, Any], str | None]:
        """Return an answer that is not out of the cache, and what the cache header says."""
        return await self.post(method, contract, {"Cache-Control": "no-cache"}, params)

    async def post(
        self, method: str, contract: str, headers: dict[str, str], params: dict[str, Any]
    ) -> tuple[dict[str, Any], str | None]:
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": {"chain": "ethereum", "contract": contract} | params,
        }
        response = await self.running.post(body, headers=headers)
        return (await response.json())["result"]["data"], response.headers.get("X-Waypost-Cache")

    async def refused(self, method: str, contract: str, **params: Any) -> dict[str, Any]:
        """Return the error of a refusal: code, message and data."""
        found = await self.running.ask(method, {"chain": "ethereum", "contract": contract, **params})
        assert "result" not in found, found
        error: dict[str, Any] = found["error"]
        return error


@pytest_asyncio.fixture(loop_scope="session")
async def site(devnet: Devnet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Site]:
    clock = Clock()
    monkeypatch.setattr("server.app.open_cache", lambda _settings: Cache(1 << 24, clock=clock))
    relay = CountingRelay(devnet.endpoints["ethereum"])
    url = await relay.start()
    overrides = devnet.settings_overrides()
    settings = Settings.model_validate(
        {
            "profile": "devnet",
            "fetcher": overrides["fetcher"] | {"timeout": 5},
            "nft": overrides["nft"],
            "chains": {
                "ethereum": {"endpoints": [{"label": "local", "url": url}]},
                "arbitrum": overrides["chains"]["arbitrum"],
            },
            "storage": {"url": f"sqlite:///{tmp_path}/keys.db"},
            "grpc": {"port": 0},
        }
    )
    async with run_gateway(settings) as running:
        await running.ask("getBlockHeight", {"chain": "ethereum"})
        relay.requests = 0
        yield Site(running, devnet.nodes["ethereum"], relay, clock, overrides["nft"]["ipfs_gateways"][0])
    await relay.close()


class Independent:
    """The published contracts read by web3 with their published ABIs."""

    def __init__(self, web3: AsyncWeb3[AsyncHTTPProvider]) -> None:
        self.lighthouses = self._contract(web3, "ERC721PresetMinterPauserAutoId", known_nft.LIGHTHOUSES)
        self.goods = self._contract(web3, "ERC1155PresetMinterPauser", known_nft.GOODS)

    def _contract(self, web3: AsyncWeb3[AsyncHTTPProvider], preset: str, address: str) -> AsyncContract:
        abi = json.loads((installed() / PRESETS / f"{preset}.json").read_text())["abi"]
        return web3.eth.contract(address, abi=abi)  # type: ignore[call-overload,no-any-return]


@pytest_asyncio.fixture(loop_scope="session")
async def web3(devnet: Devnet) -> AsyncIterator[Independent]:
    provider = AsyncHTTPProvider(devnet.endpoints["ethereum"])
    yield Independent(AsyncWeb3(provider))
    await provider.disconnect()
