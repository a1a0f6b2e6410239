"""Chainlink's feeds on the devnet: published bytecode at the real addresses, told anew at a start and every hour."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi.abi import decode

from devnet import known
from devnet.evm import mining
from devnet.evm.artifacts import original
from devnet.evm.feeds import aggregator_of, load_feeds, shifted
from devnet.evm.world import FIRST_TIMESTAMP
from devnet.launcher import Devnet
from devnet.local_chain import NodeError
from tests.e2e.devnet_reads import call_raw, read
from tests.rewinding import rewound

if TYPE_CHECKING:
    from devnet.evm.node import Node

pytestmark = pytest.mark.devnet

TABLES = load_feeds()
PRICES, SEQUENCERS = TABLES["chainlink"], TABLES["sequencer"]
CHAINS = sorted({row["chain"] for row in PRICES})
LATEST_ROUND_DATA = bytes.fromhex("feaf968c")
ROUND = ["uint80", "int256", "uint256", "uint256", "uint80"]
A_DAY = 86_400


def feeds_of(chain: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["chain"] == chain]


async def latest_round(node: Node, address: str, block: int | None = None) -> tuple[int, int, int, int]:
    """Return number (without the proxy's phase), answer and times of a feed's newest round at a block."""
    number, answer, started_at, told_at, answered_in = decode(
        ROUND, await call_raw(node, address, LATEST_ROUND_DATA, block)
    )
    assert number == answered_in
    return number % 2**64, answer, started_at, told_at


@pytest.mark.parametrize("slug", CHAINS)
async def test_proxy_and_aggregator_are_the_published_code(full_devnet: Devnet, slug: str) -> None:
    node = full_devnet.nodes[slug]
    for row in (*feeds_of(slug, PRICES), *feeds_of(slug, SEQUENCERS)):
        for address, name in ((row["address"], "feed_proxy"), (aggregator_of(row), "feed_aggregator")):
            code = bytes.fromhex((await node.call("eth_getCode", address, "latest"))[2:])
            # Neither has immutables: what the constructor returns is the end of the creation code, word for word.
            assert len(code) > 700
            assert original(name).endswith(code)
        assert await read(node, row["address"], "aggregator()", [], "address") == aggregator_of(row).lower()


@pytest.mark.parametrize("slug", CHAINS)
async def test_a_feed_tells_the_same_price_at_every_height_and_a_fresh_one_at_the_head(
    full_devnet: Devnet, slug: str
) -> None:
    node = full_devnet.nodes[slug]
    seeded = node.chain.height + known.SEEDED_BLOCKS
    present = int((await node.call("eth_getBlockByNumber", hex(seeded + 1), False))["timestamp"], 16)
    assert abs(time.time() - present) < A_DAY
    for row in feeds_of(slug, PRICES):
        price = shifted(row["price"], row["decimals"])
        assert await read(node, row["address"], "decimals()", [], "uint8") == row["decimals"]
        for height in (node.chain.height, seeded):
            assert await latest_round(node, row["address"], height) == (1, price, FIRST_TIMESTAMP, FIRST_TIMESTAMP)
        assert await latest_round(node, row["address"], seeded + 1) == (2, price, present, present)


@pytest.mark.parametrize("slug", [row["chain"] for row in SEQUENCERS])
async def test_a_sequencer_has_run_since_the_first_day(full_devnet: Devnet, slug: str) -> None:
    [row] = feeds_of(slug, SEQUENCERS)
    node = full_devnet.nodes[slug]
    for height in (node.chain.height, None):
        assert await latest_round(node, row["address"], height) == (1, 0, FIRST_TIMESTAMP, FIRST_TIMESTAMP)


async def test_feeds_tell_rounds_while_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mining, "ROUND_EVERY", 1.5)
    async with Devnet.start(["bsc", "linea"]) as devnet:
        for node in devnet.nodes.values():
            node.chain = replace(node.chain, interval=0.1)
        miners = devnet.miners.values()
        for _ in range(600):
            await asyncio.sleep(0.1)
            if min(miner.mined for miner in miners) >= 4:
                break
        [row], node = feeds_of("bsc", PRICES), devnet.nodes["bsc"]
        present = node.chain.height + known.SEEDED_BLOCKS + 1
        for number, height in enumerate(range(present, present + 4), start=2):
            # Each block holds a round: the devnet's own transaction is no question that sets off empty ones.
            block = await node.call("eth_getBlockByNumber", hex(height), False)
            assert len(block["transactions"]) == 1
            assert int(block["baseFeePerGas"], 16) == node.chain.base_fee
            told_at = int(block["timestamp"], 16)
            price = shifted(row["price"], row["decimals"])
            assert await latest_round(node, row["address"], height) == (number, price, told_at, told_at)
        # A chain without such feeds gets its hourly block all the same.
        node = devnet.nodes["linea"]
        block = await node.call("eth_getBlockByNumber", hex(node.chain.height + known.SEEDED_BLOCKS + 3), False)
        assert block["transactions"] == []


async def test_a_feed_that_cannot_tell_is_an_error(devnet: Devnet) -> None:
    [row] = feeds_of("ethereum", [row for row in PRICES if row["pair"] == "EIGEN / USD"])
    miner = devnet.miners["ethereum"]
    async with rewound(devnet.nodes["ethereum"]) as node:
        before, _, _, _ = await latest_round(node, row["address"])
        await miner.report_prices()
        assert (await latest_round(node, row["address"]))[0] == before + 1
        await node.call("anvil_setCode", aggregator_of(row), "0xfe")
        with pytest.raises(NodeError, match="price feeds of ethereum"):
            await miner.report_prices()
