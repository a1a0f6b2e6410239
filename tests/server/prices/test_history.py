"""Past prices: what is stored, what is asked for, and how often."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from server.errors import PriceUnavailable, UpstreamUnavailable
from server.prices.history import PriceHistory, PricePoint
from server.prices.source import Day
from server.storage.price_records import ALL_HOURS, PricedDay, PriceRecords
from server.storage.tables import price_days

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.ext.asyncio import AsyncEngine

TODAY = date(2027, 1, 15)
SIX_HOURS = 6 * 3600
WALL = datetime(2027, 1, 15, 8, tzinfo=UTC).timestamp()


def back(days: int) -> date:
    return TODAY - timedelta(days=days)


def noon(days: int) -> datetime:
    return datetime(back(days).year, back(days).month, back(days).day, 12, tzinfo=UTC)


def stored(days: int, maximum: str, *, hours: int = ALL_HOURS, source: str = "collector", last: str = "") -> PricedDay:
    return PricedDay("BTC", back(days), source, Decimal(maximum), Decimal(last or maximum), noon(days), hours)


class Archive:
    """A source of past prices: `told` by symbol and days back; `hours` known of each day, all where none are listed."""

    def __init__(self, reported: dict[str, dict[int, str]], name: str = "archive") -> None:
        self.name = name
        self.reported = reported
        self.hours: dict[int, int] = {}
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
            back(number): Day(
                Decimal(value), Decimal(value) - Decimal("0.5"), noon(number), self.hours.get(number, ALL_HOURS)
            )
            for number, value in self.reported.get(symbol, {}).items()
        }


class Passing:
    """A monotonic clock that a test moves; the time of day goes with it."""

    now = 1000.0
    began = WALL

    def __call__(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.began + self.now - 1000.0


def history_of(database: AsyncEngine, *archives: Archive, clock: Passing | None = None) -> PriceHistory:
    clock = clock or Passing()
    return PriceHistory(PriceRecords(database), archives, clock=clock, wall=clock.wall)


def whole(days: int, value: str) -> PricePoint:
    return PricePoint(back(days), Decimal(value), is_complete=True)


def partial(days: int, value: str) -> PricePoint:
    return PricePoint(back(days), Decimal(value), is_complete=False)


async def test_unknown_days_are_left_out_and_the_known_ones_stored(database: AsyncEngine):
    archive = Archive({"BTC": {0: "10", 1: "11", 3: "13", 40: "50"}})
    points = await history_of(database, archive).read("BTC", 30, "USD", None)
    assert points == [whole(3, "13"), whole(1, "11"), partial(0, "10")]
    assert archive.asked == [("BTC", 90)]
    days = await PriceRecords(database).read_days("BTC", back(89), TODAY)
    assert {day: row.maximum for day, row in days.items()} == {back(40): 50, back(3): 13, back(1): 11, TODAY: 10}
    async with database.connect() as connection:
        assert {row.source for row in await connection.execute(price_days.select())} == {"archive"}
    # Another process answers the same and asks nobody so soon. Today goes on, so somebody is asked after six hours.
    clock, stranger = Passing(), Archive({})
    other = history_of(database, stranger, clock=clock)
    assert await other.read("BTC", 2, "USD", None) == points[1:]
    assert stranger.asked == []
    clock.now += SIX_HOURS - 1
    assert await other.read("BTC", 2, "USD", None) == points[1:]
    assert stranger.asked == []
    clock.now += 1
    stranger.reported = {"BTC": {0: "10.5"}}
    assert (await other.read("BTC", 2, "USD", None))[-1].value == Decimal("10.5")
    assert stranger.asked == [("BTC", 90)]


async def test_a_source_is_asked_once_in_six_hours(database: AsyncEngine):
    clock, archive = Passing(), Archive({"BTC": {0: "10", 2: "12"}})
    history = history_of(database, archive, clock=clock)
    for days in (30, 30, 90, 1):
        assert len(await history.read("BTC", days, "USD", None)) == (1 if days == 1 else 2)
    assert len(archive.asked) == 1
    clock.now += SIX_HOURS
    archive.reported["BTC"][0] = "10.25"
    assert (await history.read("BTC", 1, "USD", None))[-1].value == Decimal("10.25")
    await history.read("BTC", 30, "USD", None)
    assert len(archive.asked) == 2


async def test_many_who_ask_at_once_share_one_request(database: AsyncEngine):
    archive = Archive({"BTC": {0: "10"}, "ETH": {0: "20"}})
    archive.delay = 0.05
    history = history_of(database, archive)
    reported = await asyncio.gather(
        *(history.read(symbol, 30, "USD", None) for symbol in ("BTC", "ETH") for _ in range(10))
    )
    assert {points[0].value for points in reported} == {Decimal(10), Decimal(20)}
    assert sorted(archive.asked) == [("BTC", 90), ("ETH", 90)]


async def test_a_slow_look_at_the_database_finds_what_was_fetched_meanwhile(database: AsyncEngine):
    looked, go_on = asyncio.Event(), asyncio.Event()

    class Slow(PriceRecords):
        async def read(self, *question: Any) -> Any:
            days = await super().read(*question)
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


async def test_a_day_known_in_part_is_kept_marked_and_not_asked_about_for_six_hours(database: AsyncEngine):
    clock, archive = Passing(), Archive({"BTC": dict.fromkeys(range(90), "10")})
    archive.hours = {1: (1 << 22) - 1, 2: (1 << 21) - 1, 30: 1}
    history = history_of(database, archive, clock=clock)
    points = await history.read("BTC", 31, "USD", None)
    assert [point.day for point in points if not point.is_complete] == [back(30), back(2), TODAY]
    for _ in range(5):
        clock.now += 3599
        again = await history_of(database, archive, clock=clock).read("BTC", 31, "USD", None)
        assert [point.day for point in again if not point.is_complete] == [back(30), back(2), TODAY]
    assert archive.asked == [("BTC", 90)]  # nor was the running day asked about
    clock.now += 3605
    archive.hours[30] = (1 << 23) - 1
    await history.read("BTC", 31, "USD", None)
    assert archive.asked[1:] == [("BTC", 31)]
    points = await history.read("BTC", 31, "USD", None)
    assert [point.day for point in points if not point.is_complete] == [back(2), TODAY]


async def test_days_that_nobody_knows_are_not_asked_about_for_six_hours_either(database: AsyncEngine):
    clock, archive = Passing(), Archive({"BTC": {0: "10"}})
    history = history_of(database, archive, clock=clock)
    for _ in range(6):
        assert await history.read("BTC", 30, "USD", None) == [partial(0, "10")]
        clock.now += 3590
    assert [days for _, days in archive.asked] == [90]
    clock.now += 100
    await history.read("BTC", 30, "USD", None)
    assert [days for _, days in archive.asked] == [90, 90]


@pytest.mark.parametrize("hours", [1, 21, 22])
async def test_the_running_day_is_not_asked_about_for_six_hours_either(hours: int, database: AsyncEngine):
    """However many of its hours are known: by several processes, over a day of requests, four times."""
    clock, archive = Passing(), Archive({"BTC": dict.fromkeys(range(90), "10")})
    clock.began -= 8 * 3600  # midnight
    archive.hours = {0: (1 << hours) - 1}
    for _ in range(24):
        points = await history_of(database, archive, clock=clock).read("BTC", 2, "USD", None)
        assert points == [whole(1, "10"), partial(0, "10")]
        clock.now += 3600
    assert [days for _, days in archive.asked] == [90, 1, 1, 1]


async def test_a_day_asked_about_while_it_ran_is_asked_about_once_more_when_it_is_over(database: AsyncEngine):
    clock, archive = Passing(), Archive({"BTC": dict.fromkeys(range(90), "10")})
    clock.now += 14 * 3600  # 22:00
    archive.hours = {0: (1 << 22) - 1}
    history = history_of(database, archive, clock=clock)
    assert (await history.read("BTC", 2, "USD", None))[-1] == partial(0, "10")
    clock.now += 2.5 * 3600
    archive.reported["BTC"][0] = "12"
    archive.hours = {}
    points = await history.read("BTC", 2, "USD", None)
    assert points == [PricePoint(TODAY, Decimal(12), is_complete=True)]
    assert [days for _, days in archive.asked] == [90, 2]


async def test_a_clock_that_was_set_back_does_not_silence_the_sources(database: AsyncEngine):
    clock, archive = Passing(), Archive({"BTC": {0: "10"}})
    await history_of(database, archive, clock=clock).read("BTC", 30, "USD", None)
    clock.now -= 60
    await history_of(database, archive, clock=clock).read("BTC", 30, "USD", None)
    assert len(archive.asked) == 2


async def test_what_was_collected_and_what_was_asked_for_make_one_day(database: AsyncEngine):
    records = PriceRecords(database)
    await records.note((), [stored(1, "11.75", hours=3), stored(0, "7.25", hours=1)])
    points = await history_of(database, Archive({"BTC": {0: "10", 1: "11"}})).read("BTC", 2, "USD", None)
    assert points == [whole(1, "11.75"), partial(0, "10")]
    # Each source's own figure stays what it told.
    async with database.connect() as connection:
        rows = [PricedDay(*row) for row in await connection.execute(price_days.select().order_by("source", "day"))]
    assert [(row.source, row.day, row.maximum) for row in rows] == [
        ("archive", back(1), 11),
        ("archive", TODAY, 10),
        ("collector", back(1), Decimal("11.75")),
        ("collector", TODAY, Decimal("7.25")),
    ]


async def test_a_day_that_was_collected_almost_whole_is_asked_of_nobody(database: AsyncEngine):
    await PriceRecords(database).note((), [stored(number, "9", hours=(1 << 22) - 1) for number in range(1, 90)])
    archive = Archive({"BTC": {0: "10"}})
    points = await history_of(database, archive).read("BTC", 2, "USD", None)
    assert points == [whole(1, "9"), partial(0, "10")]
    assert archive.asked == [("BTC", 1)]


async def test_the_next_source_answers_for_one_that_fails_or_does_not_know(database: AsyncEngine):
    broken, ignorant, good = Archive({}, "broken"), Archive({}, "ignorant"), Archive({"BTC": {0: "10"}}, "good")
    broken.failure = UpstreamUnavailable("away")
    assert await history_of(database, broken, ignorant, good).read("BTC", 1, "USD", None) == [partial(0, "10")]


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
    archive.failure, archive.reported = None, {"BTC": {0: "10"}}
    clock.now += 31
    assert await history.read("BTC", 30, "USD", None) == [partial(0, "10")]


async def test_stored_days_are_reported_while_the_sources_fail(database: AsyncEngine):
    await PriceRecords(database).note((), [stored(1, "11", hours=1)])
    archive = Archive({})
    archive.failure = UpstreamUnavailable("away")
    assert await history_of(database, archive).read("BTC", 30, "USD", None) == [partial(1, "11")]


async def test_euros_are_of_the_days_last_rate_or_the_one_before(database: AsyncEngine):
    archive = Archive({"BTC": {0: "10", 3: "13", 20: "30"}, "EUR": {1: "1.75", 9: "2.5", 96: "9"}})
    points = await history_of(database, archive).read("BTC", 30, "EUR", None)
    # The last rate of yesterday is 1.25, of nine days ago 2; twenty days ago there was none, nor in the week before.
    assert points == [whole(3, "6.5"), partial(0, "8")]
    assert sorted(archive.asked) == [("BTC", 90), ("EUR", 97)]


async def test_without_any_rate_there_are_no_euros(database: AsyncEngine):
    with pytest.raises(PriceUnavailable, match="US dollars"):
        await history_of(database, Archive({"BTC": {0: "10"}})).read("BTC", 30, "EUR", None)


async def test_a_failing_database_costs_the_storing_alone(database: AsyncEngine):
    async with database.begin() as connection:
        await connection.run_sync(price_days.drop)
    clock, archive = Passing(), Archive({"BTC": {0: "10", 1: "11"}})
    history = history_of(database, archive, clock=clock)
    for _ in range(3):
        assert await history.read("BTC", 30, "USD", None) == [whole(1, "11"), partial(0, "10")]
    # It is kept in memory until the database takes it.
    assert len(archive.asked) == 1
    async with database.begin() as connection:
        await connection.run_sync(price_days.create)
    clock.now += SIX_HOURS
    archive.reported["BTC"] = {0: "10.5"}
    await history.read("BTC", 30, "USD", None)
    days = await PriceRecords(database).read_days("BTC", back(89), TODAY)
    assert {day: row.maximum for day, row in days.items()} == {back(1): 11, TODAY: Decimal("10.5")}


async def test_a_database_that_fails_later_is_answered_for_from_memory(database: AsyncEngine):
    clock, archive = Passing(), Archive({"BTC": {0: "10", 1: "11"}})
    history = history_of(database, archive, clock=clock)
    points = await history.read("BTC", 30, "USD", None)
    async with database.begin() as connection:
        await connection.run_sync(price_days.drop)
    for _ in range(3):
        assert await history.read("BTC", 30, "USD", None) == points
    assert len(archive.asked) == 1
    clock.now += SIX_HOURS
    archive.reported["BTC"] = {0: "12"}
    assert await history.read("BTC", 30, "USD", None) == [points[0], partial(0, "12")]
    assert archive.asked[1:] == [("BTC", 90)]


async def test_a_slow_source_is_not_waited_for_beyond_the_deadline_and_stores_all_the_same(database: AsyncEngine):
    archive = Archive({"BTC": {0: "10"}})
    archive.gate = asyncio.Event()
    clock = Passing()
    history = history_of(database, archive, clock=clock)
    with pytest.raises(PriceUnavailable):
        await history.read("BTC", 1, "USD", clock.now + 0.1)
    archive.gate.set()
    assert await history.read("BTC", 1, "USD", None) == [partial(0, "10")]
    assert len(archive.asked) == 1
    # What is being stored is stored before the end.
    await history.close()
    assert list(await PriceRecords(database).read_days("BTC", TODAY, TODAY)) == [TODAY]


async def test_what_is_known_is_not_kept_waiting_for_today(database: AsyncEngine):
    rows = [stored(number, "9", hours=ALL_HOURS if number else 1) for number in range(2)]
    await PriceRecords(database).note((), rows)
    archive = Archive({"BTC": {0: "10"}})
    archive.delay = 60.0
    history = history_of(database, archive)
    began = time.monotonic()
    assert [point.value for point in await history.read("BTC", 2, "USD", None)] == [9, 9]
    assert time.monotonic() - began < 5
    await history.close()
