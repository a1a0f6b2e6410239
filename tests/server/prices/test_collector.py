"""The collector: one among many, bounded, and nothing committed is lost when its process is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from server.prices.collector import PriceCollector
from server.prices.prices import Prices
from server.prices.source import Observation
from server.storage.database import open_database
from server.storage.price_records import ObservedPrice, PriceRecords
from server.storage.tables import price_days, price_observations
from server.storage.transactions import Lease

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy.ext.asyncio import AsyncEngine

    from server.upstream.cache import CacheContext

ROOT = Path(__file__).resolve().parents[3]
START = 1_800_000_000.0  # 2027-01-15 08:00


class Market:
    """A source whose price a test moves."""

    def __init__(self, publisher: str, value: str) -> None:
        self.publisher = publisher
        self.value = Decimal(value)
        self.wall = START
        self.asked = 0
        self.was_asked = asyncio.Event()

    async def read(self, symbols: Collection[str], until: float, use: CacheContext | None) -> list[Observation]:
        self.asked += 1
        self.was_asked.set()
        told_at = datetime.fromtimestamp(self.wall, UTC)
        return [Observation(symbol, self.publisher, self.value, told_at) for symbol in sorted(symbols)]


def collector_of(engine: AsyncEngine, *markets: Market, holder: str = "me", every: float = 300.0) -> PriceCollector:
    return PriceCollector(
        Prices(markets),
        PriceRecords(engine),
        Lease(engine, "price collector", holder, clock=lambda: datetime.fromtimestamp(markets[0].wall, UTC)),
        ("BTC", "ETH"),
        every=every,
        kept_seconds=3600.0,
        wall=lambda: markets[0].wall,
    )


async def asked_again(market: Market, times: int) -> None:
    for _ in range(times):
        market.was_asked.clear()
        await market.was_asked.wait()


async def count(engine: AsyncEngine, table: object) -> int:
    async with engine.connect() as connection:
        return int((await connection.execute(select(func.count()).select_from(table))).scalar_one())  # type: ignore[arg-type]


async def test_the_days_highest_settled_price_is_kept_and_no_liars(database: AsyncEngine):
    markets = [Market("a", "100"), Market("b", "100.5"), Market("liar", "1000")]
    collector = collector_of(database, *markets)
    for value in ("100", "103", "101"):
        markets[0].value = markets[1].value = Decimal(value)
        for market in markets:
            market.wall += 300
        assert await collector.collect() == 2
    days = await PriceRecords(database).read_days("BTC", date(2027, 1, 15), date(2027, 1, 15))
    assert [(row.maximum, row.last, row.hours) for row in days.values()] == [(Decimal(103), Decimal(101), 1 << 8)]
    async with database.connect() as connection:
        assert {row.source for row in await connection.execute(select(price_days))} == {"collector"}
    # What was reported is kept with who told it, the lie too.
    assert await count(database, price_observations) == 3 * 3 * 2


async def test_one_of_two_collects_until_it_is_gone(database: AsyncEngine):
    market = Market("a", "100")
    first, second = collector_of(database, market, holder="first"), collector_of(database, market, holder="second")
    assert await first.collect() == 2
    assert await second.collect() is None
    market.wall += 700
    assert await second.collect() is None
    assert await first.collect() == 2
    # The first one dies without a word.
    market.wall += 751
    assert await second.collect() == 2
    assert await first.collect() is None
    assert market.asked == 3


async def test_the_table_of_observations_stays_bounded(database: AsyncEngine):
    market = Market("a", "100")
    collector = collector_of(database, market)
    await PriceRecords(database).note(
        [
            ObservedPrice("OLD", "a", datetime(2020, 1, 1, tzinfo=UTC) + timedelta(hours=n), Decimal(1))
            for n in range(100)
        ],
        (),
    )
    sizes = []
    for _ in range(48):
        await collector.collect()
        market.wall += 600
        sizes.append(await count(database, price_observations))
    # Two symbols every ten minutes, kept for an hour, looked through every hour.
    assert max(sizes[1:]) <= 2 * 2 * 7
    assert await count(database, price_days) == 2


async def test_in_the_background_it_begins_after_one_interval_and_leaves_the_lease(database: AsyncEngine):
    market = Market("a", "100")
    collector = collector_of(database, market, every=0.05)
    collector.start()
    assert market.asked == 0
    async with asyncio.timeout(10):
        await asked_again(market, 2)
    await collector.close()
    assert await Lease(database, "price collector", "next").hold(10)


async def test_a_failing_database_does_not_end_it(database: AsyncEngine):
    market = Market("a", "100")
    collector = collector_of(database, market, every=0.02)
    async with database.begin() as connection:
        await connection.run_sync(price_days.drop)
    collector.start()
    async with asyncio.timeout(10):
        await asked_again(market, 3)
        async with database.begin() as connection:
            await connection.run_sync(price_days.create)
        # The second of these rounds began after the table was there.
        await asked_again(market, 3)
    await collector.close()
    assert await count(database, price_days) == 2


_VICTIM = """
import asyncio, sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from server.prices.collector import PriceCollector
from server.prices.prices import Prices
from server.prices.source import Observation
from server.storage.database import open_database
from server.storage.transactions import Lease
from server.storage.price_records import PriceRecords

START = datetime(2027, 1, 15, tzinfo=UTC)
round = int(sys.argv[2])

class Market:
    async def read(self, symbols, until, use):
        told_at = START + timedelta(seconds=round)
        return [Observation(symbol, "a", Decimal(round + 1), told_at) for symbol in symbols]

async def main(url):
    global round
    engine = await open_database(url)
    collector = PriceCollector(
        Prices([Market()]), PriceRecords(engine), Lease(engine, "price collector", sys.argv[2]),
        [f"S{number}" for number in range(40)], every=0.2, kept_seconds=86400.0, wall=lambda: START.timestamp() + round,
    )
    while True:
        if await collector.collect() is not None:
            print(round, flush=True)
            round += 1

asyncio.run(main(sys.argv[1]))
"""


async def test_nothing_committed_is_lost_when_the_process_is_killed(url: str):
    start = 0
    for _ in range(2):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _VICTIM,
            url,
            str(start),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": "clients/python:generated:."},
        )
        assert process.stdout is not None
        committed = start - 1
        until = time.monotonic() + 1.5
        while time.monotonic() < until or committed < start:
            committed = int(await process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = await process.stdout.read()
        assert await process.wait() == -signal.SIGKILL
        committed = int(rest.split()[-1]) if rest.split() else committed
        engine = await open_database(url)
        async with engine.connect() as connection:
            reported = select(price_observations.c.symbol, func.count()).group_by(price_observations.c.symbol)
            counts = dict(tuple(row) for row in await connection.execute(reported))
        day = (await PriceRecords(engine).read_days("S7", date(2027, 1, 15), date(2027, 1, 15)))[date(2027, 1, 15)]
        await engine.dispose()
        # A round is there for all symbols or for none; at most the one that was being told of is there besides.
        assert len(counts) == 40
        assert len(set(counts.values())) == 1
        rounds = next(iter(counts.values()))
        assert committed + 1 <= rounds <= committed + 2
        assert day.maximum == day.last == rounds
        start = rounds
