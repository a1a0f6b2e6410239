"""The modelled Cosmos chains and the gateway's drivers on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aiohttp
import pytest
import pytest_asyncio

from devnet.cosmos.process import CosmosChains
from devnet.cosmos.world import CHAINS
from devnet.watchdog import Watchdog
from runtime.settings import Settings
from server.chains.registry import Chains
from server.upstream import open_session
from tests.operations import Operations
from tests.tallies import EndpointTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def model() -> AsyncIterator[CosmosChains]:
    chains = CosmosChains(list(CHAINS))
    with Watchdog() as guard:
        await chains.start(guard)
        yield chains
        await chains.stop()


def settings_of(model: CosmosChains) -> Settings:
    return Settings.model_validate(
        {
            "profile": "devnet",
            "chains": {
                slug: {"endpoints": [{"label": one.label, "url": one.url, "kind": one.kind} for one in endpoints]}
                for slug, endpoints in model.endpoints.items()
            },
        }
    )


@pytest.fixture
def tally() -> EndpointTally:
    return EndpointTally()


@pytest_asyncio.fixture(loop_scope="session")
async def chains(model: CosmosChains, tally: EndpointTally) -> AsyncIterator[Chains]:
    async with open_session() as http:
        loaded = Chains.load(settings_of(model), http, observer=tally)
        yield loaded
        await loaded.close()


@pytest.fixture
def driver(chains: Chains) -> Operations:
    return Operations(chains.get("cosmoshub"))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def plain() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session
