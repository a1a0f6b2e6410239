"""What SQLite and PostgreSQL share and standard SQL lacks: an insert that leaves alone what is there."""

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
