"""Share prices that the gateway stores itself: one an hour, also of several gateways, for weeks; without a database."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select

from server.apis.documents import DocumentRequest, DocumentStore
from server.errors import UpstreamUnavailable
from server.storage.database import open_database
from server.storage.migrations import WrongProfile
from server.storage.share_records import ShareRecords, StoredShare
from server.storage.tables import share_prices
from server.yields.share_prices import NAME, SharePrice, SharePrices
from tests.server.yields.away import Away

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

NOON = datetime(2027, 1, 15, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
VAULT = ("hyperliquid", "0x53A333e51E96FE288bC9aDd7cdC4B1EAD2CD2FfA")
OTHER = ("hyperliquid", "0x5eEC795d919FA97688Fb9844eeB0072E6B846F9d")


class Wall:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now.timestamp()


async def history_of(source: SharePrices, vault: tuple[str, str] = VAULT) -> Any:
    return (await source.fetch(vault, None)).value


async def settle(source: SharePrices) -> None:
    """Wait until what is being stored is."""
    await source.close()


async def count(engine: AsyncEngine) -> int:
    async with engine.connect() as connection:
        found: int = (await connection.execute(select(func.count()).select_from(share_prices))).scalar_one()
        return found


async def test_one_price_an_hour_is_stored_to_the_last_digit(database: AsyncEngine) -> None:
    wall = Wall()
    source = SharePrices(ShareRecords(database), wall=wall)
    exact = 123_456_789_012_345_678_901_234_567_890_123_456_789
    for minutes in range(0, 180, 20):
        wall.now = NOON + timedelta(minutes=minutes)
        (await history_of(source)).observe(SharePrice(wall.now, exact + minutes))
        await settle(source)
    assert await count(database) == 3
    wall.now = NOON + 8 * DAY
    history = await history_of(source)
    assert history.last_before(NOON + 30 * timedelta(minutes=1)) == SharePrice(NOON, exact)
    assert history.last_before(NOON + 2 * HOUR) == SharePrice(NOON + 2 * HOUR, exact + 120)
    assert history.last_before(NOON - timedelta(seconds=1)) is None


async def test_of_several_gateways_the_first_price_of_an_hour_stands(url: str) -> None:
    engines = [await open_database(url) for _ in range(3)]
    wall = Wall()
    sources = [SharePrices(ShareRecords(engine), wall=wall) for engine in engines]
    for hour in range(4):
        for number, source in enumerate(sources):
            wall.now = NOON + hour * HOUR + number * timedelta(minutes=3)
            (await history_of(source)).observe(SharePrice(wall.now, 1000 * hour + number))
            await settle(source)
    wall.now = NOON + 8 * DAY
    for source in sources:
        history = await history_of(source)
        found = [history.last_before(NOON + hour * HOUR + timedelta(minutes=59)) for hour in range(4)]
        assert found == [SharePrice(NOON + hour * HOUR, 1000 * hour) for hour in range(4)]
    assert await count(engines[0]) == 4
    for engine in engines:
        await engine.dispose()


async def test_gateways_that_write_at_once_lose_nothing(url: str) -> None:
    engines = [await open_database(url) for _ in range(3)]
    wall = Wall()
    sources = [SharePrices(ShareRecords(engine), wall=wall) for engine in engines]
    vaults = [("hyperliquid", f"0x{number:040x}") for number in range(8)]
    for source in sources:
        for vault in vaults:
            (await history_of(source, vault)).observe(SharePrice(NOON, 7))
    await asyncio.gather(*(settle(source) for source in sources))
    assert await count(engines[0]) == 8
    for engine in engines:
        await engine.dispose()


async def test_vaults_do_not_mix(database: AsyncEngine) -> None:
    wall = Wall()
    source = SharePrices(ShareRecords(database), wall=wall)
    (await history_of(source)).observe(SharePrice(NOON, 5))
    await settle(source)
    wall.now = NOON + 8 * DAY
    assert (await history_of(source, OTHER)).last_before(wall.now) is None
    assert (await history_of(source, ("base", VAULT[1]))).last_before(wall.now) is None
    assert (await history_of(source)).last_before(wall.now) == SharePrice(NOON, 5)


async def test_what_is_a_month_old_goes(database: AsyncEngine) -> None:
    wall, records = Wall(), ShareRecords(database)
    source = SharePrices(records, wall=wall)
    for days in range(0, 40, 5):
        wall.now = NOON + days * DAY
        (await history_of(source)).observe(SharePrice(wall.now, days + 1))
        await settle(source)
    assert await count(database) == 7
    found = await records.read(*VAULT, NOON, NOON + 40 * DAY)
    assert [row.assets for row in found] == [36, 31, 26, 21, 16, 11, 6]


async def test_a_document_answers_for_the_hours_that_it_is_kept(database: AsyncEngine) -> None:
    """What is six days and some hours old when it is read is a week old while it is answered from."""
    records = ShareRecords(database)
    rows = [StoredShare(*VAULT, NOON - 7 * DAY + hours * HOUR, hours) for hours in range(-3, 12)]
    await records.note(rows, NOON - 30 * DAY)
    history = await history_of(SharePrices(records, wall=Wall()))
    for hours in range(9):
        assert history.last_before(NOON - 7 * DAY + hours * HOUR).assets == hours


@pytest.mark.parametrize("hangs", [False, True])
async def test_without_the_database_nothing_is_read_and_callers_do_not_wait(
    hangs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.yields.share_prices._READ_SECONDS", 0.05)
    away: Any = Away(hangs=hangs)
    store = DocumentStore({NAME: SharePrices(away)})
    request = DocumentRequest(NAME, VAULT)
    for _ in range(3):
        with pytest.raises(UpstreamUnavailable, match="own database does not answer") as failed:
            await store.read(request, deadline=None, cache=None)
        assert failed.value.retry_after_ms is not None
    assert away.asked == 1
    await store.close()


async def test_what_could_not_be_stored_is_stored_later(database: AsyncEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    wall, records, away = Wall(), ShareRecords(database), Away()
    source = SharePrices(records, wall=wall)
    history = await history_of(source)
    monkeypatch.setattr(records, "note", away.note)
    history.observe(SharePrice(NOON, 11))
    await settle(source)
    for seconds in (1, 29):
        wall.now = NOON + timedelta(seconds=seconds)
        history.observe(SharePrice(wall.now, 12))
        await settle(source)
    assert away.asked == 1
    monkeypatch.undo()
    wall.now = NOON + timedelta(seconds=31)
    history.observe(SharePrice(wall.now, 13))
    await settle(source)
    wall.now = NOON + 8 * DAY
    assert (await history_of(source)).last_before(wall.now) == SharePrice(NOON, 11)
    assert await count(database) == 1


async def test_an_hour_that_ended_meanwhile_gives_way_to_the_next(
    database: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a database that is away for hours, each vault keeps one price: there is no more to hold than vaults."""
    wall, records = Wall(), ShareRecords(database)
    source = SharePrices(records, wall=wall)
    history = await history_of(source)
    monkeypatch.setattr(records, "note", Away().note)
    for hour in range(5):
        wall.now = NOON + hour * HOUR
        history.observe(SharePrice(wall.now, hour))
        await settle(source)
    assert len(source._waiting) == 1
    monkeypatch.undo()
    wall.now += timedelta(minutes=1)
    history.observe(SharePrice(wall.now, 99))
    await settle(source)
    wall.now = NOON + 8 * DAY
    assert (await history_of(source)).last_before(wall.now) == SharePrice(NOON + 4 * HOUR, 4)


async def test_share_prices_are_the_profiles_own(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/waypost.db"
    engine = await open_database(url, "devnet")
    await ShareRecords(engine).note([StoredShare(*VAULT, NOON, 5)], NOON - DAY)
    await engine.dispose()
    with pytest.raises(WrongProfile):
        await open_database(url, "mainnet")


async def test_an_older_database_gets_the_table_and_keeps_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "waypost.db"
    engine = await open_database(f"sqlite:///{path}", "mainnet")
    await engine.dispose()
    before = sqlite3.connect(path)
    before.execute("INSERT INTO price_requests VALUES ('BTC', '2027-01-15', '2027-01-15 12:00:00.000000')")
    for table in ("share_prices", "usage", "usage_errors", "usage_writers", "key_tickets"):
        before.execute(f"DROP TABLE {table}")
    for column in ("expires_at", "operations", "chains", "notes", "previous_hash", "previous_until", "edits"):
        before.execute(f"ALTER TABLE keys DROP COLUMN {column}")
    before.execute("UPDATE alembic_version SET version_num = '0003'")
    before.commit()
    before.close()
    engine = await open_database(f"sqlite:///{path}", "mainnet")
    assert await count(engine) == 0
    async with engine.connect() as connection:
        assert (await connection.exec_driver_sql("SELECT count(*) FROM price_requests")).scalar_one() == 1
        assert (await connection.exec_driver_sql("SELECT version_num FROM alembic_version")).scalar_one() == "0006"
    await engine.dispose()
