"""Names read over the local ethereum through a node that counts, and from an off-chain gateway of the test's own."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest_asyncio

from devnet import known_names
from devnet.evm.names import set_gateway_port
from runtime.settings import Settings
from server.chains.capabilities.contracts import CallsContracts
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.fetch import GuardedFetcher
from server.names.gateways import Gateways
from server.names.names import Names
from server.upstream import open_session
from tests.faults.simulator import FaultyNode
from tests.operations import Operations
from tests.server.names.gateway import Gateway
from tests.server.rpc.conftest import unchanged

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.evm.node import Node
    from devnet.launcher import Devnet
    from server.upstream.cache import Cache


@dataclass
class Site:
    """The reader with everything around it; `proxy` stands between it and `node`."""

    node: Node
    proxy: FaultyNode
    gateway: Gateway
    names: Names

    async def resolve(self, name: str) -> str:
        return await self.names.resolve(name, view())

    async def reverse(self, address: str) -> str:
        return await self.names.reverse(address, view())

    async def put(self, code: bytes) -> None:
        """Put code in the place of the Universal Resolver."""
        await self.node.call("anvil_setCode", known_names.UNIVERSAL_RESOLVER, "0x" + code.hex())


def view() -> ReadView:
    return ReadView(deadline=time.monotonic() + 20)


@asynccontextmanager
async def opened(devnet: Devnet, cache: Cache | None = None, **options: Any) -> AsyncIterator[Site]:
    """A site; `options` are settings of the guarded fetcher besides leave to ask the gateway."""
    async with AsyncExitStack() as stack:
        gateway = Gateway()
        stack.push_async_callback(gateway.stop)
        await gateway.start()
        node = await stack.enter_async_context(unchanged(devnet, "ethereum"))
        await set_gateway_port(node, gateway.port)
        proxy = FaultyNode(node.url)
        stack.push_async_callback(proxy.close)
        await proxy.start()
        settings = Settings.model_validate(
            {
                "profile": "devnet",
                "fetcher": {"allow": [f"127.0.0.1:{gateway.port}"], "timeout": "5s"} | options,
                "chains": {"ethereum": {"endpoints": [{"label": "local", "url": proxy.url}]}},
            }
        )
        http = await stack.enter_async_context(open_session())
        chains = Chains.load(settings, http, cache=cache)
        stack.push_async_callback(chains.close)
        driver: Any = Operations(chains.get("ethereum"))
        await driver.pool.call("eth_chainId", [])  # the endpoint has proved its chain before anything is counted
        proxy.asked.clear()
        fetcher = GuardedFetcher(settings.fetcher)
        stack.push_async_callback(fetcher.close)
        yield Site(node, proxy, gateway, Names(chains.capability("ethereum", CallsContracts), Gateways(fetcher)))


@pytest_asyncio.fixture(loop_scope="session")
async def site(devnet: Devnet) -> AsyncIterator[Site]:
    async with opened(devnet) as site:
        yield site
