"""Past prices: what is stored, what is asked for, and how often."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from server.errors import PriceUnavailable, UpstreamUnavailable
from server.sources.prices.history import PriceHistory, PricePoint
from server.sources.prices.source import Day
from server.storage.price_records import PricedDay, PriceRecords
from server.storage.tables import price_days

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.ext.asyncio import AsyncEngine

TODAY = date(2027, 1, 15)
WALL = datetime(2027, 1, 15, 8, tzinfo=UTC).timestamp()


def back(days: int) -> date:
    return TODAY - timedelta(days=days)


class Archive:
    """A source of past prices: `told` by symbol and days back."""

    def __init__(self, told: dict[str, dict[int, str]], name: str = "archive") -> None:
        self.name = name
        self.told = told
        self.asked: list[tuple[str, int]] = []
        self.failure: Exception | None = None
        self.delay = 0.0
        self.gate: asyncio.Event | None = None

    async def read_days(self, symbol: str, days: int, deadline: float) -> Mapping[date, Day]:
        self.asked.append((symbol, days))
        await asyncio.sleep(self.delay)
        if self.gate is not None:
            await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        return {
            back(number): Day(Decimal(value), Decimal(value) - Decimal("0.5"))
            for number, value in self.told.get(symbol, {}).items()
        }


class Passing:
    """A monotonic clock that a test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def history_of(database: AsyncEngine, *archives: Archive, clock: Passing | None = None) -> PriceHistory:
    return PriceHistory(PriceRecords(database), archives, clock=clock or Passing(), wall=lambda: WALL)


async def test_unknown_days_are_left_out_and_the_known_ones_stored(database: AsyncEngine):
    archive = Archive({"BTC": {0: "10", 1: "11", 3: "13", 40: "50"}})
    points = await history_of(database, archive).read("BTC", 30, "USD", None)
    assert points == [
        PricePoint(back(3), Decimal(13)),
        PricePoint(back(1), Decimal(11)),
        PricePoint(TODAY, Decimal(10)),
    ]
    assert archive.asked == [("BTC", 90)]
    stored = await PriceRecords(database).read_days("BTC", back(89), TODAY)
    assert {day: (row.maximum, row.is_whole) for day, row in stored.items()} == {
        back(40): (Decimal(50), True),
        back(3): (Decimal(13), True),
        back(1): (Decimal(11), True),
        TODAY: (Decimal(10), False),
    }
    # Another process answers the same whoever knows no more. Today goes on, so somebody is asked.
    nobody = Archive({})
    assert await history_of(database, nobody).read("BTC", 2, "USD", None) == points[1:]
    assert nobody.asked == [("BTC", 90)]
    higher = Archive({"BTC": {0: "10.5"}})
    assert (await history_of(database, higher).read("BTC", 2, "USD", None))[-1].value == Decimal("10.5")


async def test_a_source_is_asked_once_an_hour(database: AsyncEngine):
    clock, archive = Passing(), Archive({"BTC": {0: "10", 2: "12"}})
    history = history_of(database, archive, clock=clock)
    for days in (30, 30, 90, 1):
        assert len(await history.read("BTC", days, "USD", None)) == (1 if days == 1 else 2)
    assert len(archive.asked) == 1
    clock.now += 3601
    archive.told["BTC"][0] = "10.25"
    assert (await history.read("BTC", 1, "USD", None))[-1].value == Decimal("10.25")
    await history.read("BTC", 30, "USD", None)
    assert len(archive.asked) == 2


async def test_many_who_ask_at_once_share_one_request(database: AsyncEngine):
    archive = Archive({"BTC": {0: "10"}, "ETH": {0: "20"}})
    archive.delay = 0.05
    history = history_of(database, archive)
    told = await asyncio.gather(
        *(history.read(symbol, 30, "USD", None) for symbol in ("BTC", "ETH") for _ in range(10))
    )
    assert {points[0].value for points in told} == {Decimal(10), Decimal(20)}
    assert sorted(archive.asked) == [("BTC", 90), ("ETH", 90)]


async def test_a_slow_look_at_the_database_finds_what_was_fetched_meanwhile(database: AsyncEngine):
    looked, go_on = asyncio.Event(), asyncio.Event()

    class Slow(PriceRecords):
        async def read_days(self, *question: Any) -> Any:
            days = await super().read_days(*question)
            if not looked.is_set():
                looked.set()
                await go_on.wait()
            return days

    history = PriceHistory(Slow(database), [Archive({"BTC": {0: "10"}})], wall=lambda: WALL)
    slow = asyncio.create_task(history.read("BTC", 30, "USD", None))
    await looked.wait()
    quick = await history.read("BTC", 30, "USD", None)
    go_on.set()
    assert await slow == quick != []


async def test_what_was_collected_and_what_was_asked_for_make_one_day(database: AsyncEngine):
    records = PriceRecords(database)
    collected = PricedDay("BTC", back(1), Decimal("11.75"), Decimal(9), is_whole=False)
    await records.note((), [collected, collected._replace(day=TODAY, maximum=Decimal("7.25"))])
    points = await history_of(database, Archive({"BTC": {0: "10", 1: "11"}})).read("BTC", 2, "USD", None)
    assert points == [PricePoint(back(1), Decimal("11.75")), PricePoint(TODAY, Decimal(10))]
    assert (await records.read_days("BTC", back(1), back(1)))[back(1)].is_whole


async def test_the_next_source_answers_for_one_that_fails_or_does_not_know(database: AsyncEngine):
    broken, ignorant, good = Archive({}, "broken"), Archive({}, "ignorant"), Archive({"BTC": {0: "10"}}, "good")
    broken.failure = UpstreamUnavailable("away")
    assert await history_of(database, broken, ignorant, good).read("BTC", 1, "USD", None) == [
        PricePoint(TODAY, Decimal(10))
    ]


async def test_none_found_and_nobody_answers_are_different_answers(database: AsyncEngine):
    clock, archive = Passing(), Archive({})
    history = history_of(database, archive, clock=clock)
    assert await history.read("SSS", 30, "USD", None) == []
    archive.failure = UpstreamUnavailable("away")
    for _ in range(2):
        with pytest.raises(PriceUnavailable):
            await history.read("BTC", 30, "USD", None)
    assert archive.asked == [("SSS", 90), ("BTC", 90)]
    assert await history.read("SSS", 30, "USD", None) == []
    archive.failure, archive.told = None, {"BTC": {0: "10"}}
    clock.now += 31
    assert await history.read("BTC", 30, "USD", None) == [PricePoint(TODAY, Decimal(10))]


async def test_stored_days_are_told_while_the_sources_fail(database: AsyncEngine):
    await PriceRecords(database).note((), [PricedDay("BTC", back(1), Decimal(11), Decimal(11), is_whole=False)])
    archive = Archive({})
    archive.failure = UpstreamUnavailable("away")
    assert await history_of(database, archive).read("BTC", 30, "USD", None) == [PricePoint(back(1), Decimal(11))]


async def test_euros_are_of_the_days_last_rate_or_the_one_before(database: AsyncEngine):
    archive = Archive({"BTC": {0: "10", 3: "13", 20: "30"}, "EUR": {1: "1.75", 9: "2.5", 96: "9"}})
    points = await history_of(database, archive).read("BTC", 30, "EUR", None)
    # The last rate of yesterday is 1.25, of nine days ago 2; twenty days ago there was none, nor in the week before.
    assert points == [PricePoint(back(3), Decimal(13) / 2), PricePoint(TODAY, Decimal(10) / Decimal("1.25"))]
    assert sorted(archive.asked) == [("BTC", 90), ("EUR", 97)]


async def test_without_any_rate_there_are_no_euros(database: AsyncEngine):
    with pytest.raises(PriceUnavailable, match="US dollars"):
        await history_of(database, Archive({"BTC": {0: "10"}})).read("BTC", 30, "EUR", None)


async def test_a_failing_database_costs_the_storing_alone(database: AsyncEngine):
    async with database.begin() as connection:
        await connection.run_sync(price_days.drop)
    archive = Archive({"BTC": {0: "10", 1: "11"}})
    history = history_of(database, archive)
    for _ in range(2):
        assert len(await history.read("BTC", 30, "USD", None)) == 2
    # Nothing was kept, so it was asked for again.
    assert len(archive.asked) == 2


async def test_a_slow_source_is_not_waited_for_beyond_the_deadline_and_stores_all_the_same(database: AsyncEngine):
    archive = Archive({"BTC": {0: "10"}})
    archive.gate = asyncio.Event()
    clock = Passing()
    history = history_of(database, archive, clock=clock)
    with pytest.raises(PriceUnavailable):
        await history.read("BTC", 1, "USD", clock.now + 0.1)
    archive.gate.set()
    assert await history.read("BTC", 1, "USD", None) == [PricePoint(TODAY, Decimal(10))]
    assert len(archive.asked) == 1
    assert list(await PriceRecords(database).read_days("BTC", TODAY, TODAY)) == [TODAY]


async def test_what_is_known_is_not_kept_waiting_for_today(database: AsyncEngine):
    rows = [PricedDay("BTC", back(number), Decimal(9), Decimal(9), is_whole=number > 0) for number in range(2)]
    await PriceRecords(database).note((), rows)
    archive = Archive({"BTC": {0: "10"}})
    archive.delay = 60.0
    history = history_of(database, archive)
    began = time.monotonic()
    assert [point.value for point in await history.read("BTC", 2, "USD", None)] == [9, 9]
    assert time.monotonic() - began < 5
    await history.close()
