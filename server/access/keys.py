"""API keys: what they look like, the store that the command line works on, and the live keys in memory.

All live keys are held by hash, so that no request waits for the database: a wrong key is known to be wrong without a
query of its own, and there is no cache of wrong keys that a flood could fill. A cheap query asks at most every
`FRESH_SECONDS` whether anything changed.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select, update
from sqlalchemy.exc import DBAPIError

from runtime.logs import get_logger
from runtime.settings import FASTEST_RATE, SLOWEST_RATE
from server.storage.database import give_up_beside, give_up_inside, is_full
from server.storage.tables import keys
from server.storage.transactions import write_in_turn

if TYPE_CHECKING:
    from collections.abc import Callable
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
    """No key, or more than one, goes by the id or prefix; the message states which."""


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


FRESH_SECONDS = 2.0
"""Age from which a look-up reads the database in the background; revocation is seen after this and one query."""
STALE_SECONDS = 4.0
"""Age from which a look-up waits for the database: an idle gateway does not admit a key revoked meanwhile."""
BETWEEN_MISSES_SECONDS = 0.05
"""Unknown keys wait for the next look at the database, which happens this often at most."""

_log = get_logger("waypost.access")


class KeyDirectory:
    """Finds the record of a key. While the database is unreachable, what was last known holds."""

    def __init__(self, store: KeyStore, clock: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._clock = clock
        self._records: dict[bytes, KeyRecord] = {}
        self._version: tuple[int, int] | None = None
        self._refreshed = float("-inf")
        self._refresh: asyncio.Task[None] | None = None
        self._started = self._finished = 0

    def peek(self, api_key: str) -> KeyRecord | None:
        """Return the record if it is known and fresh enough to be used without waiting."""
        age = self._clock() - self._refreshed
        if age >= STALE_SECONDS:
            return None
        if age >= FRESH_SECONDS:
            self._start_refresh()
        return self._records.get(digest(api_key))

    async def find(self, api_key: str) -> KeyRecord | None:
        """Return the record as the database has it now; None for an unknown or revoked key."""
        if not is_key_text(api_key):
            return None
        # A refresh under way may have read before the key was made: wait for one that starts from now on.
        wanted = self._started + 1
        while self._finished < wanted:
            pause = self._refreshed + BETWEEN_MISSES_SECONDS - self._clock()
            if self._refresh is None and pause > 0:
                await asyncio.sleep(pause)
            else:
                await asyncio.wait((self._start_refresh(),))
        return self._records.get(digest(api_key))

    async def close(self) -> None:
        """End a refresh under way."""
        if self._refresh is not None:
            self._refresh.cancel()
            await asyncio.wait((self._refresh,))

    def _start_refresh(self) -> asyncio.Task[None]:
        if self._refresh is None:
            self._started += 1
            self._refresh = asyncio.create_task(self._load())
            self._refresh.add_done_callback(self._end_refresh)
        return self._refresh

    def _end_refresh(self, task: asyncio.Task[None]) -> None:
        self._refresh = None
        self._finished = self._started

    async def _load(self) -> None:
        started = self._clock()
        try:
            version = await self._store.version()
            if version != self._version:
                # Read after the version: a key created in between is here now, and the next version differs again.
                self._records = await self._store.live_keys()
                self._version = version
        except Exception as error:
            # The text of a database error may hold its URL.
            _log.error("the key store cannot be read; what was last known holds", error=type(error).__name__)
        self._refreshed = started
