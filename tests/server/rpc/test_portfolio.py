"""getPortfolio over gRPC: every figure computed again from what the nodes and feeds are known to say."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from waypost.v1 import portfolio_pb2
from waypost.v1.common_pb2 import REASON_UPSTREAM_UNAVAILABLE

from devnet import known, known_cosmos, known_solana
from devnet.cosmos.world import CHAINS as COSMOS
from devnet.cosmos.world import address as cosmos_address
from devnet.evm.calls import encode_call
from devnet.evm.world import load_world
from server.catalog.tokens import load_tokens
from tests.server.rpc.test_gas import DOLLARS

if TYPE_CHECKING:
    from devnet.launcher import Devnet
    from tests.server.rpc.conftest import Client

pytestmark = pytest.mark.devnet

WORLD = load_world()
OK, ERROR = portfolio_pb2.PORTFOLIO_STATUS_OK, portfolio_pb2.PORTFOLIO_STATUS_ERROR


def worth(asset: Any) -> Fraction:
    """What an asset is worth by its own balance text and price: nothing where it has no price."""
    return Fraction(asset.balance) * Fraction(asset.price_usd) if asset.HasField("price_usd") else Fraction(0)


async def told_by_node(devnet: Devnet, slug: str) -> dict[str, int]:
    """What the node says that VITALIK has of every listed token, asked one by one."""
    node = devnet.nodes[slug]
    listed = [address for address in load_tokens().on_chain(slug) if address != "native"]
    data = "0x" + encode_call("balanceOf(address)", [known.VITALIK]).hex()
    answers = await node.calls([("eth_call", [{"to": address, "data": data}, "latest"]) for address in listed])
    reported = {address: int(answer, 16) for address, answer in zip(listed, answers, strict=True) if answer != "0x"}
    reported["native"] = int(await node.call("eth_getBalance", known.VITALIK, "latest"), 16)
    return {address: raw for address, raw in reported.items() if raw}


async def test_every_evm_chain_with_everything_on_it(client: Client, full_devnet: Devnet):
    began = time.time()
    answer = await client.ask("getPortfolio", address=known.VITALIK.lower())
    assert answer.address == known.VITALIK
    assert began - 1 <= answer.timestamp.ToMilliseconds() / 1000 <= time.time() + 1
    assert [row.chain for row in answer.chains] == list(WORLD)
    total, unpriced = Fraction(0), 0
    for row in answer.chains:
        chain, holdings = WORLD[row.chain], row.value
        assert (row.status, row.HasField("error")) == (OK, False)
        assert holdings.block_height == int(await full_devnet.nodes[row.chain].call("eth_blockNumber"), 16)
        held = {asset.address: (asset.symbol, int(asset.balance_raw), asset.decimals) for asset in holdings.assets}
        expected = {
            token.address: (token.symbol, known.vitalik_at_head(token), token.decimals) for token in chain.tokens
        }
        expected["native"] = (chain.native, known.NATIVE_AT_HEAD, 18)
        assert expected.items() <= held.items()
        assert {address: row[1] for address, row in held.items()} == await told_by_node(full_devnet, row.chain)
        for asset in holdings.assets:
            assert Fraction(asset.balance) == Fraction(int(asset.balance_raw), 10**asset.decimals)
            assert asset.HasField("value_usd") == asset.HasField("price_usd")
            assert asset.value_usd == pytest.approx(float(worth(asset)), rel=1e-12)
        assert holdings.total_usd == pytest.approx(float(sum(map(worth, holdings.assets))), rel=1e-12)
        assert list(holdings.unread) == []
        assert holdings.unpriced == sum(not asset.HasField("price_usd") for asset in holdings.assets)
        values = [asset.value_usd for asset in holdings.assets if asset.HasField("value_usd")]
        assert values == sorted(values, reverse=True)
        assert [asset.HasField("value_usd") for asset in holdings.assets[: len(values)]] == [True] * len(values)
        total += sum(map(worth, holdings.assets))
        unpriced += holdings.unpriced
    assert answer.total_usd == pytest.approx(float(total), rel=1e-12)
    assert answer.unpriced == unpriced > 0


@pytest.mark.parametrize("slug", list(WORLD))
async def test_coin_and_wrapped_coin_are_worth_what_the_feeds_say(client: Client, slug: str):
    answer = await client.ask("getPortfolio", address=known.VITALIK, chains=[slug])
    rows = {asset.address: asset for asset in answer.chains[0].value.assets}
    for address in ("native", WORLD[slug].wrapped_native.address):
        assert rows[address].price_usd == pytest.approx(float(DOLLARS[slug]), rel=1e-12)


async def test_what_is_another_issuers_claim_is_not_priced(client: Client):
    answer = await client.ask("getPortfolio", address=known.VITALIK, chains=["avalanche", "moonbeam"])
    rows = {(row.chain, asset.symbol): asset for row in answer.chains for asset in row.value.assets}
    assert not rows["avalanche", "BTC.b"].HasField("price_usd")
    assert not rows["moonbeam", "DAI"].HasField("price_usd")
    assert rows["avalanche", "WETH.e"].price_usd == pytest.approx(float(DOLLARS["ethereum"]))


async def test_an_empty_wallet_is_an_answer(client: Client):
    answer = await client.ask("getPortfolio", address=known.UNTOUCHED, chains=["base", "ethereum"])
    assert [row.chain for row in answer.chains] == ["base", "ethereum"]
    assert [(row.status, len(row.value.assets), row.HasField("value")) for row in answer.chains] == [(OK, 0, True)] * 2
    assert (answer.total_usd, answer.unpriced) == (0, 0)


async def test_a_chain_without_nodes_is_an_error_row(client: Client):
    # An EVM address, asked for on starknet by name: the local chain is not among those that run.
    answer = await client.ask("getPortfolio", address=known.VITALIK, chains=["starknet", "ethereum"])
    dead, alive = answer.chains
    assert (dead.status, dead.HasField("value")) == (ERROR, False)
    assert (dead.error.code, dead.error.reason) == (503, REASON_UPSTREAM_UNAVAILABLE)
    assert alive.status == OK
    assert answer.total_usd == alive.holdings.total_usd > 0
    refusal = await client.refused("getPortfolio", address=known.VITALIK, chains=["starknet"])
    assert refusal.reason == "UPSTREAM_UNAVAILABLE"


async def test_solana_and_cosmos(client: Client):
    answer = await client.ask("getPortfolio", address=str(known_solana.ALICE))
    [row] = answer.chains
    assert (row.chain, row.status) == ("solana", OK)
    held = {asset.symbol: (asset.balance, asset.decimals) for asset in row.value.assets}
    assert held == {"SOL": ("12.345678901", 9), "WSOL": ("1.5", 9), "USDC": ("1234.567898", 6)}
    assert row.value.block_height >= known_solana.FIRST_SLOT
    hub = await client.ask("getPortfolio", address=cosmos_address(COSMOS["cosmoshub"], known_cosmos.ALICE))
    [row] = hub.chains
    assert [(asset.symbol, asset.address) for asset in row.value.assets] == [("ATOM", "uatom")]
