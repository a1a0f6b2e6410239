from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import inspect
from sqlalchemy.ext.asyncio import create_async_engine

from server.access.keys import KeyStore
from server.storage.database import open_database
from server.storage.failures import explain_failure
from server.storage.migrations import NewerDatabase, runner
from server.storage.tables import metadata
from tests.statements import frozen, replay

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection

ROOT = Path(__file__).resolve().parents[3]
VERSIONS = Path(runner.__file__).parent / "versions"
# The oldest version that a new one stands beside while it is rolled out.
PREVIOUS = "0004"

ADDING = """
    op.add_column("keys", sa.Column("colour", sa.Text()))
    op.add_column("price_days", sa.Column("weight", sa.Integer(), nullable=False, server_default="1"))
    op.create_table("visits", sa.Column("id", sa.Integer(), primary_key=True))
"""
BREAKING = """
    op.drop_table("share_prices")
"""


def newer(folder: Path, body: str, mark: str = "") -> tuple[Config, ScriptDirectory]:
    """Return the revisions of a Waypost that has one more."""
    shutil.copytree(VERSIONS, folder / "versions", ignore=shutil.ignore_patterns("__pycache__"))
    head = runner._scripts()[1].get_current_head()
    (folder / "versions" / "v9999_newer.py").write_text(
        f'import sqlalchemy as sa\nfrom alembic import op\n\nrevision = "9999"\ndown_revision = "{head}"\n{mark}\n\n'
        f"def upgrade():{body}"
    )
    config = Config()
    config.set_main_option("script_location", str(folder))
    config.set_main_option("path_separator", "os")
    return config, ScriptDirectory.from_config(config)


async def open_as(url: str, revisions: tuple[Config, ScriptDirectory], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(runner, "_scripts", lambda: revisions)
        patch.setattr(runner, "_newest_revision", revisions[1].get_current_head)
        await (await open_database(url, "mainnet")).dispose()


async def stored(url: str) -> tuple[str, str]:
    """Return a database's revision and the oldest one that it is compatible with."""
    engine = await open_database(url)
    async with engine.connect() as connection:
        revision = await connection.exec_driver_sql("SELECT version_num FROM alembic_version")
        oldest = await connection.exec_driver_sql("SELECT value FROM properties WHERE name = 'compatible_with'")
        found = revision.scalar_one(), oldest.scalar_one()
    await engine.dispose()
    return found


async def empty(connection: AsyncConnection) -> None:
    """Delete all rows of the previous version's tables, with the counters of their ids."""
    left = ", ".join(table for table in metadata.tables if table not in ("properties", "reserve"))
    if connection.dialect.name == "postgresql":
        await connection.exec_driver_sql(f"TRUNCATE {left} RESTART IDENTITY CASCADE")
        return
    for table in [*left.split(", "), "sqlite_sequence"]:
        await connection.exec_driver_sql(f"DELETE FROM {table}")


async def test_the_previous_version_goes_on_beside_this_one_and_the_next(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its statements, on a connection that it has had since before, do what they did before the schema changed."""
    statements = frozen(PREVIOUS, url)
    expected = [statement["outcome"] for statement in statements]
    await (await open_database(url, "mainnet")).dispose()
    drivers = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}
    kind, rest = url.split(":", 1)
    previous = create_async_engine(f"{drivers[kind]}:{rest}", isolation_level="AUTOCOMMIT")
    async with previous.connect() as connection:
        assert await replay(connection, statements) == expected
        await empty(connection)
        await open_as(url, newer(tmp_path, ADDING), monkeypatch)
        assert await replay(connection, statements) == expected
    await previous.dispose()


async def test_a_version_opens_a_database_that_a_newer_one_has_added_to(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    revisions = newer(tmp_path, ADDING)
    await open_as(url, revisions, monkeypatch)
    engine = await open_database(url, "mainnet")
    await KeyStore(engine).create_key("made by the older one")
    assert [record.name for record in await KeyStore(engine).list_keys()] == ["made by the older one"]
    await engine.dispose()
    # Neither the schema nor what it is compatible with went back, and the newer one goes on.
    assert await stored(url) == ("9999", runner.compatible_with(runner._scripts()[1]))
    await open_as(url, revisions, monkeypatch)


@pytest.mark.parametrize("is_bridged", [False, True])
async def test_a_version_refuses_a_database_that_a_newer_one_has_changed_beyond_it(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_bridged: bool
) -> None:
    known = str(runner._scripts()[1].get_current_head())
    mark = f'compatible_with = "{known if is_bridged else "9999"}"'
    await open_as(url, newer(tmp_path, BREAKING, mark), monkeypatch)
    if is_bridged:
        assert await stored(url) == ("9999", known)
        return
    with pytest.raises(NewerDatabase) as caught:
        await open_database(url, "mainnet")
    failure = explain_failure(caught.value, url)
    assert "revision 9999" in failure.cause
    assert f"up to {known}" in failure.cause
    assert "newer version" in failure.fix


async def test_a_newer_database_that_states_nothing_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/waypost.db"
    engine = await open_database(url)
    async with engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'ffff'")
        await connection.exec_driver_sql("DELETE FROM properties")
    await engine.dispose()
    with pytest.raises(NewerDatabase):
        await open_database(url)


async def test_files_are_named_by_their_revisions() -> None:
    assert runner._newest_revision() == runner._scripts()[1].get_current_head()


async def test_a_database_as_it_should_be_is_opened_without_alembic(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/waypost.db"
    code = (
        "import asyncio, sys\n"
        "from server.storage.database import open_database\n"
        "async def main(): await (await open_database(sys.argv[1], 'mainnet')).dispose()\n"
        "asyncio.run(main())\n"
        "print('alembic' in sys.modules)\n"
    )
    for expected in ("True", "False"):
        done = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", code, url], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == expected


async def test_a_revision_that_states_nothing_only_adds(tmp_path: Path) -> None:
    """Tables, nullable columns, columns with a default, indexes that are not unique: all else needs its mark."""
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/waypost.db")
    revisions = list(reversed(list(runner._scripts()[1].walk_revisions())))
    async with engine.connect() as connection:
        before: dict[str, Any] = {}
        for revision in revisions:
            await connection.run_sync(runner.apply_revisions, revision.revision)
            after = await connection.run_sync(_schema)
            if not hasattr(revision.module, "compatible_with") and revision.revision > PREVIOUS:
                assert _breaks(before, after) == [], f"{revision.revision}: state compatible_with"
            before = after
    await engine.dispose()
    assert _breaks({}, before) == []
    changed = {**before, "keys": {**before["keys"], "owner": ("TEXT", False, None, True)}}
    assert _breaks(before, changed) == ["keys.owner"]
    assert _breaks(before, {name: table for name, table in before.items() if name != "leases"}) == ["leases"]


def _schema(connection: Connection) -> dict[str, dict[str, Any]]:
    """Return columns (type, nullable, default, whether the gateway must give it) and unique constraints, by table."""
    inspector = inspect(connection)
    tables: dict[str, dict[str, Any]] = {}
    for table in inspector.get_table_names():
        found: dict[str, Any] = {
            column["name"]: (
                str(column["type"]),
                column["nullable"],
                column["default"],
                not column["nullable"] and column["default"] is None,
            )
            for column in inspector.get_columns(table)
        }
        unique = [index["column_names"] for index in inspector.get_indexes(table) if index["unique"]]
        unique += [constraint["column_names"] for constraint in inspector.get_unique_constraints(table)]
        found["(unique)"] = sorted(map(str, [*unique, inspector.get_pk_constraint(table)["constrained_columns"]]))
        found["(foreign)"] = str(inspector.get_foreign_keys(table))
        tables[table] = found
    return tables


def _breaks(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return what processes of the schema before would miss, or would have to give and do not know of."""
    missed = [table for table in before if table not in after]
    for table in before.keys() & after.keys():
        old, new = before[table], after[table]
        missed += [f"{table}.{column}" for column in old if new.get(column) != old[column]]
        missed += [f"{table}.{column}" for column in new.keys() - old.keys() if new[column][3]]
    return sorted(missed)
