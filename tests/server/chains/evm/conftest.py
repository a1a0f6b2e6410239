"""Three real chains, the gateway's drivers on them, and a tally of what they send."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import aiohttp
import pytest
import pytest_asyncio

from runtime.settings import Settings
from server.chains.registry import Chains
from server.upstream import open_session
from tests.operations import Operations
from tests.server.chains.evm.nodes import Anvil, LatestOnly, build_arbitrum, build_world
from tests.tallies import CallTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as plain:
        yield plain


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def ethereum(session: aiohttp.ClientSession) -> AsyncIterator[Anvil]:
    """A node with the world of `build_world`; Multicall3 is older than all of its blocks, as on the real chain."""
    node = await Anvil.start(session, "--chain-id", "1", "--number", "20000000")
    await build_world(node)
    yield node
    node.stop()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def arbitrum(session: aiohttp.ClientSession) -> AsyncIterator[Anvil]:
    node = await Anvil.start(session, "--chain-id", "42161", "--number", "400000000", "--gas-limit", "26049871")
    await build_arbitrum(node)
    yield node
    node.stop()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def bare(session: aiohttp.ClientSession) -> AsyncIterator[Anvil]:
    """A chain without Multicall3 (base), at heights below its deploy block."""
    node = await Anvil.start(session, "--chain-id", "8453", "--number", "100")
    await node.call("anvil_mine", "0x5")
    yield node
    node.stop()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def hyperliquid(session: aiohttp.ClientSession) -> AsyncIterator[tuple[Anvil, LatestOnly]]:
    node = await Anvil.start(session, "--chain-id", "999", "--number", "52800000")
    await build_world(node)
    front = LatestOnly(node.url, session)
    await front.start()
    yield node, front
    await front.stop()
    node.stop()


@pytest.fixture
def tally() -> CallTally:
    return CallTally()


@pytest_asyncio.fixture(loop_scope="session")
async def chains(
    ethereum: Anvil, arbitrum: Anvil, bare: Anvil, hyperliquid: tuple[Anvil, LatestOnly], tally: CallTally
) -> AsyncIterator[Chains]:
    """The gateway's chains on the local nodes; every endpoint has proved its chain id before the test counts."""
    urls = {"ethereum": ethereum.url, "arbitrum": arbitrum.url, "base": bare.url, "hyperliquid": hyperliquid[1].url}
    settings = Settings.model_validate(
        {
            "profile": "devnet",
            "chains": {slug: {"endpoints": [{"label": "local", "url": url}]} for slug, url in urls.items()},
        }
    )
    async with open_session() as http:
        loaded = Chains.load(settings, http, observer=tally)
        for slug in urls:
            driver = Operations(loaded.get(slug))
            await driver.pool.call("eth_chainId", [])
        tally.requests.clear()
        yield loaded
        await loaded.close()


@pytest.fixture
def driver(chains: Chains) -> Operations:
    return Operations(chains.get("ethereum"))


@pytest.fixture
def requests(tally: CallTally) -> Callable[[list[int]], Iterator[None]]:
    """`with requests([3]):` the block inside sends exactly one HTTP request with three JSON-RPC calls."""

    @contextmanager
    def expect(calls: list[int]) -> Iterator[None]:
        tally.requests.clear()
        yield
        assert tally.requests == calls

    return expect
