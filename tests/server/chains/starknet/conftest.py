"""The local Starknet chain, the gateway's driver on it, and a tally of what it sends."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import aiohttp
import pytest
import pytest_asyncio

from devnet.starknet.node import StarknetNode
from devnet.watchdog import Watchdog
from runtime.settings import Settings
from server.chains.registry import Chains
from server.upstream import open_session
from tests.operations import Operations
from tests.tallies import CallTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as plain:
        yield plain


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def node(session: aiohttp.ClientSession) -> AsyncIterator[StarknetNode]:
    """The chain with its seeded world; the session's tests share it."""
    with Watchdog() as guard:
        local = StarknetNode(session, lambda line: None)
        await local.start(guard)
        yield local
        await local.stop()


@pytest.fixture
def tally() -> CallTally:
    return CallTally()


@pytest.fixture
async def load(tally: CallTally) -> AsyncIterator[Callable[..., Operations]]:
    """`load(a=url, b=url)`: the gateway's driver on these endpoints, by label."""
    async with open_session() as http:
        opened: list[Chains] = []

        def on(**urls: str) -> Operations:
            endpoints = [{"label": label, "url": url} for label, url in urls.items()]
            settings = {"profile": "devnet", "chains": {"starknet": {"endpoints": endpoints}}}
            opened.append(Chains.load(Settings.model_validate(settings), http, observer=tally))
            return Operations(opened[-1].get("starknet"))

        yield on
        for chains in opened:
            await chains.close()


@pytest.fixture
async def driver(load: Callable[..., Operations], node: StarknetNode, tally: CallTally) -> Operations:
    """The driver on the local chain, which has proved its chain id."""
    loaded = load(local=node.endpoints["starknet"][0].url)
    await loaded.pool.call("starknet_chainId", [])
    tally.requests.clear()
    return loaded


@pytest.fixture
def requests(tally: CallTally) -> Callable[[list[int]], Iterator[None]]:
    """`with requests([3]):` the block inside sends exactly one HTTP request with three JSON-RPC calls."""

    @contextmanager
    def expect(calls: list[int]) -> Iterator[None]:
        tally.requests.clear()
        yield
        assert tally.requests == calls

    return expect
