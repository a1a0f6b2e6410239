"""Prices over the local chains and the stand-in of an off-chain source, all computed again from what was put there."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import grpc
import pytest

from devnet.evm.feeds import load_feeds
from devnet.offchain.prices import load_coins, past_price
from runtime.settings import Settings
from server.app import Gateway
from server.catalog.feeds import load_price_table
from server.catalog.symbols import PRICED_SYMBOLS
from server.catalog.tokens import load_tokens
from server.chains.registry import Chains
from server.sources.prices import open_prices
from server.storage.database import open_database
from server.storage.price_records import PriceRecords
from server.upstream import open_session
from server.upstream.cache import open_cache
from server.upstream.observer import Measured
from tests.contract.operations.conftest import OPERATIONS, Client, unchanged
from tests.contract.operations.telling import tell

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.launcher import Devnet
    from server.sources.prices.opening import Opened
    from tests.postgresql import PostgreSql

DOLLARS = {coin.symbol: coin.price for coin in load_coins().values()}
EURO = DOLLARS["EUR"]
FEEDS = load_feeds()
CHAINLINK = {f"{row['chain']} {row['pair']}": row for row in FEEDS["chainlink"]}
PYTH = {f"{row['chain']} {row['pair']}": row for row in FEEDS["pyth"]}


class Tally(Measured):
    """Counts requests that callers cause, by chain or source."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    def sent(self, chain: str, endpoint: str, purpose: str, calls: int) -> None:
        if purpose in ("call", "heavy"):
            self.requests.append(chain)


@asynccontextmanager
async def opened(settings: dict[str, Any], tally: Tally, folder: Path) -> AsyncIterator[Opened]:
    """The prices of a gateway without its servicers; every EVM endpoint has proved its chain id."""
    whole = Settings.model_validate(settings)
    async with AsyncExitStack() as lifetime:
        http = await lifetime.enter_async_context(open_session())
        database = await open_database(f"sqlite:///{folder}/prices.db")
        lifetime.push_async_callback(database.dispose)
        chains = Chains.load(whole, http, observer=tally)
        lifetime.push_async_callback(chains.close)
        for slug in settings["chains"]:
            driver: Any = chains.get(slug).driver
            if chains.get(slug).family == "evm":
                await driver.pool.call("eth_chainId", [])
        prices = open_prices(whole, chains, http, database, open_cache(whole), lifetime, observer=tally)
        tally.requests.clear()
        yield prices


def test_the_stand_in_tells_what_the_feeds_tell():
    for row in (*FEEDS["chainlink"], *FEEDS["pyth"], *FEEDS["aave"]):
        base, _, quote = row["pair"].partition(" / ")
        symbol = {"MATIC": "POL", "mRe7YIELD": "MRE7YIELD"}.get(base, base)
        expected = DOLLARS[symbol] / (DOLLARS["USDS"] if quote == "USDS" else 1)
        assert Decimal(row["price"]) == expected, row["pair"]


async def test_every_symbol_has_a_price_in_both_currencies(client: Client):
    before = time.time()
    answer = await client.ask("getPrices", items=[{"symbol": symbol} for symbol in PRICED_SYMBOLS])
    assert answer.count == len(answer.results) == 39
    assert [row.symbol for row in answer.results] == list(PRICED_SYMBOLS)
    for row in answer.results:
        assert not row.HasField("error"), row.symbol
        assert row.price.price_usd == float(DOLLARS[row.symbol])
        assert row.price.price_eur == pytest.approx(float(DOLLARS[row.symbol] / EURO), rel=1e-14)
        assert row.price.name == load_tokens().by_symbol[row.symbol].name
        # No older than the newest local blocks, which are made by hand here.
        assert before - 6 * 3600 <= row.price.last_updated.ToMilliseconds() / 1000 <= time.time() + 1


@pytest.mark.parametrize("symbol", ["BTC", "sUSDS", "ETHV"])
async def test_one_price(client: Client, symbol: str):
    answer = await client.ask("getPrice", symbol=symbol)
    assert (answer.symbol, answer.name) == (symbol, load_tokens().by_symbol[symbol].name)
    assert answer.price_usd == float(DOLLARS[symbol])
    assert answer.price_eur == pytest.approx(float(DOLLARS[symbol] / EURO), rel=1e-14)


@pytest.mark.parametrize("currency", ["USD", "EUR"])
async def test_top_prices_are_ranked_by_chains_then_price(client: Client, currency: str):
    answer = await client.ask("getTopPrices", limit=200, currency=f"CURRENCY_{currency}")
    divisor = EURO if currency == "EUR" else Decimal(1)
    chains = {
        token.symbol: {row.chain for row in token.deployments if row.unverified != "address"} for token in load_tokens()
    }
    expected = sorted(
        ((-len(chains[symbol]), -price / divisor, symbol) for symbol, price in DOLLARS.items() if symbol != "EUR")
    )
    assert [row.symbol for row in answer.results] == [symbol for _, _, symbol in expected]
    assert answer.count == len(answer.results) == 58
    assert len({row.symbol for row in answer.results}) == 58
    for row in answer.results:
        assert row.price == pytest.approx(float(DOLLARS[row.symbol] / divisor), rel=1e-14)
        assert row.chains == len(chains[row.symbol])
    few = await client.ask("getTopPrices", limit=7, currency=f"CURRENCY_{currency}")
    assert [row.symbol for row in few.results] == [row.symbol for row in answer.results[:7]]
    assert (await client.ask("getTopPrices")).count == 50


async def test_history_is_the_highest_of_each_day(client: Client):
    # The stand-in tells a price every six hours. Where one falls in between, another symbol is asked for.
    for symbol in ("wstETH", "MORPHO"):
        now = datetime.now(UTC)
        answer = await client.ask("getPriceHistory", symbol=symbol, days=90)
        euros = await client.ask("getPriceHistory", symbol=symbol, days=2, currency="CURRENCY_EUR")
        if datetime.now(UTC).timestamp() // 21_600 == now.timestamp() // 21_600:
            break
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    assert len(answer.prices) == 90
    assert answer.name == load_tokens().by_symbol[answer.symbol].name
    for number, point in enumerate(reversed(answer.prices)):
        day = midnight - timedelta(days=number)
        assert point.date == day.date().isoformat()
        told = [int((day + timedelta(hours=hour)).timestamp()) for hour in (0, 6, 12, 18)]
        highest = max(past_price(DOLLARS[answer.symbol], at) for at in told if at <= now.timestamp())
        assert point.price == pytest.approx(float(highest), rel=1e-14)
    assert len((await client.ask("getPriceHistory", symbol=answer.symbol)).prices) == 30
    yesterday = midnight - timedelta(days=1)
    last = int((yesterday + timedelta(hours=18)).timestamp())
    expected = Decimal(repr(answer.prices[-2].price)) / past_price(EURO, last)
    assert euros.prices[0].price == pytest.approx(float(expected), rel=1e-12)


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
        opened(full_devnet.settings_overrides(), Tally(), tmp_path) as (prices, _),
    ):
        told = (await prices.read(["EIGEN"], deadline=None))["EIGEN"]
        assert (told.value, told.sources) == (DOLLARS["EIGEN"], ("chainlink", "defillama", "pyth"))
        await tell(full_devnet, row, price, age)
        told = (await prices.read(["EIGEN"], deadline=None))["EIGEN"]
        assert (told.value, told.sources) == (DOLLARS["EIGEN"], ("defillama", "pyth"))
        await tell(full_devnet, row, "1.01", age=3600)
        told = (await prices.read(["EIGEN"], deadline=None))["EIGEN"]
        # The median of 1.01, 0.987 and 0.987, dated by the feed, which is an hour old.
        assert (told.value, len(told.sources)) == (DOLLARS["EIGEN"], 3)
        assert 3590 <= (datetime.now(UTC) - told.updated_at).total_seconds() <= 3700


async def test_a_report_that_nobody_promised_to_renew_counts_for_two_hours(full_devnet: Devnet, tmp_path: Path):
    """KSM has no feed but Pyth's, on two chains: told a while ago at a price from which the market has moved."""
    rows = [row for name, row in PYTH.items() if name.endswith("KSM / USD")]
    assert {row["chain"] for row in rows} == {"arbitrum", "base"}
    market = DOLLARS["KSM"]
    async with (
        unchanged(full_devnet, "arbitrum"),
        unchanged(full_devnet, "base"),
        opened(full_devnet.settings_overrides(), Tally(), tmp_path) as (prices, _),
    ):
        for price, age, expected in (
            (market * Decimal("1.02"), 7100, (market * Decimal("1.01"), ("defillama", "pyth"))),
            (market * Decimal("1.2"), 7100, None),
            (market * Decimal("1.2"), 7300, (market, ("defillama",))),
        ):
            for row in rows:
                await tell(full_devnet, row, str(price), age)
            told = (await prices.read(["KSM"], deadline=None)).get("KSM")
            assert (told and (told.value, told.sources)) == expected, (price, age)


async def test_feeds_on_several_chains_are_one_source_and_stand_in_for_each_other(full_devnet: Devnet, tmp_path: Path):
    settings = full_devnet.settings_overrides() | {"sources": {}}
    async with (
        unchanged(full_devnet, "ethereum"),
        unchanged(full_devnet, "arbitrum"),
        opened(settings, Tally(), tmp_path) as (prices, _),
    ):
        await tell(full_devnet, CHAINLINK["ethereum LINK / USD"], "13.6")
        await tell(full_devnet, CHAINLINK["arbitrum LINK / USD"], "13.9")
        told = (await prices.read(["LINK"], deadline=None))["LINK"]
        assert (told.value, told.sources) == ((Decimal("13.6") + Decimal("13.57")) / 2, ("chainlink", "pyth"))
        await tell(full_devnet, CHAINLINK["ethereum LINK / USD"], "0")
        told = (await prices.read(["LINK"], deadline=None))["LINK"]
        assert told.value == (Decimal("13.9") + Decimal("13.57")) / 2


async def test_a_lending_markets_oracle_is_no_second_opinion(full_devnet: Devnet, tmp_path: Path):
    """Aave's oracles pass on what Chainlink tells."""
    async with (
        unchanged(full_devnet, "arbitrum"),
        opened(full_devnet.settings_overrides(), Tally(), tmp_path) as (prices, _),
    ):
        for told in (None, "0"):
            if told is not None:
                await tell(full_devnet, CHAINLINK["arbitrum XPL / USD"], told)
            price = (await prices.read(["XPL"], deadline=None))["XPL"]
            assert (price.value, price.sources) == (DOLLARS["XPL"], ("chainlink", "defillama"))


async def test_an_exchange_rate_needs_the_price_it_is_a_rate_to(full_devnet: Devnet, tmp_path: Path):
    settings = full_devnet.settings_overrides() | {"sources": {}}
    async with (
        unchanged(full_devnet, "ethereum"),
        unchanged(full_devnet, "arbitrum"),
        opened(settings, Tally(), tmp_path) as (prices, _),
    ):
        await tell(full_devnet, CHAINLINK["ethereum USDS / USD"], "0.99", age=1800)
        told = (await prices.read(["sUSDS"], deadline=None))["sUSDS"]
        assert told.value == Decimal("1.0746") * Decimal("0.99")
        assert (datetime.now(UTC) - told.updated_at).total_seconds() >= 1790
        await tell(full_devnet, CHAINLINK["ethereum USDS / USD"], "0")
        await tell(full_devnet, CHAINLINK["arbitrum USDS / USD"], "0")
        assert await prices.read(["sUSDS"], deadline=None) == {}


async def test_what_it_costs_in_requests(full_devnet: Devnet, tmp_path: Path):
    tally = Tally()
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
        assert tally.requests == ["defillama"]


async def test_without_a_live_source_there_is_no_price_and_no_zero(full_devnet: Devnet, tmp_path: Path):
    overrides = full_devnet.settings_overrides()
    chains = {"ethereum": overrides["chains"]["ethereum"]}
    settings = Settings.model_validate(
        {
            "profile": "devnet",
            "chains": chains,
            "storage": {"url": f"sqlite:///{tmp_path}/w.db"},
            "grpc": {"port": 0},
            "cache": {"max_bytes": 0},
        }
    )
    async with AsyncExitStack() as ending:
        gateway = await Gateway.create(settings)
        ending.push_async_callback(gateway.drain, 0)
        port = await gateway.start()
        await ending.enter_async_context(unchanged(full_devnet, "ethereum"))
        channel = await ending.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{port}"))
        client = Client(channel)
        refused = await client.refused("getPrice", symbol="KSM")
        assert (refused.status, refused.reason) == (grpc.StatusCode.UNAVAILABLE, "PRICE_UNAVAILABLE")
        assert (await client.refused("getPriceHistory", symbol="BTC")).reason == "PRICE_UNAVAILABLE"
        rows = (await client.ask("getPrices", items=[{"symbol": "BTC"}, {"symbol": "KSM"}])).results
        assert rows[0].price.price_usd == float(DOLLARS["BTC"])
        assert (rows[1].error.code, rows[1].error.reason) == (503, "PRICE_UNAVAILABLE")
        assert not rows[1].HasField("price")
        assert (await client.refused("getPrices", items=[{"symbol": "KSM"}])).reason == "PRICE_UNAVAILABLE"
        priced = {row.symbol for row in (await client.ask("getTopPrices", limit=200)).results}
        assert "BTC" in priced
        assert "KSM" not in priced
        await tell(full_devnet, CHAINLINK["ethereum EUR / USD"], "0")
        answer = await client.ask("getPrice", symbol="BTC")
        assert answer.price_usd == float(DOLLARS["BTC"])
        assert not answer.HasField("price_eur")
        assert (await client.ask("getTopPrices", currency="CURRENCY_EUR")).count == 0


async def test_a_gateway_keeps_keys_and_prices_in_postgresql(full_devnet: Devnet, postgresql: PostgreSql):
    overrides = full_devnet.settings_overrides() | {"storage": {"url": postgresql.database()}, "grpc": {"port": 0}}
    async with AsyncExitStack() as ending:
        gateway = await Gateway.create(Settings.model_validate(overrides))
        ending.push_async_callback(gateway.drain, 0)
        _, key = await gateway.keys.create_key("somebody")
        channel = await ending.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{await gateway.start()}"))
        operation = OPERATIONS["getPriceHistory"]
        call = channel.unary_unary(
            operation.path,
            request_serializer=operation.request.SerializeToString,
            response_deserializer=operation.response.FromString,
        )
        answer = await call(operation.request(symbol="ETH", days=5), metadata=(("x-api-key", key),), timeout=30)
        assert len(answer.prices) == 5
    engine = await open_database(Settings.model_validate(overrides).storage.url.get_secret_value())
    stored = await PriceRecords(engine).read_days("ETH", date.min, date.max)
    await engine.dispose()
    assert len(stored) == 90
    assert [float(stored[day].maximum) for day in sorted(stored)[-5:]] == [point.price for point in answer.prices]


async def test_nobody_answers_at_all(full_devnet: Devnet, tmp_path: Path):
    dead = {"endpoints": [{"label": "dead", "url": "http://127.0.0.1:9"}]}
    settings = Settings.model_validate(
        {
            "profile": "devnet",
            "chains": dict.fromkeys(("ethereum", "arbitrum", "base"), dead),
            "sources": {"defillama": dead, "coingecko": dead, "frankfurter": dead},
            "storage": {"url": f"sqlite:///{tmp_path}/w.db"},
            "grpc": {"port": 0},
        }
    )
    async with AsyncExitStack() as ending:
        gateway = await Gateway.create(settings)
        ending.push_async_callback(gateway.drain, 0)
        channel = await ending.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{await gateway.start()}"))
        client = Client(channel)
        for name, fields in (
            ("getPrice", {"symbol": "ETH"}),
            ("getPrices", {"items": [{"symbol": "ETH"}, {"symbol": "BTC"}]}),
            ("getPriceHistory", {"symbol": "ETH"}),
            ("getPriceHistory", {"symbol": "ETH", "currency": "CURRENCY_EUR"}),
        ):
            refused = await client.refused(name, **fields)
            assert (refused.status, refused.reason) == (grpc.StatusCode.UNAVAILABLE, "PRICE_UNAVAILABLE"), name
            assert "127.0.0.1" not in refused.message
        assert (await client.ask("getTopPrices")).count == 0
