"""Sources of prices that lie, are slow, throttle or are dead: the others answer, and nothing wrong is answered."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from runtime.settings import Settings
from server.apis.sources import Sources
from server.catalog.tokens import load_tokens
from server.chains.registry import Chains
from server.prices import open_prices
from server.storage.database import open_database
from server.upstream import open_session
from server.upstream.cache import open_cache
from tests.recordings.replay import Replay, replaying

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.launcher import Devnet
    from server.prices.factory import Opened

pytestmark = pytest.mark.devnet

# On ethereum and arbitrum: Chainlink's and Pyth's feeds both report this of LINK.
TRUTH = Decimal("13.57")
SPARK = "ethereum:0xc20059e0317DE91738d13af027DfC4a50781b066"
LINK = load_tokens().by_symbol["LINK"].defillama[-1]


def llama(link: str = "13.5", spark: str = "0.05") -> Replay:
    coins = {
        key: {"price": float(price), "symbol": "?", "timestamp": int(time.time()), "confidence": 0.99}
        for key, price in ((LINK, link), (SPARK, spark))
    }
    return Replay({"/prices/current/": orjson.dumps({"coins": coins}).decode()})


def gecko(link: str = "13.6", spark: str = "0.05") -> Replay:
    now = int(time.time())
    coins = {
        key: {"usd": float(price), "last_updated_at": now} for key, price in (("chainlink", link), ("spark-2", spark))
    }
    return Replay({"/simple/price": orjson.dumps(coins).decode()})


@asynccontextmanager
async def opened(devnet: Devnet, folder: Path, *, chains: bool = True, **sources: Replay) -> AsyncIterator[Opened]:
    """Prices over the local chains and these sources, which run as long."""
    overrides = devnet.settings_overrides()
    async with AsyncExitStack() as lifetime:
        tables: dict[str, Any] = {}
        for name, replay in sources.items():
            await lifetime.enter_async_context(replaying(replay))
            tables[name] = {"endpoints": [{"label": "replay", "url": replay.url}]}
        settings = Settings.model_validate(overrides | {"sources": tables} | ({} if chains else {"chains": {}}))
        http = await lifetime.enter_async_context(open_session())
        database = await open_database(f"sqlite:///{folder}/prices.db")
        lifetime.push_async_callback(database.dispose)
        registry = Chains.load(settings, http)
        lifetime.push_async_callback(registry.close)
        yield open_prices(Sources(settings, http, lifetime), registry, database, open_cache(settings))


async def read(prices: Any, symbol: str = "LINK", seconds: float = 8.0) -> Any:
    return (await prices.read([symbol], deadline=time.monotonic() + seconds)).get(symbol)


@pytest.mark.parametrize("factor", [10, Decimal("0.1")])
async def test_one_that_lies_by_tenfold_is_dropped(devnet: Devnet, tmp_path: Path, factor: Decimal):
    liar = llama(link=str(TRUTH * factor))
    async with opened(devnet, tmp_path, defillama=liar, coingecko=gecko()) as (prices, _):
        reply = await read(prices)
    # The median of 13.57, 13.57 and 13.6.
    assert (reply.value, reply.sources) == (TRUTH, ("chainlink", "coingecko", "pyth"))


async def test_two_that_contradict_each_other_make_no_price(devnet: Devnet, tmp_path: Path):
    async with opened(devnet, tmp_path, defillama=llama(spark="0.5"), coingecko=gecko()) as (prices, _):
        assert await read(prices, "SPK") is None
        assert (await read(prices)).value == (TRUTH + TRUTH) / 2


async def test_a_slow_source_is_waited_for_a_few_seconds_once(devnet: Devnet, tmp_path: Path):
    slow = llama()
    slow.delay = 30.0
    async with opened(devnet, tmp_path, defillama=slow, coingecko=gecko()) as (prices, _):
        began = time.monotonic()
        # Two seconds are for the source, and what the other four fifths of three leave for them.
        reply = await read(prices, seconds=3.0)
        assert time.monotonic() - began < 3.0
        assert reply.sources == ("chainlink", "coingecko", "pyth")
        assert (await asyncio.gather(*(read(prices, seconds=0.5) for _ in range(20))))[19] is not None
        assert len(slow.asked) == 1


async def test_one_that_throttles_is_left_alone_and_the_others_answer(devnet: Devnet, tmp_path: Path):
    throttling = gecko()
    throttling.status, throttling.headers = 429, {"Retry-After": "60"}
    async with opened(devnet, tmp_path, defillama=llama(), coingecko=throttling) as (prices, _):
        for _ in range(5):
            assert (await read(prices)).sources == ("chainlink", "defillama", "pyth")
        assert (await read(prices, "SPK")).value == Decimal("0.05")
        assert len(throttling.asked) == 1


@pytest.mark.parametrize("body", ["<html>", '{"coins":{}}', '{"coins":{"x":{"price":1}}}', "{}"])
async def test_one_that_talks_nonsense_tells_nothing(devnet: Devnet, tmp_path: Path, body: str):
    odd = Replay({"/prices/current/": body})
    async with opened(devnet, tmp_path, defillama=odd, coingecko=gecko()) as (prices, _):
        assert (await read(prices)).sources == ("chainlink", "coingecko", "pyth")


async def test_dead_chains_leave_the_off_chain_sources(devnet: Devnet, tmp_path: Path):
    async with opened(devnet, tmp_path, chains=False, defillama=llama(), coingecko=gecko()) as (prices, _):
        reply = await read(prices)
        assert (reply.value, reply.sources) == (Decimal("13.55"), ("coingecko", "defillama"))


async def test_all_dead_is_no_price_and_nobody_is_asked_again_at_once(devnet: Devnet, tmp_path: Path):
    dying = llama()
    async with opened(devnet, tmp_path, chains=False, defillama=dying) as (prices, _):
        dying.status = 500
        assert await read(prices) is None
        asked = len(dying.asked)
        assert await read(prices) is None
        assert len(dying.asked) == asked


async def test_the_euro_falls_back_to_the_banks_rate(devnet: Devnet, tmp_path: Path):
    today = time.strftime("%Y-%m-%d", time.gmtime())
    bank = Replay({"/v1/latest": f'{{"base":"EUR","date":"{today}","rates":{{"USD":1.25}}}}'})
    async with opened(devnet, tmp_path, chains=False, defillama=llama(), frankfurter=bank) as (prices, _):
        assert (await read(prices)).value == Decimal("13.5")
        assert bank.asked == []
        euros = await prices.read(["LINK"], "EUR", deadline=time.monotonic() + 5)
        assert (euros["LINK"].value, euros["LINK"].sources) == (Decimal("10.8"), ("defillama", "frankfurter"))
        assert euros["LINK"].updated_at.strftime("%Y-%m-%d %H:%M") == f"{today} 00:00"
    with_feeds = Replay(bank.answers)
    async with opened(devnet, tmp_path, defillama=llama(), frankfurter=with_feeds) as (prices, _):
        euros = await prices.read(["LINK"], "EUR", deadline=time.monotonic() + 5)
        assert euros["LINK"].value == TRUTH / Decimal("1.0845")
        assert with_feeds.asked == []


async def test_a_dead_source_of_history_leaves_the_next(devnet: Devnet, tmp_path: Path):
    points = [[int(time.time() - hours * 3600) * 1000, 10 + hours] for hours in range(3)]
    good = Replay({"/coins/": orjson.dumps({"prices": points, "market_caps": [], "total_volumes": []}).decode()})
    dead = Replay({"/chart/": "{}"}, status=503)
    async with opened(devnet, tmp_path, coingecko=good, defillama=dead) as (_, history):
        assert (await history.read("LINK", 2, "USD", None))[-1].value >= 10
        assert dead.asked == []
    folder = tmp_path / "other"
    folder.mkdir()
    chart = {
        "coins": {LINK: {"symbol": "LINK", "confidence": 1, "prices": [{"timestamp": int(time.time()), "price": 9}]}}
    }
    answers = Replay({"/chart/": orjson.dumps(chart).decode()})
    broken = Replay({"/coins/": '{"prices":"none"}'})
    async with opened(devnet, folder, coingecko=broken, defillama=answers) as (_, history):
        assert [point.value for point in await history.read("LINK", 2, "USD", None)] == [Decimal(9)]
