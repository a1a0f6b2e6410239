"""The off-chain APIs' adapters over recorded shapes: exact figures, and errors for every other shape."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from yarl import URL

from runtime.version import VERSION
from server.errors import GatewayError, UpstreamUnavailable
from server.prices.coingecko import CoinGecko
from server.prices.defillama import DefiLlama
from server.prices.frankfurter import Frankfurter
from server.prices.source import Day, Observation
from tests.recordings.hourly import Hourly, hourly_price
from tests.recordings.replay import Replay, recorded, replaying
from tests.server.prices.conftest import pool_of

if TYPE_CHECKING:
    from server.upstream import RestPool

USDC = "ethereum:0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
SPK = "ethereum:0xc20059e0317DE91738d13af027DfC4a50781b066"
LLAMA = {"BTC": "coingecko:bitcoin", "USDC": USDC, "SPK": SPK, "SSV": "ethereum:0x0"}
GECKO = {"BTC": "bitcoin", "USDC": "usd-coin", "ETHW": "ethereum-pow-iou", "SSV": "ssv-network"}
NOW = 1_800_000_000.0  # 2027-01-15 08:00


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def day(maximum: str, last: str, last_at: int, *hours: int) -> Day:
    return Day(Decimal(maximum), Decimal(last), at(last_at), sum(1 << hour for hour in hours))


BITCOIN_DAYS = {
    # The price of a second before midnight counts for its day, and makes the next day's first hour known.
    date(2027, 1, 13): day("90500.25", "90100.75", 1_799_884_799, 0, 12),
    date(2027, 1, 15): day("91234.5678", "91234.5678", 1_799_971_200, 0),
}


def llama(pool: RestPool) -> DefiLlama:
    return DefiLlama(pool, LLAMA, wall=lambda: NOW)


def gecko(pool: RestPool) -> CoinGecko:
    return CoinGecko(pool, GECKO, wall=lambda: NOW)


def bank(pool: RestPool) -> Frankfurter:
    return Frankfurter(pool, wall=lambda: NOW)


def soon() -> float:
    return time.monotonic() + 5


async def test_defillama_tells_exact_prices_and_whose_they_are():
    answers = {"/prices/current/": recorded("prices/defillama_current.json")}
    async with replaying(Replay(answers)) as replay, pool_of(replay) as pool:
        reported = await llama(pool).fetch(soon())
    # SPK's confidence is too low, SSV is not among the answers. Bitcoin's figure is CoinGecko's, by its key.
    assert reported == [
        Observation("BTC", "coingecko", Decimal("91234.5678"), at(1_800_000_000)),
        Observation("USDC", "defillama", Decimal("1.000123456789012"), at(1_799_999_940)),
    ]
    assert replay.asked == [f"/prices/current/{','.join(LLAMA.values())}"]


async def test_defillama_is_asked_for_a_hundred_coins_at_most_at_once():
    coins = {f"S{number}": f"standin:{number}" for number in range(150)}
    async with replaying(Replay({"/prices/current/": '{"coins":{}}'})) as replay, pool_of(replay) as pool:
        assert await DefiLlama(pool, coins).fetch(soon()) == []
    assert [asked.count("standin") for asked in sorted(replay.asked, key=len)] == [50, 100]


async def test_coingecko_tells_exact_prices():
    answers = {"/simple/price": recorded("prices/coingecko_simple.json")}
    async with replaying(Replay(answers)) as replay, pool_of(replay) as pool:
        reported = await gecko(pool).fetch(soon())
    # A coin that is not traded has no price, a coin that is not known no row.
    assert reported == [
        Observation("BTC", "coingecko", Decimal("91230.12"), at(1_799_999_990)),
        Observation("USDC", "coingecko", Decimal("0.999876"), at(1_799_999_985)),
    ]
    assert replay.asked == [
        "/simple/price?ids=bitcoin,usd-coin,ethereum-pow-iou,ssv-network&vs_currencies=usd&include_last_updated_at=true"
    ]


@pytest.mark.parametrize("row", ["{}", '{"usd":null}', '{"usd":null,"last_updated_at":null}', '{"last_updated_at":1}'])
async def test_a_coin_that_coingecko_has_no_price_of_costs_no_other(row: str):
    body = f'{{"bitcoin":{row},"usd-coin":{{"usd":0.999876,"last_updated_at":1799999985}}}}'
    async with replaying(Replay({"/simple/price": body})) as replay, pool_of(replay) as pool:
        reported = await gecko(pool).fetch(soon())
    assert reported == [Observation("USDC", "coingecko", Decimal("0.999876"), at(1_799_999_985))]


async def test_frankfurter_tells_the_euro():
    answers = {"/v1/latest": recorded("prices/frankfurter_latest.json")}
    async with replaying(Replay(answers)) as replay, pool_of(replay) as pool:
        reported = await bank(pool).fetch(soon())
    assert reported == [Observation("EUR", "frankfurter", Decimal("1.0845"), datetime(2027, 1, 14, tzinfo=UTC))]
    assert replay.asked == ["/v1/latest?base=EUR&symbols=USD"]


async def test_days_are_those_of_utc_with_their_highest_and_last_price():
    async with (
        replaying(Replay({"/chart/": recorded("prices/defillama_chart.json")})) as replay,
        pool_of(replay) as pool,
    ):
        assert await llama(pool).read_days("BTC", 3, soon()) == BITCOIN_DAYS
        assert await llama(pool).read_days("nothing", 3, soon()) == {}
    # From the midnight that begins the 13th, every hour until now.
    assert replay.asked == ["/chart/coingecko:bitcoin?start=1799798400&span=57&period=1h&searchWidth=30m"]
    last = date(2027, 1, 15)
    expected = BITCOIN_DAYS | {last: day("91230.12", "91230.12", 1_799_971_200, 0)}
    async with (
        replaying(Replay({"/coins/": recorded("prices/coingecko_chart.json")})) as replay,
        pool_of(replay) as pool,
    ):
        assert await gecko(pool).read_days("BTC", 3, soon()) == expected
        assert await gecko(pool).read_days("nothing", 3, soon()) == {}
        await gecko(pool).read_days("BTC", 90, soon())
    assert replay.asked == [f"/coins/bitcoin/market_chart?vs_currency=usd&days={days}" for days in (4, 90)]
    async with (
        replaying(Replay({"/v1/2": recorded("prices/frankfurter_series.json")})) as replay,
        pool_of(replay) as pool,
    ):
        days = await bank(pool).read_days("EUR", 5, soon())
        assert await bank(pool).read_days("BTC", 5, soon()) == {}
    assert days == {
        date(2027, 1, 11): day("1.0815", "1.0815", 1_799_625_600, *range(24)),
        date(2027, 1, 14): day("1.0845", "1.0845", 1_799_884_800, *range(24)),
    }
    assert replay.asked == ["/v1/2027-01-11..2027-01-15?base=EUR&symbols=USD"]


async def test_defillama_tells_every_hour_of_90_days_in_several_requests():
    midnight = 1_799_971_200
    first = midnight - 89 * 86_400
    async with replaying(Hourly()) as replay, pool_of(replay) as pool:
        days = await llama(pool).read_days("BTC", 90, soon())
    asked = sorted((int(url.query["start"]), int(url.query["span"])) for url in map(URL, replay.asked))
    assert asked == [(first + number * 480 * 3600, 480) for number in range(4)] + [(first + 1920 * 3600, 225)]
    assert {URL(path).query["period"] for path in replay.asked} == {"1h"}
    assert sorted(days) == [at(first).date() + timedelta(days=number) for number in range(90)]
    for number, reported in enumerate(days[one] for one in sorted(days)):
        hours = range(24) if number < 89 else range(9)
        prices = [hourly_price(first + number * 86_400 + hour * 3600) for hour in hours]
        assert (reported.maximum, reported.last) == (max(prices), prices[-1])
        assert reported.hours == sum(1 << hour for hour in hours)


async def test_prices_some_minutes_off_the_hour_make_every_hour_known():
    for shift in (-420, -1, 0, 59, 1500):
        async with replaying(Hourly(shift=shift)) as replay, pool_of(replay) as pool:
            days = await llama(pool).read_days("BTC", 3, soon())
        assert [row.hours.bit_count() for _, row in sorted(days.items())][-3:-1] == [24, 24], shift


async def test_of_several_requests_a_failed_one_is_tried_again_and_none_may_be_missing():
    third = 1_799_971_200 - 89 * 86_400 + 960 * 3600
    async with replaying(Hourly(failing=third, failures=1)) as replay, pool_of(replay) as pool:
        assert len(await llama(pool).read_days("BTC", 90, soon())) == 90
    assert len(replay.asked) == 6
    async with replaying(Hourly(failing=third, failures=100)) as replay, pool_of(replay) as pool:
        with pytest.raises(UpstreamUnavailable):
            await llama(pool).read_days("BTC", 90, soon())


async def test_a_coin_that_coingecko_does_not_have_has_no_history():
    async with replaying(Replay()) as replay, pool_of(replay) as pool:
        assert await gecko(pool).read_days("BTC", 3, soon()) == {}


CHANGED: list[tuple[Any, str, str]] = [
    (llama, "/prices/current/", '{"prices":{}}'),
    (llama, "/prices/current/", '{"coins":[]}'),
    (llama, "/prices/current/", '{"coins":{"coingecko:bitcoin":{"price":null,"timestamp":1800000000}}}'),
    (llama, "/prices/current/", '{"coins":{"coingecko:bitcoin":{"price":{"usd":1},"timestamp":1800000000}}}'),
    (llama, "/prices/current/", '{"coins":{"coingecko:bitcoin":{"price":1}}}'),
    (llama, "/prices/current/", '{"coins":{"coingecko:bitcoin":{"price":1,"timestamp":"2027-01-15"}}}'),
    (llama, "/prices/current/", '{"coins":{"coingecko:bitcoin":{"price":1,"timestamp":1800000000000000}}}'),
    (gecko, "/simple/price", "[]"),
    (gecko, "/simple/price", '{"bitcoin":{"usd":1}}'),
    (gecko, "/simple/price", '{"bitcoin":{"usd":"n/a","last_updated_at":1800000000}}'),
    (gecko, "/simple/price", '{"bitcoin":91230}'),
    (gecko, "/simple/price", '{"bitcoin":{"usd":1,"last_updated_at":null}}'),
    (gecko, "/simple/price", '{"status":{"error_code":429,"error_message":"slow down"}}'),
    (gecko, "/simple/price", '{"data":{"bitcoin":{"usd":1,"last_updated_at":1800000000}}}'),
    (bank, "/v1/latest", '[{"date":"2027-01-14","base":"EUR","quote":"USD","rate":1.08}]'),
    (bank, "/v1/latest", '{"base":"EUR","date":"yesterday","rates":{"USD":1.08}}'),
    (bank, "/v1/latest", '{"base":"EUR","date":"2027-01-14","rates":{"USD":null}}'),
]


@pytest.mark.parametrize(
    ("open_api", "path", "body"), CHANGED, ids=[f"{api.__name__}-{number}" for number, (api, *_) in enumerate(CHANGED)]
)
async def test_another_shape_is_an_error_and_no_figure(open_api: Any, path: str, body: str):
    async with replaying(Replay({path: body})) as replay, pool_of(replay) as pool:
        with pytest.raises(UpstreamUnavailable, match="this build does not know"):
            await open_api(pool).fetch(soon())


@pytest.mark.parametrize("price", ["0", "-1", "-0.0", "1e-400", "1e400", '"NaN"', '"sNaN"', '"Infinity"'])
async def test_what_is_not_above_zero_and_finite_is_no_price(price: str):
    body = f'{{"coins":{{"coingecko:bitcoin":{{"price":{price},"timestamp":1800000000}}}}}}'
    async with replaying(Replay({"/prices/current/": body})) as replay, pool_of(replay) as pool:
        assert await llama(pool).fetch(soon()) == []
    body = f'{{"bitcoin":{{"usd":{price},"last_updated_at":1800000000}}}}'
    async with replaying(Replay({"/simple/price": body})) as replay, pool_of(replay) as pool:
        assert await gecko(pool).fetch(soon()) == []
    body = f'{{"base":"EUR","date":"2027-01-14","rates":{{"USD":{price}}}}}'
    async with replaying(Replay({"/v1/latest": body})) as replay, pool_of(replay) as pool:
        assert await bank(pool).fetch(soon()) == []


async def test_the_dollar_in_euros_is_not_taken_for_the_euro_in_dollars():
    body = '{"base":"USD","date":"2027-01-14","rates":{"EUR":0.9221}}'
    async with replaying(Replay({"/v1/latest": body})) as replay, pool_of(replay) as pool:
        assert await bank(pool).fetch(soon()) == []


@pytest.mark.parametrize("body", ["<html>maintenance</html>", "", '{"coins":', "[" * 2000 + "]" * 2000])
async def test_what_is_no_answer_is_an_error(body: str):
    for open_api, path in ((llama, "/prices/current/"), (gecko, "/simple/price"), (bank, "/v1/latest")):
        async with replaying(Replay({path: body})) as replay, pool_of(replay) as pool:
            with pytest.raises(GatewayError):
                await open_api(pool).fetch(soon())


async def test_the_next_endpoint_answers_for_one_that_is_throttled_or_broken():
    good = Replay({"/prices/current/": recorded("prices/defillama_current.json")})
    for status in (429, 500, 403, 404):
        bad = Replay({"/prices/current/": '{"error":"no"}'}, status=status)
        async with replaying(bad), replaying(good), pool_of(bad, good) as pool:
            assert len(await llama(pool).fetch(soon())) == 2
            assert len(bad.asked) == 1


async def test_every_request_says_who_asks():
    # CoinGecko answers 403 to those who do not.
    replay = Replay(
        {"/prices/current/": '{"coins":{}}', "/simple/price": "{}", "/v1/": "[]", "/chart/": "[]", "/coins/": "[]"}
    )
    async with replaying(replay), pool_of(replay) as pool:
        for open_api, symbol in ((llama, "BTC"), (gecko, "BTC"), (bank, "EUR")):
            for asking in (open_api(pool).fetch(soon()), open_api(pool).read_days(symbol, 3, soon())):
                with suppress(UpstreamUnavailable):
                    await asking
    assert replay.agents == [f"waypost/{VERSION}"] * 6
