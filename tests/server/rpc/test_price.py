"""What the price operations answer over the local chains, computed again from what was put there."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import grpc
import pytest
from waypost.v1.common_pb2 import REASON_PRICE_UNAVAILABLE

from devnet.offchain.prices import past_price
from runtime.settings import Settings
from server.app import Gateway
from server.catalog.tokens import PRICED_SYMBOLS, load_tokens
from server.storage.database import open_database
from server.storage.price_records import PriceRecords
from tests.server.rpc.conftest import OPERATIONS, Client, unchanged
from tests.server.rpc.price_feeds import CHAINLINK, DOLLARS, tell

if TYPE_CHECKING:
    from pathlib import Path

    from devnet.launcher import Devnet
    from tests.postgresql import PostgreSql

pytestmark = pytest.mark.devnet

EURO = DOLLARS["EUR"]


async def test_every_symbol_has_a_price_in_both_currencies(client: Client):
    before = time.time()
    answer = await client.ask("getPrices", items=[{"symbol": symbol} for symbol in PRICED_SYMBOLS])
    assert answer.count == len(answer.results) == 39
    assert [row.symbol for row in answer.results] == list(PRICED_SYMBOLS)
    for row in answer.results:
        assert not row.HasField("error"), row.symbol
        assert row.value.price_usd == float(DOLLARS[row.symbol])
        assert row.value.price_eur == pytest.approx(float(DOLLARS[row.symbol] / EURO), rel=1e-14)
        assert row.value.name == load_tokens().by_symbol[row.symbol].name
        # No older than the newest local blocks, which are made by hand here.
        assert before - 6 * 3600 <= row.value.last_updated.ToMilliseconds() / 1000 <= time.time() + 1


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
        ((-len(chains[symbol]), -price / divisor, symbol) for symbol, price in DOLLARS.items() if symbol in chains)
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


async def test_history_is_the_highest_of_each_days_hours(client: Client):
    # The stand-in tells another price every hour. Where one begins in between, another symbol is asked for.
    for symbol in ("wstETH", "MORPHO"):
        now = datetime.now(UTC)
        answer = await client.ask("getPriceHistory", symbol=symbol, days=90)
        euros = await client.ask("getPriceHistory", symbol=symbol, days=2, currency="CURRENCY_EUR")
        if datetime.now(UTC).timestamp() // 3600 == now.timestamp() // 3600:
            break
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    assert len(answer.prices) == 90
    assert answer.name == load_tokens().by_symbol[answer.symbol].name
    for number, point in enumerate(reversed(answer.prices)):
        day = midnight - timedelta(days=number)
        assert point.date == day.date().isoformat()
        reported = [int((day + timedelta(hours=hour)).timestamp()) for hour in range(24)]
        highest = max(past_price(DOLLARS[answer.symbol], at) for at in reported if at <= now.timestamp())
        assert point.price == pytest.approx(float(highest), rel=1e-14)
        assert point.complete == (number > 0)
    assert len((await client.ask("getPriceHistory", symbol=answer.symbol)).prices) == 30
    yesterday = midnight - timedelta(days=1)
    last = int((yesterday + timedelta(hours=23)).timestamp())
    expected = Decimal(repr(answer.prices[-2].price)) / past_price(EURO, last)
    assert euros.prices[0].price == pytest.approx(float(expected), rel=1e-12)
    assert [point.complete for point in euros.prices] == [True, False]


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
        assert rows[0].value.price_usd == float(DOLLARS["BTC"])
        assert (rows[1].error.code, rows[1].error.reason) == (503, REASON_PRICE_UNAVAILABLE)
        assert not rows[1].HasField("value")
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
