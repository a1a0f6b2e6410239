"""The tables. Every time carries its zone: UTC, in the database too."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    DateTime,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy import Dialect


class ExactDecimal(TypeDecorator[Decimal]):
    """A decimal number to the last digit, as text: neither database keeps all of it otherwise."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> Any:
        """Return the digits, without exponent; what is no finite number is refused with ValueError."""
        if value is None:
            return None
        if not value.is_finite():
            raise ValueError("a stored number is finite")
        return f"{value:f}"

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Decimal | None:
        """Return the number."""
        return None if value is None else Decimal(value)


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
    # From then on it opens nothing; null means never.
    Column("expires_at", UtcDateTime),
    # What it may call and read, separated by commas; null means everything.
    Column("operations", Text),
    Column("chains", Text),
    Column("notes", Text),
    # The key that it replaced, good until then.
    Column("previous_hash", LargeBinary(32)),
    Column("previous_until", UtcDateTime),
    # How often it was changed, beside its revocation; null means never.
    Column("edits", Integer),
    sqlite_autoincrement=True,
)
"""API keys. `hash` is the SHA-256 of the key, which itself is stored nowhere (decisions section 6)."""

key_tickets = Table(
    "key_tickets",
    metadata,
    # Rises with every ticket, also where those before it are gone.
    Column("id", Integer, primary_key=True),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    # Of the key's text that it was issued for.
    Column("key_hash", LargeBinary(32), nullable=False, index=True),
    Column("expires_at", UtcDateTime, nullable=False),
    sqlite_autoincrement=True,
)
"""What stands for a key's text for a while (docs/decisions/0077). `hash` is the ticket's SHA-256, as of keys."""

FIGURES = (
    "requests",
    "items",
    "units",
    "cache_hits",
    "upstream_requests",
    "bytes_sent",
    "bytes_received",
    "joined",
    "folded",
)
"""What is counted of usage."""


def _used_by() -> tuple[Column[Any], ...]:
    return (
        # `key:<number>`, `demo`, `local`, or `gateway` for what no caller's read has opened.
        Column("account", String(32), primary_key=True),
        # `hour` or `day`: the length of the span that the row is of.
        Column("span", String(4), primary_key=True),
        # When that begins, UTC.
        Column("start", UtcDateTime, primary_key=True),
        Column("operation", String(64), primary_key=True),
        Column("chain", String(32), primary_key=True),
    )


usage = Table(
    "usage",
    metadata,
    *_used_by(),
    *(Column(name, BigInteger, nullable=False) for name in FIGURES),
    Index("ix_usage_start", "span", "start"),
)
"""What each key has used. Hours become days after 90 days (docs/decisions/0045)."""

usage_errors = Table(
    "usage_errors",
    metadata,
    *_used_by(),
    Column("reason", String(64), primary_key=True),
    Column("requests", BigInteger, nullable=False),
    Index("ix_usage_errors_start", "span", "start"),
)
"""Of these requests the failed ones, by reason."""

usage_writers = Table(
    "usage_writers",
    metadata,
    # Of a process, for as long as it lives.
    Column("process", String(32), primary_key=True),
    # The last interval of it that is written.
    Column("interval", BigInteger, nullable=False),
    Column("written_at", UtcDateTime, nullable=False),
)
"""How far each process has written its usage: what is written again changes nothing."""

price_observations = Table(
    "price_observations",
    metadata,
    Column("symbol", String(32), primary_key=True),
    Column("publisher", String(32), primary_key=True),
    # When it was reported at its source: what is reported again is no new observation.
    Column("told_at", UtcDateTime, primary_key=True, index=True),
    Column("value", ExactDecimal, nullable=False),
)
"""What each source reported of a token's price, in US dollars. Kept for a while only."""

price_days = Table(
    "price_days",
    metadata,
    Column("symbol", String(32), primary_key=True),
    # In UTC.
    Column("day", Date, primary_key=True),
    # The off-chain source, or the gateway's own collector.
    Column("source", String(32), primary_key=True),
    Column("maximum", ExactDecimal, nullable=False),
    Column("last", ExactDecimal, nullable=False),
    # When the last price was.
    Column("last_at", UtcDateTime, nullable=False),
    # The hours of the day that are known: bit 0 stands for the one that begins at midnight.
    Column("hours", Integer, nullable=False),
)
"""The highest and the last price of each day by source, in US dollars."""

price_requests = Table(
    "price_requests",
    metadata,
    Column("symbol", String(32), primary_key=True),
    # In UTC.
    Column("day", Date, primary_key=True),
    Column("asked_at", UtcDateTime, nullable=False),
)
"""When the off-chain sources were last read for a day, whatever they had of it."""

share_prices = Table(
    "share_prices",
    metadata,
    Column("chain", String(32), primary_key=True),
    # Checksummed.
    Column("vault", String(42), primary_key=True),
    # The full hour (UTC) that the price is the only one of.
    Column("hour", UtcDateTime, primary_key=True, index=True),
    # The time of the block that it was read at.
    Column("observed_at", UtcDateTime, nullable=False),
    # The worth of 10^36 of the smallest units of shares, in the smallest units of the asset.
    Column("assets", ExactDecimal, nullable=False),
)
"""What shares of vaults were worth, an observation an hour while they were requested. Kept for weeks only."""

leases = Table(
    "leases",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("holder", String(64), nullable=False),
    Column("until", UtcDateTime, nullable=False),
)
"""The holder of each task that only one gateway on a database does, and until when the others leave it to it."""

properties = Table(
    "properties",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", Text, nullable=False),
)
"""What holds for the database as a whole.

`profile` is the only one whose processes it takes, `compatible_with` the oldest revision whose processes may use it.
"""

reserve = Table(
    "reserve",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("filling", LargeBinary, nullable=False),
)
"""Pages of an SQLite file that a revocation may use where the file cannot grow. Empty in other databases."""
