"""Whose a database is: a new one becomes its first process's profile's, an old one mainnet's, and no other's enter."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import create_async_engine

from server.access.keys import KeyStore
from server.storage.database import open_database
from server.storage.failures import explain_failure
from server.storage.migrations import WrongProfile
from server.storage.migrations.runner import apply_revisions
from server.storage.tables import keys, price_days, price_observations

if TYPE_CHECKING:
    from sqlalchemy import Connection

OLD_ROWS = (
    "INSERT INTO price_days VALUES ('ETH', '2027-01-15', '2555.05555545147', '2555', true)",
    "INSERT INTO price_observations VALUES ('ETH', 'defillama', '2027-01-15 00:00:00', '2555')",
    "INSERT INTO keys (name, prefix, hash, created_at) VALUES ('old', 'wp_abcdef', 'a', '2026-01-01 00:00:00')",
)


async def make_old(url: str) -> None:
    """Make a database as releases before the profiles left it, with prices and a key in it."""

    def build(connection: Connection) -> None:
        apply_revisions(connection, "0002")
        for row in OLD_ROWS:
            row = row.replace("'a'", "'a'::bytea") if connection.dialect.name == "postgresql" else row
            connection.exec_driver_sql(row)

    if url.startswith("sqlite"):
        Path(url.removeprefix("sqlite:///")).parent.mkdir(parents=True)
    engine = create_async_engine(url.replace("sqlite", "sqlite+aiosqlite").replace("postgresql", "postgresql+asyncpg"))
    async with engine.begin() as connection:
        await connection.run_sync(build)
    await engine.dispose()


async def test_a_new_database_is_its_first_profiles(url: str) -> None:
    for profile, other in (("devnet", "mainnet"), ("devnet", "mainnet")):
        await (await open_database(url, profile)).dispose()
        with pytest.raises(WrongProfile) as caught:
            await open_database(url, other)
        assert (caught.value.owner, caught.value.profile) == ("devnet", "mainnet")
    cause, fix = explain_failure(caught.value, url)
    assert "belongs to devnet" in cause
    assert "--network devnet" in fix


async def test_an_old_database_is_mainnets_keeps_its_keys_and_loses_its_prices(url: str) -> None:
    await make_old(url)
    # Refused before anything of it is changed.
    with pytest.raises(WrongProfile):
        await open_database(url, "devnet")
    engine = create_async_engine(url.replace("sqlite", "sqlite+aiosqlite").replace("postgresql", "postgresql+asyncpg"))
    async with engine.connect() as connection:
        assert (await connection.exec_driver_sql("SELECT version_num FROM alembic_version")).scalar_one() == "0002"
        assert (await connection.exec_driver_sql("SELECT count(*) FROM price_days")).scalar_one() == 1
    await engine.dispose()
    engine = await open_database(url, "mainnet")
    assert [record.name for record in await KeyStore(engine).list_keys()] == ["old"]
    async with engine.connect() as connection:
        for table in (price_days, price_observations):
            assert (await connection.execute(select(func.count()).select_from(table))).scalar_one() == 0
        assert (await connection.execute(select(func.count()).select_from(keys))).scalar_one() == 1
    await engine.dispose()
    with pytest.raises(WrongProfile):
        await open_database(url, "devnet")


async def test_processes_of_two_profiles_that_start_together_do_not_share_a_database(url: str) -> None:

    opened = await asyncio.gather(
        *(open_database(url, profile) for profile in ("mainnet", "devnet") * 3), return_exceptions=True
    )
    engines = [one for one in opened if not isinstance(one, BaseException)]
    assert len(engines) == 3
    assert sum(isinstance(one, WrongProfile) for one in opened) == 3
    for engine in engines:
        await engine.dispose()
