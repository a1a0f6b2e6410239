"""Which sources a price is made of, and what asking them costs: feeds of the local chains and an off-chain stand-in."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from runtime.settings import Settings
from server.apis.sources import Sources
from server.catalog.feeds import load_price_table
from server.catalog.tokens import PRICED_SYMBOLS
from server.chains.registry import Chains
from server.prices import open_prices
from server.storage.database import open_database
from server.upstream import open_session
from server.upstream.cache import open_cache
from tests.operations import Operations
from tests.server.rpc.conftest import unchanged
from tests.server.rpc.price_feeds import CHAINLINK, DOLLARS, FEEDS, PYTH, tell
from tests.tallies import ChainTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.launcher import Devnet
    from server.prices.factory import Opened

pytestmark = pytest.mark.devnet

EURO = DOLLARS["EUR"]


@asynccontextmanager
async def opened(settings: dict[str, Any], tally: ChainTally, folder: Path) -> AsyncIterator[Opened]:
    """The prices of a gateway without its servicers; every EVM endpoint has proved its chain id."""
    whole = Settings.model_validate(settings)
    async with AsyncExitStack() as lifetime:
        http = await lifetime.enter_async_context(open_session())
        database = await open_database(f"sqlite:///{folder}/prices.db")
        lifetime.push_async_callback(database.dispose)
        chains = Chains.load(whole, http, observer=tally)
        lifetime.push_async_callback(chains.close)
        for slug in settings["chains"]:
            driver: Any = Operations(chains.get(slug))
            if chains.get(slug).family == "evm":
                await driver.pool.call("eth_chainId", [])
        prices = open_prices(Sources(whole, http, lifetime, observer=tally), chains, database, open_cache(whole))
        tally.requests.clear()
        yield prices


def test_the_stand_in_tells_what_the_feeds_tell():
    for row in (*FEEDS["chainlink"], *FEEDS["pyth"], *FEEDS["aave"]):
        base, _, quote = row["pair"].partition(" / ")
        symbol = {"MATIC": "POL", "mRe7YIELD": "MRE7YIELD"}.get(base, base)
        expected = DOLLARS[symbol] / (DOLLARS["USDS"] if quote == "USDS" else 1)
        assert Decimal(row["price"]) == expected, row["pair"]


@pytest.mark.parametrize(
    ("price", "age"),
    [
        pytest.param("5000", 25 * 3600 + 60, id="stale"),
        pytest.param("5000", -3600, id="of the future"),
        pytest.param("5000", None, id="incomplete"),
        pytest.param("0", 0, id="zero"),
        pytest.param("-5000", 0, id="negative"),
    ],
)
async def test_a_round_that_is_no_live_price_counts_for_nobody(
    full_devnet: Devnet, tmp_path: Path, price: str, age: int | None
):
    # EIGEN has one Chainlink feed, Pyth on two chains, and the stand-in of an off-chain source.
    row = CHAINLINK["ethereum EIGEN / USD"]
    async with (
        unchanged(full_devnet, "ethereum"),
        opened(full_devnet.settings_overrides(), ChainTally(), tmp_path) as (prices, _),
    ):
        reported = (await prices.read(["EIGEN"], deadline=None))["EIGEN"]
        assert (reported.value, reported.sources) == (DOLLARS["EIGEN"], ("chainlink", "defillama", "pyth"))
        await tell(full_devnet, row, price, age)
        reported = (await prices.read(["EIGEN"], deadline=None))["EIGEN"]
        assert (reported.value, reported.sources) == (DOLLARS["EIGEN"], ("defillama", "pyth"))
        await tell(full_devnet, row, "1.01", age=3600)
        reported = (await prices.read(["EIGEN"], deadline=None))["EIGEN"]
        # The median of 1.01, 0.987 and 0.987, dated by the feed, which is an hour old.
        assert (reported.value, len(reported.sources)) == (DOLLARS["EIGEN"], 3)
        assert 3590 <= (datetime.now(UTC) - reported.updated_at).total_seconds() <= 3700


async def test_a_report_that_nobody_promised_to_renew_counts_for_two_hours(full_devnet: Devnet, tmp_path: Path):
    """KSM has no feed but Pyth's, on two chains: told a while ago at a price from which the market has moved."""
    rows = [row for name, row in PYTH.items() if name.endswith("KSM / USD")]
    assert {row["chain"] for row in rows} == {"arbitrum", "base"}
    market = DOLLARS["KSM"]
    async with (
        unchanged(full_devnet, "arbitrum"),
        unchanged(full_devnet, "base"),
        opened(full_devnet.settings_overrides(), ChainTally(), tmp_path) as (prices, _),
    ):
        for price, age, expected in (
            (market * Decimal("1.02"), 7100, (market * Decimal("1.01"), ("defillama", "pyth"))),
            (market * Decimal("1.2"), 7100, None),
            (market * Decimal("1.2"), 7300, (market, ("defillama",))),
        ):
            for row in rows:
                await tell(full_devnet, row, str(price), age)
            reported = (await prices.read(["KSM"], deadline=None)).get("KSM")
            assert (reported and (reported.value, reported.sources)) == expected, (price, age)


async def test_feeds_on_several_chains_are_one_source_and_stand_in_for_each_other(full_devnet: Devnet, tmp_path: Path):
    settings = full_devnet.settings_overrides() | {"sources": {}}
    async with (
        unchanged(full_devnet, "ethereum"),
        unchanged(full_devnet, "arbitrum"),
        opened(settings, ChainTally(), tmp_path) as (prices, _),
    ):
        await tell(full_devnet, CHAINLINK["ethereum LINK / USD"], "13.6")
        await tell(full_devnet, CHAINLINK["arbitrum LINK / USD"], "13.9")
        reported = (await prices.read(["LINK"], deadline=None))["LINK"]
        assert (reported.value, reported.sources) == ((Decimal("13.6") + Decimal("13.57")) / 2, ("chainlink", "pyth"))
        await tell(full_devnet, CHAINLINK["ethereum LINK / USD"], "0")
        reported = (await prices.read(["LINK"], deadline=None))["LINK"]
        assert reported.value == (Decimal("13.9") + Decimal("13.57")) / 2


async def test_a_lending_markets_oracle_is_no_second_opinion(full_devnet: Devnet, tmp_path: Path):
    """Aave's oracles pass on what Chainlink tells."""
    async with (
        unchanged(full_devnet, "arbitrum"),
        opened(full_devnet.settings_overrides(), ChainTally(), tmp_path) as (prices, _),
    ):
        for reported in (None, "0"):
            if reported is not None:
                await tell(full_devnet, CHAINLINK["arbitrum XPL / USD"], reported)
            price = (await prices.read(["XPL"], deadline=None))["XPL"]
            assert (price.value, price.sources) == (DOLLARS["XPL"], ("chainlink", "defillama"))


async def test_an_exchange_rate_needs_the_price_it_is_a_rate_to(full_devnet: Devnet, tmp_path: Path):
    settings = full_devnet.settings_overrides() | {"sources": {}}
    async with (
        unchanged(full_devnet, "ethereum"),
        unchanged(full_devnet, "arbitrum"),
        opened(settings, ChainTally(), tmp_path) as (prices, _),
    ):
        await tell(full_devnet, CHAINLINK["ethereum USDS / USD"], "0.99", age=1800)
        reported = (await prices.read(["sUSDS"], deadline=None))["sUSDS"]
        assert reported.value == Decimal("1.0746") * Decimal("0.99")
        assert (datetime.now(UTC) - reported.updated_at).total_seconds() >= 1790
        await tell(full_devnet, CHAINLINK["ethereum USDS / USD"], "0")
        await tell(full_devnet, CHAINLINK["arbitrum USDS / USD"], "0")
        assert await prices.read(["sUSDS"], deadline=None) == {}


async def test_what_it_costs_in_requests(full_devnet: Devnet, tmp_path: Path):
    tally = ChainTally()
    table = load_price_table().feeds
    async with opened(full_devnet.settings_overrides(), tally, tmp_path) as (prices, history):
        await prices.read(["ETH"], deadline=None)
        # One request to each chain that has a feed of it, one to the stand-in.
        assert sorted(tally.requests) == ["arbitrum", "base", "defillama", "ethereum", "optimism"]
        tally.requests.clear()
        await prices.read(PRICED_SYMBOLS, "EUR", deadline=None)
        chains = {feed.chain for symbol in (*PRICED_SYMBOLS, "EUR") for feed in table.get(symbol, ())}
        assert sorted(tally.requests) == sorted(chains)
        tally.requests.clear()
        await prices.read(["SSV", "SAGA", "nothing"], deadline=None)
        assert tally.requests == []
        for _ in range(3):
            await history.read("BTC", 90, "USD", None)
        # Hour by hour, 20 days in a request.
        assert tally.requests == ["defillama"] * 5


async def test_tokens_are_priced_by_chain_and_address_and_others_asked_for_once_a_minute(
    full_devnet: Devnet, tmp_path: Path
):
    tally = ChainTally()
    comp = ("ethereum", "0xc00e94Cb662C3520282E6f5717214004A7f26888")
    wrapped = {("polygon", "0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619"), ("base", "native")}
    unlisted = ("base", "0xc00e94Cb662C3520282E6f5717214004A7f26888")
    async with opened(full_devnet.settings_overrides(), tally, tmp_path) as (prices, _):
        await prices.read(["ETH"], deadline=None)
        tally.requests.clear()
        reported = await prices.read_tokens([comp, unlisted, *wrapped], deadline=None)
        assert {token: price.value for token, price in reported.items()} == {comp: DOLLARS["COMP"]} | dict.fromkeys(
            wrapped, DOLLARS["ETH"]
        )
        assert reported[comp].sources == ("defillama",)
        assert "chainlink" in reported["base", "native"].sources
        # The feeds of ether, and one request for both tokens that the catalogue does not have.
        assert sorted(tally.requests) == ["arbitrum", "base", "defillama", "ethereum", "optimism"]
        tally.requests.clear()
        assert (await prices.read_tokens([unlisted, comp], deadline=None)).keys() == {comp}
        assert tally.requests == []
