"""compareGas over all 16 local chains: fees by each chain's nodes, prices by the feeds on chain, all computed again."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from devnet.evm.feeds import load_feeds
from devnet.evm.world import load_world
from server.catalog.feeds import load_price_table
from server.chains.facts import load_facts

if TYPE_CHECKING:
    from devnet.launcher import Devnet
    from tests.server.rpc.conftest import Client

pytestmark = pytest.mark.devnet

WORLD = load_world()
# What one whole native coin costs on the devnet, by chain.
# The catalogue's kinds of feeds, and where the devnet has those of each.
DEVNET_KINDS = {"chainlink": "chainlink", "pyth": "pyth", "lending_oracle": "aave", "sequencer": "sequencer"}
DOLLARS = {
    **dict.fromkeys(("ethereum", "optimism", "base", "arbitrum", "linea", "scroll"), "2512.34567891"),
    "polygon": "0.2345",
    "bsc": "612.5",
    "avalanche": "21.25",
    "gnosis": "0.9998",
    "moonbeam": "0.0625",
    "hyperliquid": "38.75",
    "berachain": "1.875",
    "monad": "0.03125",
    "plasma": "0.2875",
    "xlayer": "187.5",
}


def rows_of(answer: Any) -> dict[str, Any]:
    return {row.chain: row for row in answer.results}


async def test_every_chain_is_priced_and_the_cheapest_comes_first(client: Client):
    before = time.time()
    answer = await client.ask("compareGas")
    rows = rows_of(answer)
    assert sorted(rows) == sorted(WORLD)
    assert len(answer.results) == 16
    for slug, row in rows.items():
        assert row.HasField("estimated_tx_cost_usd"), slug
        fee = Decimal(repr(row.base_fee_gwei)) + Decimal(repr(row.priority_fee_gwei))
        expected = 21_000 * fee / 10**9 * Decimal(DOLLARS[slug])
        assert row.estimated_tx_cost_usd == pytest.approx(float(expected), rel=1e-12), slug
        assert before - 2 <= row.updated_at.ToMilliseconds() / 1000 <= time.time() + 1
    costs = [row.estimated_tx_cost_usd for row in answer.results]
    assert costs == sorted(costs)


@pytest.mark.parametrize("slug", list(WORLD))
async def test_base_fees_are_the_newest_blocks(client: Client, full_devnet: Devnet, slug: str):
    block = await full_devnet.nodes[slug].call("eth_getBlockByNumber", "latest", False)
    row = rows_of(await client.ask("compareGas"))[slug]
    assert row.base_fee_gwei == int(block["baseFeePerGas"], 16) / 10**9 == WORLD[slug].base_fee / 10**9


async def test_layer_1_fees_stand_where_a_contract_tells_them(client: Client):
    rows = rows_of(await client.ask("compareGas"))
    reported = {row["chain"]: row["wei_per_byte"] for row in load_feeds()["l1_fee"]}
    assert {slug for slug, row in rows.items() if row.HasField("l1_fee_usd")} == set(reported)
    for slug, wei_per_byte in reported.items():
        size = rows[slug].l1_fee_usd / float(DOLLARS[slug]) * 1e18 / wei_per_byte
        assert size == pytest.approx(round(size), rel=1e-9)
        # A plain transfer is about 50 bytes, and 67 more with its signature.
        assert round(size) in (range(110, 125) if slug == "scroll" else range(42, 58))


async def test_the_sequencer_chain_ignores_tips(client: Client):
    rows = rows_of(await client.ask("compareGas"))
    assert rows["arbitrum"].priority_fee_gwei == 0
    assert rows["ethereum"].priority_fee_gwei > 0


def test_the_feeds_of_the_catalogue_are_those_of_the_devnet():
    catalogue = load_price_table()
    ours = {
        (kind, row["chain"], row["address"], row.get("id", ""), row.get("asset", ""))
        for kind, rows in DEVNET_KINDS.items()
        for row in load_feeds()[rows]
    }
    feeds = [feed for feeds in catalogue.feeds.values() for feed in feeds]
    asked = {
        (feed.kind, feed.chain, feed.address, feed.id, feed.asset) for feed in (*feeds, *catalogue.sequencers.values())
    }
    assert asked == ours
    natives = {facts.native.symbol for facts in load_facts().values() if facts.family == "evm"}
    assert natives <= set(catalogue.feeds)
