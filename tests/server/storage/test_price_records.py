"""Stored prices and leases, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import func, select

from server.storage.database import open_database
from server.storage.price_records import ALL_HOURS, ObservedPrice, PricedDay, PriceRecords
from server.storage.tables import price_days, price_observations
from server.storage.transactions import Lease

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

DAY = date(2027, 1, 15)
NOON = datetime(2027, 1, 15, 12, tzinfo=UTC)


def priced(
    maximum: str,
    last: str,
    *,
    hour: int = 12,
    day: date = DAY,
    symbol: str = "BTC",
    source: str = "collector",
) -> PricedDay:
    last_at = datetime(day.year, day.month, day.day, hour, tzinfo=UTC)
    return PricedDay(symbol, day, source, Decimal(maximum), Decimal(last), last_at, 1 << hour)


async def test_numbers_come_back_to_the_last_digit(database: AsyncEngine):
    records = PriceRecords(database)
    for number, text in enumerate(("0.000000000000000000000001", "84125.92697095435684647302905", "1E+9", "100")):
        row = priced(text, text, symbol=f"S{number}")
        await records.note((), [row])
        assert (await records.read_days(f"S{number}", DAY, DAY))[DAY] == row[3:]
    with pytest.raises(Exception, match="finite"):
        await records.note((), [priced("NaN", "1")])


async def test_the_highest_stands_the_latest_comes_last_and_hours_add_up(database: AsyncEngine):
    records = PriceRecords(database)
    for row in (priced("9.5", "9.5"), priced("10.25", "8", hour=20), priced("9", "9", hour=13)):
        await records.note((), [row])
    assert await records.read_days("BTC", DAY, DAY) == {
        DAY: (Decimal("10.25"), Decimal(8), NOON.replace(hour=20), 1 << 12 | 1 << 13 | 1 << 20)
    }


async def test_what_sources_tell_stays_apart_and_is_joined_when_it_is_read(database: AsyncEngine):
    records = PriceRecords(database)
    rows = [priced("9", "9", hour=3), priced("11", "7", hour=1, source="defillama")]
    await records.note((), rows)
    assert await records.read_days("BTC", DAY, DAY) == {DAY: (Decimal(11), Decimal(9), rows[0].last_at, 0b1010)}
    async with database.connect() as connection:
        stored = [PricedDay(*row) for row in await connection.execute(select(price_days).order_by("source"))]
    assert stored == rows


@pytest.mark.parametrize(("hours", "is_whole"), [(21, False), (22, True), (24, True)])
async def test_a_day_is_whole_from_22_hours_on(database: AsyncEngine, hours: int, is_whole: bool):
    records = PriceRecords(database)
    await records.note((), [priced("1", "1")._replace(hours=(1 << hours) - 1)])
    assert (await records.read_days("BTC", DAY, DAY))[DAY].is_whole is is_whole


async def test_when_sources_were_asked_is_kept_with_the_last_time(database: AsyncEngine):
    records = PriceRecords(database)
    other = DAY - timedelta(days=1)
    await records.note((), (), [("BTC", DAY, NOON), ("BTC", other, NOON), ("ETH", DAY, NOON)])
    await records.note((), (), [("BTC", DAY, NOON + timedelta(hours=6))])
    assert (await records.read("BTC", other, DAY)).asked == {DAY: NOON + timedelta(hours=6), other: NOON}


async def test_two_processes_write_in_turn_and_none_is_skipped(
    database: AsyncEngine, url: str, monkeypatch: pytest.MonkeyPatch
):
    """Each of many writers finds the file locked far longer than SQLite itself waits."""
    monkeypatch.setattr("server.storage.database.BUSY_MILLISECONDS", 1)
    engines = [await open_database(url) for _ in range(3)]

    async def write(engine: AsyncEngine, symbol: str) -> None:
        for hour in range(24):
            row = ObservedPrice(symbol, "a", NOON.replace(hour=hour), Decimal(1))
            await PriceRecords(engine).note([row], [priced(str(hour + 1), "1", hour=hour, symbol=symbol)])

    await asyncio.gather(*(write(engine, f"S{number % 3}") for number, engine in enumerate(engines * 2)))
    for number in range(3):
        known = (await PriceRecords(database).read_days(f"S{number}", DAY, DAY))[DAY]
        assert (known.maximum, known.hours) == (24, ALL_HOURS)
    for engine in engines:
        await engine.dispose()


async def test_a_writer_waits_for_a_file_that_another_process_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("server.storage.database.BUSY_MILLISECONDS", 10)
    engine = await open_database(f"sqlite:///{tmp_path}/prices.db")
    other = sqlite3.connect(tmp_path / "prices.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    noting = asyncio.create_task(PriceRecords(engine).note((), [priced("1", "1")]))
    leasing = asyncio.create_task(Lease(engine, "work", "me").hold(60))
    await asyncio.sleep(0.5)
    assert not noting.done()
    assert not leasing.done()
    other.execute("COMMIT")
    other.close()
    await noting
    assert await leasing
    assert await PriceRecords(engine).read_days("BTC", DAY, DAY)
    await engine.dispose()


async def test_only_the_days_and_the_symbol_asked_for(database: AsyncEngine):
    records = PriceRecords(database)
    days = [DAY - timedelta(days=number) for number in range(5)]
    await records.note((), [priced("1", "1", day=day) for day in days] + [priced("2", "2", symbol="ETH")])
    assert set(await records.read_days("BTC", days[3], days[1])) == {days[3], days[2], days[1]}
    assert await records.read_days("SOL", days[4], days[0]) == {}


async def test_what_is_reported_again_is_no_new_observation(database: AsyncEngine):
    records = PriceRecords(database)
    row = ObservedPrice("BTC", "chainlink", NOON, Decimal(1))
    later = row._replace(told_at=NOON + timedelta(microseconds=1))
    await records.note([row, later], ())
    await records.note([row, later, row._replace(publisher="pyth")], ())
    async with database.connect() as connection:
        reported = (await connection.execute(select(price_observations).order_by("told_at", "publisher"))).all()
    assert [ObservedPrice(*one) for one in reported] == [row, row._replace(publisher="pyth"), later]


async def test_two_who_fold_the_same_days_lose_nothing(database: AsyncEngine, url: str):
    other = await open_database(url)
    symbols = [f"S{number}" for number in range(5)]

    async def climb(engine: AsyncEngine, first: int) -> None:
        records = PriceRecords(engine)
        for value in range(first, 40, 2):
            await records.note((), [priced(str(value), str(value), symbol=symbol) for symbol in symbols])

    await asyncio.gather(climb(database, 0), climb(other, 1))
    for symbol in symbols:
        assert (await PriceRecords(other).read_days(symbol, DAY, DAY))[DAY].maximum == 39
    await other.dispose()


async def test_a_note_is_whole_or_not_there(database: AsyncEngine):
    records = PriceRecords(database)
    with pytest.raises(Exception, match="finite"):
        await records.note(
            [ObservedPrice("BTC", "a", NOON, Decimal(1))], [priced("1", "1"), priced("NaN", "1", symbol="Z")]
        )
    assert await records.read_days("BTC", DAY, DAY) == {}
    async with database.connect() as connection:
        assert (await connection.execute(select(func.count()).select_from(price_observations))).scalar_one() == 0


async def test_forgetting_deletes_what_is_older(database: AsyncEngine):
    records = PriceRecords(database)
    times = [NOON - timedelta(hours=number) for number in range(10)]
    days = [priced("1", "1", day=DAY - timedelta(days=number)) for number in range(10)]
    await records.note([ObservedPrice("BTC", "a", told_at, Decimal(1)) for told_at in times], days)
    assert await records.forget(NOON - timedelta(hours=3), DAY - timedelta(days=4)) == 6 + 5
    assert len(await records.read_days("BTC", days[-1].day, DAY)) == 5
    assert await records.forget(NOON - timedelta(hours=3), DAY - timedelta(days=4)) == 0


async def test_one_holds_a_lease_at_a_time(database: AsyncEngine):
    now = NOON

    def lease(holder: str, name: str = "work") -> Lease:
        return Lease(database, name, holder, clock=lambda: now)

    assert await lease("a").hold(10)
    assert not await lease("b").hold(10)
    assert await lease("b", "other work").hold(10)
    now += timedelta(seconds=9)
    assert await lease("a").hold(10)
    now += timedelta(seconds=9)
    assert not await lease("b").hold(10)
    now += timedelta(seconds=1)
    assert await lease("b").hold(10)
    assert not await lease("a").hold(10)
    # Releasing what is another's changes nothing.
    await lease("a").release()
    assert not await lease("c").hold(10)
    await lease("b").release()
    assert await lease("c").hold(10)


async def test_of_many_who_ask_at_once_one_gets_it(database: AsyncEngine):
    got = await asyncio.gather(*(Lease(database, "work", f"holder {number}").hold(30) for number in range(8)))
    assert sum(got) == 1
