"""The tables. Every time carries its zone: UTC, in the database too."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, DateTime, Float, Integer, LargeBinary, MetaData, String, Table
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy import Dialect


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC. SQLite has no time zones: it stores the UTC clock, and what is read gets its zone back."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Return the moment in UTC; a time without zone is refused with ValueError."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a stored time needs a zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """Return the moment with its zone."""
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


metadata = MetaData()

keys = Table(
    "keys",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False),
    # The first characters of the key, by which its owner recognises it.
    Column("prefix", String(16), nullable=False, index=True),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    # Units a second and at once; null means the configured default.
    Column("rate", Float),
    Column("burst", Integer),
    Column("created_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),
    sqlite_autoincrement=True,
)
"""API keys. `hash` is the SHA-256 of the key, which itself is stored nowhere (decisions section 6)."""
