"""What is kept: balances for a moment under their block, documents for good once layer 1 has their block."""

from __future__ import annotations

import pytest

from devnet import known_starknet as known
from runtime.settings import Settings
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.upstream import open_session
from server.upstream.cache import Cache
from tests.operations import Operations

pytestmark = pytest.mark.devnet


@pytest.fixture
async def cached(node, tally):
    url = node.endpoints["starknet"][0].url
    settings = {"profile": "devnet", "chains": {"starknet": {"endpoints": [{"label": "local", "url": url}]}}}
    async with open_session() as http:
        chains = Chains.load(Settings.model_validate(settings), http, observer=tally, cache=Cache(1 << 20))
        driver = Operations(chains.get("starknet"))
        await driver.read_height(ReadView())
        tally.requests.clear()
        yield driver
        await chains.close()


async def test_a_balance_is_asked_once(cached, requests):
    with requests([3]):
        first = await cached.read_balance(known.BOB, ReadView())
        assert await cached.read_balance("0x0" + known.BOB[2:].upper(), ReadView()) == first.__class__(
            "0x0" + known.BOB[2:].upper(), first.block, first.raw, first.decimals
        )
    with requests([1]):
        assert (await cached.read_balance(known.BOB, ReadView(block=1))).raw == known.STRK_SENT


async def test_amounts_beyond_64_bits_are_kept_whole(cached):
    for _ in range(2):
        found = await cached.read_token_balance(known.ALICE, known.SNAKE_TOKEN, ReadView())
        assert (found.raw, found.decimals) == (known.SNAKE_SUPPLY, 8)


async def test_documents_are_kept(cached, requests):
    with requests([1]):
        block = await cached.read_block_transactions(known.CROWDED_BLOCK, ReadView())
        assert await cached.read_block_transactions(known.CROWDED_BLOCK, ReadView()) == block
    wanted = block.starknet.transactions[0].hash
    with requests([2]):
        assert await cached.read_receipt(wanted, ReadView()) == await cached.read_receipt(wanted, ReadView())


async def test_blocks_on_layer_1_become_final(cached, node):
    await node.call("devnet_mine", 40)
    head = await cached.read_height(ReadView())
    await cached.read_block_transactions(known.CROWDED_BLOCK, ReadView())
    await cached.memory.finality.settled()
    assert known.HEIGHT < cached.memory.finality.block < head
