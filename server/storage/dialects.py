"""What SQLite and PostgreSQL share and standard SQL lacks: inserts that meet rows with the same key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.dialects import postgresql, sqlite

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.ext.asyncio import AsyncEngine
    from sqlalchemy.sql.dml import Insert


def insert_new(engine: AsyncEngine, table: Table) -> Insert:
    """Return an insert into the table that skips rows whose key is there already."""
    if engine.dialect.name == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


def upsert(engine: AsyncEngine, table: Table) -> Insert:
    """Return an insert into the table that replaces rows whose key is there already."""
    keys = [column.name for column in table.primary_key]
    others = [column.name for column in table.columns if not column.primary_key]
    if engine.dialect.name == "postgresql":
        of_postgresql = postgresql.insert(table)
        return of_postgresql.on_conflict_do_update(
            index_elements=keys, set_={name: of_postgresql.excluded[name] for name in others}
        )
    of_sqlite = sqlite.insert(table)
    return of_sqlite.on_conflict_do_update(
        index_elements=keys, set_={name: of_sqlite.excluded[name] for name in others}
    )
