"""searchTokens and getTokenAddresses over gRPC, with the prices of the local chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
import pytest

from runtime.settings import Settings
from server.app import Gateway
from server.catalog.tokens import PRICED_SYMBOLS
from server.chains.facts import load_facts
from tests.server.rpc.conftest import Client

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.devnet

CHAINS = load_facts()
PLACES = list(CHAINS)
ETHER = 2512.34567891  # what the feeds of the local chains say


async def test_the_default_limit_is_20_and_100_are_allowed(client: Client):
    some = await client.ask("searchTokens", q="e")
    many = await client.ask("searchTokens", q="e", limit=100)
    assert some.count == len(some.results) == 20
    assert many.count == len(many.results) > 40
    assert list(many.results[:20]) == list(some.results)
    symbols = [row.symbol.casefold() for row in many.results]
    assert len(set(symbols)) == len(symbols)


async def test_a_match_says_where_the_token_lives_and_what_it_costs(client: Client):
    answer = await client.ask("searchTokens", q="WRAPPED ether", limit=2)
    token, form = answer.results
    assert (token.token_id, token.symbol, token.name) == ("weth", "WETH", "Wrapped Ether")
    assert token.price_usd == pytest.approx(ETHER)
    on = {row.chain: row for row in token.chains}
    assert on["ethereum"].address == "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
    assert (on["ethereum"].exponent, on["ethereum"].bridged, on["ethereum"].verified) == (18, False, True)
    assert (on["avalanche"].symbol, on["avalanche"].bridged) == ("WETH.e", True)
    places = [PLACES.index(row.chain) for row in token.chains]
    assert places == sorted(places)
    assert form.token_id.startswith("weth:")
    assert {row.symbol for row in form.chains} == {form.symbol}


async def test_what_is_not_worth_the_tokens_price_has_none(client: Client):
    answer = await client.ask("searchTokens", q="btcb", limit=1)
    assert answer.results[0].symbol == "BTCB"
    assert not answer.results[0].HasField("price_usd")


async def test_without_any_price_the_rest_still_answers(tmp_path: Path):
    settings = {"profile": "devnet", "storage": {"url": f"sqlite:///{tmp_path}/keys.db"}, "grpc": {"port": 0}}
    gateway = await Gateway.create(Settings.model_validate(settings))
    port = await gateway.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        found = await Client(channel).ask("searchTokens", q="usdc", limit=1)
        token = await Client(channel).ask("getTokenAddresses", symbol="USDC")
    await gateway.drain(0)
    assert (found.results[0].symbol, found.results[0].HasField("price_usd")) == ("USDC", False)
    assert len(token.addresses) > 20
    assert not token.HasField("price_usd")


async def test_nothing_found_is_an_empty_list(client: Client):
    answer = await client.ask("searchTokens", q="no token is called so")
    assert (answer.count, list(answer.results)) == (0, [])


@pytest.mark.parametrize("symbol", PRICED_SYMBOLS)
async def test_every_symbol_of_the_set_answers(client: Client, symbol: str):
    answer = await client.ask("getTokenAddresses", symbol=symbol)
    assert answer.symbol == symbol
    assert answer.name
    price = await client.ask("getPrice", symbol=symbol)
    assert answer.price_usd == price.price_usd > 0
    assert answer.name == price.name
    places = [PLACES.index(row.chain) for row in answer.addresses]
    assert places == sorted(places)
    for row in answer.addresses:
        assert row.chain_name == CHAINS[row.chain].name
        assert (row.address == "native") <= (CHAINS[row.chain].native.symbol == symbol)
    assert len({(row.chain, row.address) for row in answer.addresses}) == len(answer.addresses)


async def test_the_addresses_of_one_chain_begin_with_the_asset_itself(client: Client):
    answer = await client.ask("getTokenAddresses", symbol="USDC")
    polygon = [
        (row.symbol, row.address, row.decimals, row.bridged) for row in answer.addresses if row.chain == "polygon"
    ]
    assert polygon == [
        ("USDC", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", 6, False),
        ("USDC.e", "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174", 6, True),
    ]
    assert [row.decimals for row in answer.addresses if row.chain == "bsc"] == [18]
    spark = await client.ask("getTokenAddresses", symbol="stSPK")
    assert [(row.chain, row.verified) for row in spark.addresses] == [("ethereum", False)]


@pytest.mark.parametrize(
    ("name", "fields", "field"),
    [
        ("searchTokens", {}, "q"),
        ("searchTokens", {"q": ""}, "q"),
        ("searchTokens", {"q": "   "}, "q"),
        ("searchTokens", {"q": "x" * 101}, "q"),
        ("searchTokens", {"q": "usd", "limit": 0}, "limit"),
        ("searchTokens", {"q": "usd", "limit": -1}, "limit"),
        ("searchTokens", {"q": "usd", "limit": 101}, "limit"),
        ("getTokenAddresses", {}, "symbol"),
        ("getTokenAddresses", {"symbol": "usdc"}, "symbol"),
        ("getTokenAddresses", {"symbol": "WETH"}, "symbol"),
        ("getTokenAddresses", {"symbol": "x" * 5000}, "symbol"),
        ("getPortfolio", {}, "address"),
        ("getPortfolio", {"address": ""}, "address"),
        ("getPortfolio", {"address": "vitalik.eth"}, "address"),
        ("getPortfolio", {"address": "0x" + "0" * 5000}, "address"),
        ("getPortfolio", {"address": "0x" + "0" * 40, "chains": ["base"] * 25}, "chains"),
        ("getPortfolio", {"address": "0x" + "0" * 40, "chains": ["base", "base"]}, "chains[1]"),
    ],
)
async def test_mistakes_are_named(client: Client, name: str, fields: dict[str, Any], field: str):
    refusal = await client.refused(name, **fields)
    assert (refusal.reason, refusal.field) == ("INVALID_ARGUMENT", field)


async def test_an_unknown_chain_is_named_with_the_nearest_one(client: Client):
    empty = await client.refused("getPortfolio", address="0x" + "0" * 40, chains=["base", ""])
    assert (empty.reason, empty.field) == ("CHAIN_UNKNOWN", "chains[1]")
    refusal = await client.refused("getPortfolio", address="0x" + "0" * 40, chains=["base", "etherium"])
    assert (refusal.reason, refusal.field) == ("CHAIN_UNKNOWN", "chains[1]")
    assert "ethereum" in refusal.message
