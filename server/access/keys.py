"""API keys: what they look like, and the store that the command line works on."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select, update
from sqlalchemy.exc import DBAPIError

from runtime.settings import FASTEST_RATE, SLOWEST_RATE
from server.storage.reserve import give_up_beside, give_up_inside, is_full
from server.storage.tables import keys
from server.storage.turns import write_in_turn

if TYPE_CHECKING:
    from typing import Any

    from sqlalchemy import Row
    from sqlalchemy.ext.asyncio import AsyncEngine

KEY_PREFIX = "wp_"
_SHOWN = len(KEY_PREFIX) + 6
is_key_text = re.compile(r"wp_[A-Za-z0-9_-]{43}").fullmatch


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key as the store knows it. `rate` and `burst` are None where the configured default applies."""

    id: int
    name: str
    prefix: str
    rate: float | None
    burst: int | None
    created_at: datetime
    revoked_at: datetime | None


class KeyNotFound(LookupError):
    """No key, or more than one, goes by the id or prefix; the message says which."""


def new_key() -> str:
    """Return a fresh key: `wp_` and 256 random bits in 43 characters of `[A-Za-z0-9_-]`."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def digest(key: str) -> bytes:
    """Return what is stored of a key, its SHA-256. 256 random bits need no salt and no slow hash."""
    return sha256(key.encode()).digest()


class KeyStore:
    """The keys in the database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def create_key(self, name: str, rate: float | None = None, burst: int | None = None) -> tuple[int, str]:
        """Add a key and return its id and the key itself, which cannot be had again.

        `rate` (units a second) and `burst` (units at once) are None for the configured default. Raises ValueError for a
        name that is not 1 to 100 printable characters, or a quota that is not positive.
        """
        if not 1 <= len(name) <= 100 or not name.isprintable():
            raise ValueError("a key's name has 1 to 100 printable characters")
        if rate is not None and not SLOWEST_RATE <= rate <= FASTEST_RATE:
            raise ValueError(f"a key's rate is from {SLOWEST_RATE} to {FASTEST_RATE:,} units a second")
        if burst is not None and not 1 <= burst <= 1_000_000:
            raise ValueError("a key's burst is from 1 to 1,000,000 units")
        key = new_key()
        row = {
            "name": name,
            "prefix": key[:_SHOWN],
            "hash": digest(key),
            "rate": rate,
            "burst": burst,
            "created_at": datetime.now(UTC),
        }
        async with write_in_turn(self._engine) as connection:
            result = await connection.execute(insert(keys).values(**row))
            made = result.inserted_primary_key
            assert made is not None
            return int(made[0]), key

    async def list_keys(self) -> list[KeyRecord]:
        """Return all keys, revoked ones included, oldest first."""
        async with self._engine.connect() as connection:
            rows = await connection.execute(select(keys).order_by(keys.c.id))
            return [_record(row) for row in rows]

    async def revoke_key(self, id_or_prefix: int | str) -> KeyRecord:
        """Revoke a key by id or by the beginning of its text and return it; revoking twice keeps the first time.

        Every server process refuses it within 5 seconds. On a full disk the space set aside for it is used. Raises
        KeyNotFound; `sqlalchemy.exc.SQLAlchemyError` when the database refuses, and then the key still works.
        """
        try:
            return await self._revoke(id_or_prefix)
        except DBAPIError as error:
            if not is_full(error):
                raise
        give_up_beside(self._engine.url)
        return await self._revoke(id_or_prefix, spends_reserve=True)

    async def _revoke(self, id_or_prefix: int | str, *, spends_reserve: bool = False) -> KeyRecord:
        text = str(id_or_prefix).strip()
        if text.isascii() and text.isdigit():
            matches = keys.c.id == int(text)
        else:
            # What is shown of a key, or the key itself.
            matches = keys.c.hash == digest(text) if is_key_text(text) else keys.c.prefix == text
        async with write_in_turn(self._engine) as connection:
            found = [_record(row) for row in await connection.execute(select(keys).where(matches))]
            if len(found) != 1:
                raise KeyNotFound(
                    "no key has that id or prefix" if not found else "several keys have that prefix: give the id"
                )
            if found[0].revoked_at is not None:
                return found[0]
            if spends_reserve:
                await give_up_inside(connection)
            await connection.execute(update(keys).where(keys.c.id == found[0].id).values(revoked_at=datetime.now(UTC)))
            row = (await connection.execute(select(keys).where(keys.c.id == found[0].id))).one()
            return _record(row)

    async def version(self) -> tuple[int, int]:
        """Return figures that change with every key made or revoked: the highest id, and how many are revoked."""
        async with self._engine.connect() as connection:
            row = (await connection.execute(select(func.max(keys.c.id), func.count(keys.c.revoked_at)))).one()
            return row[0] or 0, row[1]

    async def live_keys(self) -> dict[bytes, KeyRecord]:
        """Return the keys that are not revoked, by hash."""
        async with self._engine.connect() as connection:
            rows = await connection.execute(select(keys).where(keys.c.revoked_at.is_(None)))
            return {row.hash: _record(row) for row in rows}


def _record(row: Row[Any]) -> KeyRecord:
    return KeyRecord(row.id, row.name, row.prefix, row.rate, row.burst, row.created_at, row.revoked_at)
