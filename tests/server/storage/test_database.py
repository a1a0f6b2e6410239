from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect
from sqlalchemy.exc import DatabaseError, DBAPIError, OperationalError

from server.access.keys import KeyStore
from server.storage.database import open_database
from server.storage.failures import explain_failure
from server.storage.tables import metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncEngine

    from tests.postgresql import PostgreSql

ROOT = Path(__file__).resolve().parents[3]


async def test_the_migrations_make_what_the_tables_say(database: AsyncEngine) -> None:
    def differences(connection: Connection) -> Any:
        return compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata)

    async with database.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_opening_again_keeps_what_is_there(url: str) -> None:
    for expected in range(3):
        engine = await open_database(url)
        store = KeyStore(engine)
        assert len(await store.list_keys()) == expected
        await store.create_key("a")
        await engine.dispose()


async def test_a_database_of_the_first_release_is_brought_up_to_date(url: str) -> None:
    engine = await open_database(url)
    await KeyStore(engine).create_key("old")
    later = [table for table in reversed(metadata.sorted_tables) if table.name != "keys"]
    async with engine.begin() as connection:
        await connection.run_sync(lambda sync: metadata.drop_all(sync, tables=later))
        for column in ("expires_at", "operations", "chains", "notes", "previous_hash", "previous_until", "edits"):
            await connection.exec_driver_sql(f"ALTER TABLE keys DROP COLUMN {column}")
        await connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
    await engine.dispose()
    engine = await open_database(url)
    assert [record.name for record in await KeyStore(engine).list_keys()] == ["old"]
    async with engine.connect() as connection:
        assert set(await connection.run_sync(lambda sync: inspect(sync).get_table_names())) >= set(metadata.tables)
    await engine.dispose()


async def test_processes_that_start_together_take_turns(url: str, tmp_path: Path) -> None:
    script = f"import asyncio; from server.storage.database import open_database; asyncio.run(open_database({url!r}))"
    running = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            script,
            cwd=ROOT,
            stderr=subprocess.PIPE,
            env={"PYTHONPATH": "clients/python:generated:."},
        )
        for _ in range(3)
    ]
    for process in running:
        _, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
    engine = await open_database(url)
    assert await KeyStore(engine).list_keys() == []
    await engine.dispose()


@pytest.mark.parametrize("is_new", [True, False])
async def test_an_opening_waits_for_a_slow_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_new: bool) -> None:
    monkeypatch.setattr("server.storage.database.BUSY_MILLISECONDS", 10)
    file = tmp_path / "keys.db"
    if not is_new:
        await (await open_database(f"sqlite:///{file}")).dispose()
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    opening = asyncio.create_task(open_database(f"sqlite:///{file}"))
    await asyncio.sleep(0.5)
    assert not opening.done()
    other.execute("COMMIT")
    other.close()
    await (await opening).dispose()


async def test_a_file_that_stays_locked_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.storage.database.BUSY_MILLISECONDS", 10)
    monkeypatch.setattr("server.storage.database.TURN_SECONDS", 0.3)
    other = sqlite3.connect(tmp_path / "keys.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(OperationalError, match="locked"):
        await open_database(f"sqlite:///{tmp_path / 'keys.db'}")
    other.close()


async def test_a_postgresql_that_another_start_keeps_busy_is_refused_as_that(
    postgresql: PostgreSql, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgresql.database()
    engine = await open_database(url)
    monkeypatch.setattr("server.storage.database.TURN_SECONDS", 0.3)
    async with engine.connect() as connection:
        await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({0x77617970})")
        with pytest.raises(DBAPIError) as caught:
            await open_database(url)
    assert "busy" in explain_failure(caught.value, url).cause
    await engine.dispose()


async def test_the_command_line_writes_while_the_gateway_reads(url: str) -> None:
    gateway, command_line = await open_database(url), await open_database(url)
    reader, writer = KeyStore(gateway), KeyStore(command_line)

    async def write() -> None:
        for number in range(20):
            await writer.create_key(f"key {number}")

    async def read() -> None:
        for _ in range(40):
            await reader.version()

    await asyncio.gather(write(), read(), read())
    assert (await reader.version())[0][0] == 20
    await gateway.dispose()
    await command_line.dispose()


async def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    engine = await open_database(f"sqlite:///{tmp_path}/data/waypost.db")
    await engine.dispose()
    assert (tmp_path / "data/waypost.db").stat().st_mode & 0o777 == 0o600


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database " * 100)
    with pytest.raises(DatabaseError):
        await open_database(f"sqlite:///{path}")
    assert path.read_text() == "no database " * 100


async def test_a_failing_migration_leaves_the_database_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE keys (id INTEGER)")
    connection.commit()
    with pytest.raises(DatabaseError):
        await open_database(f"sqlite:///{path}")
    assert [row[0] for row in connection.execute("SELECT name FROM sqlite_master")] == ["keys"]
    connection.close()
