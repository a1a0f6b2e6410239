"""A local Bitcoin chain, the gateway's driver on it, and a tally of what it sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import aiohttp
import pytest
import pytest_asyncio

from devnet.launcher import Devnet
from runtime.settings import Settings
from server.chains.registry import Chains
from server.upstream import open_session
from tests.operations import Operations
from tests.tallies import EndpointTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.bitcoin.node import BitcoinNode
    from server.upstream.cache import Cache


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def node() -> AsyncIterator[BitcoinNode]:
    """The node as it is seeded: nobody mines on it."""
    async with Devnet.start(["bitcoin"], mines=False) as devnet:
        yield devnet.others[0]  # type: ignore[misc]


@pytest_asyncio.fixture(loop_scope="session")
async def moving() -> AsyncIterator[BitcoinNode]:
    """A node of the test's own, to mine on."""
    async with Devnet.start(["bitcoin"], mines=False) as devnet:
        yield devnet.others[0]  # type: ignore[misc]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as plain:
        yield plain


@pytest.fixture
def tally() -> EndpointTally:
    return EndpointTally()


def open_chains(
    http: aiohttp.ClientSession, tally: EndpointTally, endpoints: list[dict[str, str]], cache: Cache | None = None
) -> Chains:
    """Return the gateway's chains with these endpoints for Bitcoin."""
    settings = Settings.model_validate({"profile": "devnet", "chains": {"bitcoin": {"endpoints": endpoints}}})
    return Chains.load(settings, http, observer=tally, cache=cache)


def endpoints_of(node: BitcoinNode, name: str = "bcoin") -> list[dict[str, str]]:
    """Return a node's two endpoints as settings."""
    return [
        {"label": f"{name}-core", "url": node.url, "kind": "core"},
        {"label": f"{name}-esplora", "url": f"{node.url}/api", "kind": "esplora"},
    ]


@pytest_asyncio.fixture(loop_scope="session")
async def driver(node: BitcoinNode, tally: EndpointTally) -> AsyncIterator[Operations]:
    """A driver on the seeded node, whose endpoints have proved themselves before the test counts."""
    async with open_session() as session:
        chains = open_chains(session, tally, endpoints_of(node))
        driver = Operations(chains.get("bitcoin"))
        await driver.read_health()
        await driver.pools["esplora"].probe("/blocks", [])
        tally.requests.clear()
        yield driver  # type: ignore[misc]
        await chains.close()
