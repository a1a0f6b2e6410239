"""Usage in the database, on SQLite and PostgreSQL: written once, held while it is away, folded into days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy.exc import OperationalError

from server.access.usage import HELD_SECONDS, Usage, UsageWriter
from server.storage.usage_records import HOURS_DAYS, UsageRecords

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest
    from sqlalchemy.ext.asyncio import AsyncEngine

    from server.storage.usage_records import Counted, UsageSum

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
EVER = datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)


class Clock:
    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class Unsure(UsageRecords):
    """Records whose database is away: before it has written (`refuses`) or behind its commit (`forgets`)."""

    refuses = forgets = False

    async def write(self, process: str, intervals: Sequence[Counted], now: datetime) -> None:
        if self.refuses:
            raise OperationalError("write", None, ConnectionError("postgres://user:secret@host"))
        await super().write(process, intervals, now)
        if self.forgets:
            raise OperationalError("commit", None, ConnectionError("the connection is gone"))


class Site:
    """One process that counts and writes."""

    def __init__(self, database: AsyncEngine, now: datetime = NOON) -> None:
        self.clock = Clock(now)
        self.usage = Usage()
        self.records = Unsure(database)
        self.writer = UsageWriter(self.usage, self.records, database, clock=self.clock)

    def count(self, requests: int = 1, account: str = "key:1", operation: str = "getBalance") -> None:
        tally = self.usage.of(account, operation, "base")
        tally.requests += requests
        tally.units += 3 * requests
        tally.fail("NOT_FOUND", requests)

    async def later(self, seconds: float) -> bool:
        self.clock.now += timedelta(seconds=seconds)
        return await self.writer.write()

    async def sums(self, group: str = "account", account: str | None = None) -> dict[object, UsageSum]:
        found = await self.records.read(group, *EVER, account)  # type: ignore[arg-type]  # a group of the tests
        return {one.group: one for one in found}

    async def requests(self) -> int:
        return sum(one.figures["requests"] for one in (await self.sums()).values())


async def test_two_processes_add_up(database: AsyncEngine) -> None:
    one, other = Site(database), Site(database)
    for _ in range(3):
        one.count(2)
        other.count(1, operation="getPrice")
        other.count(1, account="gateway")
        assert await one.later(5)
        assert await other.later(5)
    sums = await one.sums()
    assert {name: found.figures["requests"] for name, found in sums.items()} == {"key:1": 9, "gateway": 3}
    assert sums["key:1"].figures["units"] == 27
    assert sums["key:1"].errors == {"NOT_FOUND": 9}
    by_operation = await one.sums("operation", "key:1")
    assert {name: found.figures["requests"] for name, found in by_operation.items()} == {"getBalance": 6, "getPrice": 3}


async def test_what_was_written_without_an_answer_is_not_written_twice(database: AsyncEngine) -> None:
    site = Site(database)
    site.count(4)
    site.records.forgets = True
    assert not await site.later(5)
    site.count(2)
    assert not await site.later(5)
    site.records.forgets = False
    site.count(1)
    assert await site.later(5)
    assert await site.requests() == 7


async def test_a_database_that_is_away_for_ten_minutes_loses_nothing(database: AsyncEngine) -> None:
    site = Site(database)
    site.records.refuses = True
    for _ in range(int(HELD_SECONDS / 5)):
        site.count()
        assert not await site.later(5)
    site.records.refuses = False
    assert await site.later(0)
    assert await site.requests() == HELD_SECONDS / 5


async def test_after_ten_minutes_the_oldest_go_and_it_says_so(
    database: AsyncEngine, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(database)
    site.records.refuses = True
    site.count(100)
    assert not await site.later(5)
    for _ in range(3):
        site.count()
        assert not await site.later(HELD_SECONDS / 3 + 1)
    assert "usage is lost" in caplog.text
    assert "requests=100" in caplog.text
    assert "secret" not in caplog.text
    site.records.refuses = False
    assert await site.later(0)
    assert await site.requests() == 3


async def test_figures_are_of_the_hour_in_which_they_were_counted(database: AsyncEngine) -> None:
    site = Site(database, NOON - timedelta(seconds=3))
    site.count(5)
    await site.later(3)
    site.count(2)
    await site.later(3)
    hours = await site.sums("hour")
    assert {at: found.figures["requests"] for at, found in hours.items()} == {NOON - timedelta(hours=1): 5, NOON: 2}


async def test_the_last_interval_is_written_at_the_end(database: AsyncEngine) -> None:
    site = Site(database)
    site.writer.start()
    site.count(2)
    await site.writer.close()
    assert await site.requests() == 2


async def test_old_hours_become_days_and_nothing_is_lost(database: AsyncEngine) -> None:
    site = Site(database, NOON - timedelta(days=HOURS_DAYS + 2))
    # Three a quarter of a day for five days, of which the first ones are over for long enough.
    for _ in range(20):
        site.count(3)
        assert await site.later(6 * 3600)
    before = await site.sums("day")
    assert await site.records.fold(NOON) == 2
    assert await site.records.fold(NOON) == 0
    assert await site.sums("day") == before
    hours = await site.sums("hour")
    assert sum(found.figures["requests"] for found in hours.values()) == 60
    of_days = [
        found.figures["requests"] for at, found in hours.items() if at < NOON - timedelta(days=HOURS_DAYS, hours=12)
    ]
    assert of_days == [6, 12]
