"""Funding rates of both venues over both faces: figures, order, filters, forms, requests, times."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from devnet.offchain import dydx, hyperliquid
from server.venues.dydx import Dydx
from server.venues.hyperliquid import Hyperliquid
from tests.server.rpc.refusals import OPERATIONS
from tests.server.venues.conftest import A, B

if TYPE_CHECKING:
    from tests.server.venues.conftest import Asked

pytestmark = pytest.mark.slow

RATES, OF_A, OF_B = "getFundingRates", "getVenueAFunding", "getVenueBFunding"
YEAR = 24 * 365


def percent(rate: Decimal) -> float:
    """Return an hourly rate as percent of a year, by another way than the gateway's."""
    return float(Decimal(YEAR) * Decimal(100) * rate)


def expected_a() -> list[dict[str, Any]]:
    """Return the rows of venue-a out of the stand-in's formulas."""
    rows = [
        {
            "coin": coin,
            "fundingRate": format(hyperliquid.hourly_rate(coin), "f"),
            "annualizedRate": percent(hyperliquid.hourly_rate(coin)),
            "markPrice": format(hyperliquid.mark_price(coin), "f"),
            "openInterest": format(hyperliquid.open_interest(coin), "f"),
        }
        for coin in hyperliquid.COINS
    ]
    return sorted(rows, key=lambda row: (-abs(row["annualizedRate"]), row["coin"]))


def expected_b(pays_at: str) -> list[dict[str, Any]]:
    """Return the rows of venue-b likewise."""
    rows = [
        {
            "ticker": ticker,
            "fundingRate": format(dydx.hourly_rate(ticker), "f"),
            "annualizedRate": percent(dydx.hourly_rate(ticker)),
            "nextFundingAt": pays_at,
        }
        for ticker in dydx.MARKETS
    ]
    return sorted(rows, key=lambda row: (-abs(row["annualizedRate"]), row["ticker"]))


def next_hour() -> str:
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    return hour.strftime("%Y-%m-%dT%H:%M:%SZ")


async def in_one_hour(asked: Asked, name: str, **params: Any) -> tuple[Any, Any, str]:
    """Return both answers and the next full hour, asked again where an hour ended meanwhile."""
    while True:
        before = next_hour()
        over_json, over_grpc = await asked.both(name, **params)
        if next_hour() == before:
            return over_json, over_grpc, before


async def test_venue_a(asked: Asked) -> None:
    over_json, over_grpc = await asked.both(OF_A)
    assert over_json == expected_a()
    assert [row.coin for row in over_grpc.rates] == [row["coin"] for row in over_json]
    assert [row.annualized_rate for row in over_grpc.rates] == [row["annualizedRate"] for row in over_json]
    assert hyperliquid.DELISTED not in json.dumps(over_json)


async def test_venue_b(asked: Asked) -> None:
    over_json, over_grpc, hour = await in_one_hour(asked, OF_B)
    assert over_json == expected_b(hour)
    assert [row.ticker for row in over_grpc.rates] == [row["ticker"] for row in over_json]
    assert {row.next_funding_at.ToDatetime().minute for row in over_grpc.rates} == {0}
    assert not set(dydx.PAUSED) & {row["ticker"] for row in over_json}
    # The stand-in writes 3e-7.
    assert next(row for row in over_json if row["ticker"] == dydx.TINY)["fundingRate"] == "0.0000003"


async def test_both_venues(asked: Asked) -> None:
    began = datetime.now(UTC)
    over_json, over_grpc, hour = await in_one_hour(asked, RATES)
    assert list(over_json) == ["venueA", "venueB", "timestamp", "unavailable"]
    assert (over_json["venueA"], over_json["venueB"]) == (expected_a(), expected_b(hour))
    assert over_json["unavailable"] == []
    reported = datetime.fromisoformat(over_json["timestamp"].replace("Z", "+00:00"))
    assert began - timedelta(seconds=1) <= reported <= datetime.now(UTC)
    assert over_grpc.timestamp.ToDatetime(UTC) - reported < timedelta(milliseconds=1)
    assert [row.coin for row in over_grpc.venue_a] == [row["coin"] for row in over_json["venueA"]]


async def test_venues_are_asked_as_they_want_to_be(asked: Asked) -> None:
    await asked.faces.ask(RATES, {})
    of_a, of_b = sorted(asked.venues.asked, key=lambda one: one.venue, reverse=True)
    assert (of_a.method, of_a.path, json.loads(of_a.body)) == (
        *("POST", "/hyperliquid/info"),
        {"type": "metaAndAssetCtxs"},
    )
    assert of_a.headers["Content-Type"] == "application/json"
    assert (of_b.method, of_b.path, of_b.body) == ("GET", "/dydx/v4/perpetualMarkets", b"")
    assert all(one.headers["User-Agent"].startswith("waypost/") for one in (of_a, of_b))


async def test_a_cold_call_is_one_request_per_venue_and_a_warm_one_none(asked: Asked) -> None:
    assert await asked.cache_of(RATES) == (200, "miss")
    assert asked.venues.counts() == {A: 1, B: 1}
    for name, params in ((RATES, {}), (OF_A, {}), (OF_A, {"coin": "BTC"}), (OF_B, {}), (OF_B, {"ticker": "BTC-USD"})):
        assert await asked.cache_of(name, **params) == (200, "hit"), name
    assert asked.venues.counts() == {A: 1, B: 1}


async def test_one_venue_asks_that_venue_alone(asked: Asked) -> None:
    await asked.both(OF_A)
    assert asked.venues.counts() == {A: 1, B: 0}
    await asked.both(OF_B)
    assert asked.venues.counts() == {A: 1, B: 1}


async def test_a_hundred_callers_at_once_are_one_request_per_venue(asked: Asked) -> None:
    async def twist_slowly(request: Any) -> Any:
        await asyncio.sleep(0.2)
        return await (hyperliquid._info if request.path.startswith("/hyperliquid") else dydx._markets)(request)

    asked.venues.twists = dict.fromkeys((A, B), twist_slowly)
    answers = await asyncio.gather(*(asked.faces.ask(RATES, {}) for _ in range(100)))
    assert len({json.dumps(answer["result"], sort_keys=True) for answer in answers}) == 1
    assert asked.venues.counts() == {A: 1, B: 1}


async def test_a_caller_that_wants_nothing_cached_gets_new_rates(asked: Asked) -> None:
    await asked.faces.ask(OF_A, {})
    await asyncio.sleep(1.1)
    body = {"jsonrpc": "2.0", "id": 1, "method": OF_A, "params": {}}
    response = await asked.faces.post(body, headers={"Cache-Control": "no-cache"})
    assert response.headers["X-Waypost-Cache"] == "bypass"
    assert asked.venues.counts() == {A: 2, B: 0}


@pytest.mark.parametrize("coin", ["kPEPE", "KPEPE", "kpepe", "xyz:gold", "@107"])
async def test_a_coin_is_found_in_any_case(asked: Asked, coin: str) -> None:
    over_json, over_grpc = await asked.both(OF_A, coin=coin)
    assert over_json == [row for row in expected_a() if row["coin"].lower() == coin.lower()]
    assert len(over_json) == len(over_grpc.rates) == 1


@pytest.mark.parametrize("coin", ["PEPE", "BT", "BTCC", " BTC", "BTC ", hyperliquid.DELISTED, "\U0001f98a", "x" * 128])
async def test_no_such_coin_is_an_empty_list(asked: Asked, coin: str) -> None:
    over_json, over_grpc = await asked.both(OF_A, coin=coin)
    assert (over_json, len(over_grpc.rates)) == ([], 0)


@pytest.mark.parametrize("ticker", ["BTC-USD", "btc-usd", "Btc-Usd", "buffi,raydium,a1b2c3d4-usd"])
async def test_a_market_is_found_in_any_case(asked: Asked, ticker: str) -> None:
    over_json, over_grpc, hour = await in_one_hour(asked, OF_B, ticker=ticker)
    assert over_json == [row for row in expected_b(hour) if row["ticker"].lower() == ticker.lower()]
    assert len(over_json) == len(over_grpc.rates) == 1


@pytest.mark.parametrize(
    "ticker", ["NOPE-USD", "LUNA-USD", "a b,0xAbC-usd", "--USD", "\U0001f98a-USD", "x" * 124 + "-USD"]
)
async def test_no_such_market_is_an_empty_list(asked: Asked, ticker: str) -> None:
    over_json, over_grpc = await asked.both(OF_B, ticker=ticker)
    assert (over_json, len(over_grpc.rates)) == ([], 0)


BAD = [
    (OF_B, {"ticker": "BTC"}, "ticker"),
    (OF_B, {"ticker": "BTC-EUR"}, "ticker"),
    (OF_B, {"ticker": "BTC_USD"}, "ticker"),
    (OF_B, {"ticker": "BTC-USD "}, "ticker"),
    (OF_B, {"ticker": "-USD"}, "ticker"),
    (OF_B, {"ticker": "USD"}, "ticker"),
    (OF_B, {"ticker": ""}, "ticker"),
    (OF_B, {"ticker": "B\nTC-USD"}, "ticker"),
    (OF_B, {"ticker": "BTC\u200b-USD"}, "ticker"),
    (OF_B, {"ticker": "BTC\x00-USD"}, "ticker"),
    (OF_B, {"ticker": "x" * 125 + "-USD"}, "ticker"),
    (OF_A, {"coin": ""}, "coin"),
    (OF_A, {"coin": "B\nTC"}, "coin"),
    (OF_A, {"coin": "x" * 129}, "coin"),
]


@pytest.mark.parametrize(("name", "params", "field"), BAD, ids=repr)
async def test_another_form_is_refused_before_anybody_is_asked(
    asked: Asked, name: str, params: dict[str, Any], field: str
) -> None:
    code, reason, named, message = await asked.refused(name, **params)
    assert (code, reason, named) == (400, "INVALID_ARGUMENT", field)
    assert field in message
    assert asked.venues.asked == []


@pytest.mark.parametrize(
    ("name", "params", "reason"),
    [
        (OF_B, {"ticker": 5}, "INVALID_ARGUMENT"),
        (OF_B, {"ticker": ["BTC-USD"]}, "INVALID_ARGUMENT"),
        (OF_A, {"coin": {"a": 1}}, "INVALID_ARGUMENT"),
        (OF_A, {"coins": "BTC"}, "UNKNOWN_PARAMETER"),
        (OF_A, {"chain": "ethereum"}, "UNKNOWN_PARAMETER"),
        (RATES, {"coin": "BTC"}, "UNKNOWN_PARAMETER"),
    ],
    ids=repr,
)
async def test_what_is_no_text_and_what_is_no_parameter(
    asked: Asked, name: str, params: dict[str, Any], reason: str
) -> None:
    error = (await asked.faces.ask(name, params))["error"]
    assert (error["code"], error["data"]["reason"]) == (400, reason)
    assert asked.venues.asked == []


async def test_null_keeps_everything(asked: Asked) -> None:
    answer = await asked.faces.ask(OF_A, {"coin": None})
    assert len(answer["result"]["data"]) == len(hyperliquid.COINS)


@pytest.mark.parametrize(("name", "alias"), [(OF_A, "getHyperliquidFunding"), (OF_B, "getDydxFunding")])
async def test_the_venues_own_names_answer_too(asked: Asked, name: str, alias: str) -> None:
    assert alias in OPERATIONS[name].aliases
    answer = await asked.faces.ask(alias, {})
    assert answer["result"]["data"]


@pytest.mark.parametrize(
    ("now", "pays_at"),
    [(1_795_003_199.9, 1_795_003_200), (1_795_003_200.0, 1_795_006_800), (1_795_003_200.1, 1_795_006_800)],
)
async def test_the_next_full_hour_is_that_of_the_answer(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, now: float, pays_at: int
) -> None:
    assert pays_at % 3600 == 0
    await asked.both(OF_B)
    await asked.both(RATES)
    monkeypatch.setattr("server.rpc.funding.time", lambda: now)
    for name, rows in ((OF_B, "rates"), (RATES, "venue_b")):
        over_json, over_grpc = await asked.both(name)
        assert {row.next_funding_at.seconds for row in getattr(over_grpc, rows)} == {pays_at}
        listed = over_json if name == OF_B else over_json["venueB"]
        reported = {datetime.fromisoformat(row["nextFundingAt"].replace("Z", "+00:00")).timestamp() for row in listed}
        assert reported == {float(pays_at)}
    assert asked.venues.counts() == {A: 1, B: 1}


async def test_equal_rates_stand_by_name(asked: Asked) -> None:
    universe = [{"name": name} for name in ("b", "A", "c", "a")]
    contexts = [
        {"funding": rate, "markPx": "1", "openInterest": "2"} for rate in ("0.00001", "-0.00001", "1e-5", "-0.00002")
    ]
    asked.venues.answer(A, json.dumps([{"universe": universe}, contexts]))
    over_json, _ = await asked.both(OF_A)
    assert [(row["coin"], row["fundingRate"]) for row in over_json] == [
        *(("a", "-0.00002"), ("A", "-0.00001"), ("b", "0.00001"), ("c", "0.00001"))
    ]
    assert [row["annualizedRate"] for row in over_json] == [-17.52, -8.76, 8.76, 8.76]


async def test_the_time_is_that_of_the_older_document(asked: Asked) -> None:
    await asked.both(OF_B)
    older = datetime.now(UTC)
    await asyncio.sleep(0.3)
    over_json, _ = await asked.both(RATES)
    assert datetime.fromisoformat(over_json["timestamp"].replace("Z", "+00:00")) <= older
    assert asked.venues.counts() == {A: 1, B: 1}


async def test_rates_in_use_are_refreshed_and_no_caller_waits(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    for venue in (Hyperliquid, Dydx):
        monkeypatch.setattr(venue, "lifetime", 1.0)
    await asked.faces.ask(RATES, {})
    statuses, until = set(), time.monotonic() + 3.0
    while time.monotonic() < until:
        statuses.add((await asked.cache_of(RATES))[1])
        await asyncio.sleep(0.1)
    assert statuses <= {"hit", "miss"}
    assert "hit" in statuses
    assert all(2 <= count <= 6 for count in asked.venues.counts().values())


async def test_a_venue_is_asked_for_what_has_changed_alone(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dydx, "lifetime", 0.0)
    document, seen = json.dumps(dydx.document()), []

    async def answer(request: Any) -> Any:
        from aiohttp import web

        seen.append(request.headers.get("If-None-Match"))
        if seen[-1] == '"1"':
            return web.Response(status=304, headers={"ETag": '"1"'})
        return web.Response(text=document, content_type="application/json", headers={"ETag": '"1"'})

    asked.venues.twists[B] = answer
    first = (await asked.faces.ask(OF_B, {}))["result"]["data"]
    second = (await asked.faces.ask(OF_B, {}))["result"]["data"]
    assert [row["ticker"] for row in second] == [row["ticker"] for row in first]
    assert seen == [None, '"1"']
