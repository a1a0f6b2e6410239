"""A real node behind a relay that counts, and the gateway on it with a cache whose time a test owns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import aiohttp
import pytest
import pytest_asyncio

from bench.relay import CountingRelay
from runtime.settings import Settings
from server.chains.registry import Chains
from server.upstream import open_session
from server.upstream.cache import Cache
from tests.e2e.gateway import run_gateway
from tests.operations import Operations
from tests.server.chains.evm.nodes import Anvil, build_world
from tests.server.upstream.cache.conftest import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.e2e.gateway import RunningGateway

# Anvil calls the block 64 below its head final.
FINAL_DEPTH = 64
BLOCK_TIME = 12.0


@dataclass
class Site:
    """One chain (ethereum) with everything around it."""

    node: Anvil
    relay: CountingRelay
    url: str
    clock: Clock
    cache: Cache
    driver: Operations

    async def asked(self) -> int:
        """Return how many requests reached the node since this was asked last."""
        count, self.relay.requests = self.relay.requests, 0
        return count


def settings_for(url: str, **more: object) -> Settings:
    return Settings.model_validate(
        {
            "profile": "devnet",
            "http": {"port": 0},
            "grpc": {"port": 0},
            "chains": {"ethereum": {"endpoints": [{"label": "local", "url": url}]}},
            **more,
        }
    )


@pytest.fixture
def clock() -> Clock:
    """The clock of a cache without nodes."""
    return Clock()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def node() -> AsyncIterator[Anvil]:
    async with aiohttp.ClientSession() as session:
        anvil = await Anvil.start(session, "--chain-id", "1", "--number", "20000000")
        await build_world(anvil)
        await anvil.call("anvil_mine", hex(2 * FINAL_DEPTH))
        yield anvil
        anvil.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def site(node: Anvil) -> AsyncIterator[Site]:
    relay = CountingRelay(node.url)
    url = await relay.start()
    clock = Clock()
    cache = Cache(1 << 22, clock=clock)
    async with open_session() as http:
        chains = Chains.load(settings_for(url), http, cache=cache)
        driver = Operations(chains.get("ethereum"))
        await driver.pool.call("eth_chainId", [])
        relay.requests = 0
        yield Site(node, relay, url, clock, cache, driver)  # type: ignore[arg-type]
        await chains.close()
    await relay.close()


@pytest_asyncio.fixture(loop_scope="session")
async def gateway(site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[RunningGateway]:
    """A gateway on the site's relay, whose cache lives by the site's clock."""
    site.cache = Cache(1 << 22, clock=site.clock)
    monkeypatch.setattr("server.app.open_cache", lambda _settings: site.cache)
    settings = settings_for(site.url, storage={"url": f"sqlite:///{tmp_path}/keys.db"})
    async with run_gateway(settings) as running:
        await running.ask("getBlockHeight", {"chain": "ethereum"})
        await site.asked()
        yield running
