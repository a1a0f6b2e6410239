"""NFT contracts on a chain whose nodes know the latest state alone, and which moves on between two steps of a read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from devnet import known, known_nft
from devnet.evm.artifacts import multicall3, stand_ins
from runtime.settings import Settings
from server.chains.registry import Chains
from server.chains.view import ATTEMPTS, ReadView
from server.errors import MovedOn, NotSupported
from server.nfts.contracts import NftContracts
from server.upstream import open_session
from server.upstream.cache import Cache, CacheContext
from tests.server.chains.evm.nodes import MULTICALL3, Anvil, MovesOn, call_data

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.devnet

DEEDS = known_nft.OLD_DEEDS


class MovingLatest(MovesOn):
    """A node of that kind, which makes a block after each of the first `moves` calls."""

    async def _forward(self, item: dict[str, Any]) -> Any:
        if item["method"] == "eth_call":
            item = item | {"params": [item["params"][0], "latest"]}
        return await super()._forward(item)


class Site:
    """The chain's node, what stands before it, and the reader on top, with the gateway's cache."""

    def __init__(self, node: Anvil, front: MovingLatest, chains: Chains) -> None:
        self.node, self.front = node, front
        self.nfts = NftContracts(chains)


@pytest_asyncio.fixture(loop_scope="session")
async def moving() -> AsyncIterator[Site]:
    async with aiohttp.ClientSession() as session, open_session() as http:
        node = await Anvil.start(session, "--chain-id", "999", "--number", "52800000")
        await node.place(MULTICALL3, multicall3())
        await node.place(DEEDS, stand_ins()["old_nft"])
        for _ in range(3):
            await node.send(DEEDS, call_data("mint(address)", known.VITALIK))
        front = MovingLatest(node.url, session, 0)
        await front.start()
        endpoints = {"hyperliquid": {"endpoints": [{"label": "local", "url": front.url}]}}
        settings = Settings.model_validate({"profile": "devnet", "chains": endpoints})
        chains = Chains.load(settings, http, cache=Cache(1 << 20))
        yield Site(node, front, chains)
        await chains.close()
        await front.stop()
        node.stop()


async def test_a_list_is_read_again_when_the_chain_moves_on_between_its_steps(moving: Site) -> None:
    # The steps of the first attempt are of two blocks; what was kept of the older one must not be used in the second.
    moving.front.moves = 2
    use = CacheContext()
    view = ReadView(cache=use)
    listing = await moving.nfts.read_tokens("hyperliquid", DEEDS, known.VITALIK, view)
    assert (listing.token_ids, listing.total) == ([0, 1, 2], 3)
    assert view.block == await moving.node.height()
    assert (use.status, moving.front.moves) == ("miss", 0)


async def test_a_token_is_read_again_too(moving: Site) -> None:
    moving.front.moves = 2
    view = ReadView(cache=CacheContext())
    token = await moving.nfts.read_token("hyperliquid", DEEDS, 1, view)
    assert (token.owner, token.uri) == (known.VITALIK, None)
    assert view.block == await moving.node.height()


async def test_a_list_is_given_up_on_a_chain_that_never_stands_still(moving: Site) -> None:
    moving.front.moves = 1000
    with pytest.raises(MovedOn, match="try again") as caught:
        await moving.nfts.read_tokens("hyperliquid", DEEDS, known.VITALIK, ReadView(cache=CacheContext()))
    assert caught.value.retry_after_ms
    assert 1000 - moving.front.moves <= 2 * ATTEMPTS + 4


async def test_a_block_of_the_callers_choice_is_not_exchanged_for_another(moving: Site) -> None:
    with pytest.raises(NotSupported, match="latest state"):
        await moving.nfts.read_token("hyperliquid", DEEDS, 1, ReadView(block=await moving.node.height() - 1))
