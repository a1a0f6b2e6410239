"""Real nodes to follow, and followers on them that look at once instead of waiting for their next look."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest_asyncio

from runtime.settings import Settings
from server.chains.capabilities.following import FollowsBlocks
from server.chains.registry import Chains
from server.streams.follower import Followers
from server.upstream import open_session
from tests.server.chains.evm.nodes import Anvil
from tests.tallies import CallTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence


SLUG = "ethereum"
BEGIN = 80
"""The height that `node` has at first."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def plain_session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as plain:
        yield plain


@pytest_asyncio.fixture(loop_scope="session")
async def node(plain_session: aiohttp.ClientSession) -> AsyncIterator[Anvil]:
    """A chain of 80 blocks that makes one only when asked to, and calls the one 64 below the newest final."""
    node = await Anvil.start(plain_session, "--chain-id", "1")
    await node.call("anvil_mine", hex(BEGIN))
    yield node
    node.stop()


async def chain_of(node: Anvil, above: int) -> dict[int, str]:
    """Return the node's blocks above a height."""
    height = int(await node.call("eth_blockNumber"), 16)
    blocks = [await node.call("eth_getBlockByNumber", hex(number), False) for number in range(above + 1, height + 1)]
    return {int(block["number"], 16): block["hash"] for block in blocks}


class Gateway:
    """The followers of one process on some nodes, and what they sent."""

    def __init__(self, chains: Chains, tally: CallTally) -> None:
        self.chains = chains
        self.tally = tally
        self.followers = Followers(
            lambda slug: (chains.capability(slug, FollowsBlocks), chains.get(slug).facts.block_time)
        )


@asynccontextmanager
async def open_gateway(
    *urls: str, slug: str = "ethereum", endpoints: Sequence[Mapping[str, str]] = (), **chain: Any
) -> AsyncIterator[Gateway]:
    """Open followers of a chain on these endpoints, or on these addresses, labelled `a`, `b` and so on."""
    endpoints = endpoints or [{"label": "abcdef"[at], "url": url} for at, url in enumerate(urls)]
    settings = Settings.model_validate({"profile": "devnet", "chains": {slug: {"endpoints": endpoints, **chain}}})
    http, tally = open_session(settings.outbound), CallTally()
    chains = Chains.load(settings, http, observer=tally)
    gateway = Gateway(chains, tally)
    try:
        yield gateway
    finally:
        await gateway.followers.close()
        await chains.close()
        await http.close()


@pytest_asyncio.fixture(loop_scope="session")
async def gateway(node: Anvil) -> AsyncIterator[Gateway]:
    async with open_gateway(node.url) as opened:
        yield opened
