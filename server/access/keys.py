"""API keys: what they look like and may do, and the store that the command line works on.

A key's text is shown once and stored nowhere; what is stored is its hash. Every change of a key changes
`KeyStore.version`, by which the processes notice it (`server/access/directory.py`), and is announced on PostgreSQL.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from sqlalchemy import delete, func, insert, or_, select, update
from sqlalchemy.exc import DBAPIError

from runtime.settings import FASTEST_RATE, SLOWEST_RATE
from server.storage.database import give_up_beside, give_up_inside, is_full
from server.storage.tables import key_tickets, keys
from server.storage.transactions import write_in_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any, Unpack

    from sqlalchemy import Row
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine


KEY_PREFIX = "wp_"
_SHOWN = len(KEY_PREFIX) + 6
is_key_text = re.compile(r"wp_[A-Za-z0-9_-]{43}").fullmatch


TICKET_PREFIX = "wt_"
is_ticket_text = re.compile(r"wt_[A-Za-z0-9_-]{43}").fullmatch
TICKET_LASTS = timedelta(minutes=15)
MOST_TICKETS = 32
"""Tickets of one text of a key that work at once; a further one ends the oldest."""

CHANNEL = "waypost_keys"
"""Where PostgreSQL announces that a key was made, changed or revoked, or a ticket issued."""


class Ticket(NamedTuple):
    """What stands for a key until a time: `key_hash` is that of the key's text, whatever that is good for by then."""

    key_hash: bytes
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Rights:
    """What a key may do: the operations by name and the chains by slug; None for all of them."""

    operations: frozenset[str] | None = None
    chains: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key as the store knows it. `rate` and `burst` are None where the configured default applies.

    From `expires_at` on it opens nothing, None means never; `rights` are None where it may do everything. The text that
    it had before it was rotated works until `previous_until`, None where there is none.
    """

    id: int
    name: str
    prefix: str
    rate: float | None
    burst: int | None
    created_at: datetime
    revoked_at: datetime | None
    expires_at: datetime | None = None
    rights: Rights | None = None
    notes: str | None = None
    previous_until: datetime | None = None


class KeyLimits(TypedDict, total=False):
    """What a key may have. None means: never, everything, none. `operations` are names, `chains` slugs."""

    expires_at: datetime | None
    operations: Collection[str] | None
    chains: Collection[str] | None
    notes: str | None


class KeyTerms(KeyLimits, total=False):
    """What can be set of a key. `rate` is units a second, `burst` units at once; None means the configured default."""

    name: str
    rate: float | None
    burst: int | None


class KeyNotFound(LookupError):
    """No key, or more than one, goes by the id, name or prefix; the message states which."""


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

    async def create_key(
        self, name: str, rate: float | None = None, burst: int | None = None, **limits: Unpack[KeyLimits]
    ) -> tuple[int, str]:
        """Add a key and return its id and the key itself, which cannot be had again.

        Raises ValueError for terms that no key can have: see `_columns`.
        """
        key = new_key()
        columns = _columns({"name": name, "rate": rate, "burst": burst, **limits})
        row = {**columns, "prefix": key[:_SHOWN], "hash": digest(key), "created_at": datetime.now(UTC)}
        async with write_in_turn(self._engine) as connection:
            result = await connection.execute(insert(keys).values(**row))
            await _announce(connection)
            made = result.inserted_primary_key
            assert made is not None
            return int(made[0]), key

    async def set_key(self, key_name: int | str, **terms: Unpack[KeyTerms]) -> KeyRecord:
        """Change the terms that are given, all or none, and return the key; its text stays.

        Raises KeyNotFound; ValueError for terms that no key can have, and for a revoked key.
        """
        columns = _columns(terms)
        return await self._change(key_name, lambda _: columns)

    async def rotate_key(
        self, key_name: int | str, keep_until: datetime | None = None, *, replaces: bool = False
    ) -> tuple[KeyRecord, str]:
        """Give a key a new text and return both; id, terms, quota and usage go on.

        The text before works until `keep_until`, None: no longer. A key has one text before: while that works, one more
        has to end at once, either both that there are (`keep_until` None) or, with `replaces`, the newest one.

        Raises KeyNotFound; ValueError for a revoked key, a `keep_until` that is past, and where it is not stated which
        text ends, or there is no text before for `replaces`.
        """
        key, now = new_key(), datetime.now(UTC)

        def decide(found: KeyRecord) -> dict[str, Any]:
            row = {"hash": digest(key), "prefix": key[:_SHOWN]}
            overlaps = found.previous_until is not None and found.previous_until > now
            if replaces:
                if not overlaps:
                    raise ValueError(
                        f"key {found.id} ({found.name}) has no text before that still works: just rotate it"
                    )
                return row
            if keep_until is not None and keep_until <= now:
                raise ValueError("the old text works until a time in the future, or not at all (`none`)")
            if keep_until is not None and overlaps:
                until = f"{found.previous_until:%Y-%m-%dT%H:%M:%SZ}"
                raise ValueError(
                    f"key {found.id} ({found.name}) was rotated already, and its text before works until {until}: "
                    "rotate it after that; or end both texts now (--overlap none), or the newer one (--replace)"
                )
            return row | {"previous_until": keep_until, "previous_hash": None if keep_until is None else keys.c.hash}

        return await self._change(key_name, decide), key

    async def _change(self, key_name: int | str, decide: Callable[[KeyRecord], dict[str, Any]]) -> KeyRecord:
        async with write_in_turn(self._engine) as connection:
            found = await _find(connection, key_name)
            if found.revoked_at is not None:
                raise ValueError(f"key {found.id} ({found.name}) is revoked; create a new one")
            edited = {**decide(found), "edits": func.coalesce(keys.c.edits, 0) + 1}
            await connection.execute(update(keys).where(keys.c.id == found.id).values(edited))
            await _announce(connection)
            return await _find(connection, found.id)

    async def list_keys(self) -> list[KeyRecord]:
        """Return all keys, revoked ones included, oldest first."""
        async with self._engine.connect() as connection:
            rows = await connection.execute(select(keys).order_by(keys.c.id))
            return [_record(row) for row in rows]

    async def revoke_key(self, key_name: int | str) -> KeyRecord:
        """Revoke a key by id, name or the beginning of its text and return it; revoking twice keeps the first time.

        Every server process refuses it within 5 seconds. On a full disk the space set aside for it is used. Raises
        KeyNotFound; `sqlalchemy.exc.SQLAlchemyError` when the database refuses, and then the key still works.
        """
        try:
            return await self._revoke(key_name)
        except DBAPIError as error:
            if not is_full(error):
                raise
        give_up_beside(self._engine.url)
        return await self._revoke(key_name, spends_reserve=True)

    async def _revoke(self, key_name: int | str, *, spends_reserve: bool = False) -> KeyRecord:
        async with write_in_turn(self._engine) as connection:
            found = await _find(connection, key_name)
            if found.revoked_at is not None:
                return found
            if spends_reserve:
                await give_up_inside(connection)
            await connection.execute(update(keys).where(keys.c.id == found.id).values(revoked_at=datetime.now(UTC)))
            await _announce(connection)
            return await _find(connection, found.id)

    async def find_key(self, key_name: int | str) -> KeyRecord:
        """Return a key by id, by name, by what is shown of it, or by its text; raises KeyNotFound."""
        async with self._engine.connect() as connection:
            return await _find(connection, key_name)

    async def issue_ticket(self, key_hash: bytes) -> str:
        """Return a fresh ticket for TICKET_LASTS that stands for the text of a key with this hash.

        What it opens is what that text opens whenever it is used. Expired tickets are deleted by the way.
        """
        ticket, now = TICKET_PREFIX + secrets.token_urlsafe(32), datetime.now(UTC)
        row = {"hash": digest(ticket), "key_hash": key_hash, "expires_at": now + TICKET_LASTS}
        of_key = select(key_tickets.c.id).where(key_tickets.c.key_hash == key_hash).order_by(key_tickets.c.id.desc())
        async with write_in_turn(self._engine) as connection:
            await connection.execute(insert(key_tickets).values(**row))
            oldest = (await connection.execute(of_key.offset(MOST_TICKETS - 1).limit(1))).scalar()
            is_over = key_tickets.c.expires_at <= now
            if oldest is not None:
                is_over |= (key_tickets.c.key_hash == key_hash) & (key_tickets.c.id < oldest)
            await connection.execute(delete(key_tickets).where(is_over))
            await _announce(connection)
        return ticket

    async def version(self) -> tuple[tuple[int, int, int], int]:
        """Return figures that change with every key made, revoked or edited, and one that changes with every ticket.

        These are: highest id, revoked keys, edits; highest id.
        """
        async with self._engine.connect() as connection:
            newest = select(func.max(key_tickets.c.id)).scalar_subquery()
            figures = select(func.max(keys.c.id), func.count(keys.c.revoked_at), func.sum(keys.c.edits), newest)
            row = (await connection.execute(figures)).one()
            return (row[0] or 0, row[1], int(row[2] or 0)), row[3] or 0

    async def live_tickets(self) -> dict[bytes, Ticket]:
        """Return the tickets that have not expired, by hash."""
        columns = key_tickets.c
        async with self._engine.connect() as connection:
            live = select(columns.hash, columns.key_hash, columns.expires_at).where(
                columns.expires_at > datetime.now(UTC)
            )
            return {row.hash: Ticket(row.key_hash, row.expires_at) for row in await connection.execute(live)}

    async def live_keys(self) -> dict[bytes, KeyRecord]:
        """Return the keys that are not revoked, by hash; those that were replaced expire with their time."""
        live: dict[bytes, KeyRecord] = {}
        async with self._engine.connect() as connection:
            for row in await connection.execute(select(keys).where(keys.c.revoked_at.is_(None))):
                record = live[row.hash] = _record(row)
                if row.previous_hash is not None and row.previous_until is not None:
                    ends = [moment for moment in (row.previous_until, record.expires_at) if moment is not None]
                    live[row.previous_hash] = replace(record, expires_at=min(ends))
        return live


async def _announce(connection: AsyncConnection) -> None:
    """Announce a change with the transaction's commit, where the database can."""
    if connection.dialect.name == "postgresql":
        await connection.execute(select(func.pg_notify(CHANNEL, "")))


async def _find(connection: AsyncConnection, key_name: int | str) -> KeyRecord:
    text = str(key_name).strip()
    if text.isascii() and text.isdigit():
        # Beyond what the column holds no key can be; PostgreSQL refuses to compare it.
        matches = keys.c.id == min(int(text[:12]), 2**31 - 1)
    elif is_key_text(text):
        matches = or_(keys.c.hash == digest(text), keys.c.previous_hash == digest(text))
    else:
        matches = or_(keys.c.prefix == text, keys.c.name == text)
    found = [_record(row) for row in await connection.execute(select(keys).where(matches).order_by(keys.c.id))]
    # One that was made in the place of another, which was revoked, often has its name.
    chosen = [one for one in found if one.revoked_at is None] if len(found) > 1 else found
    if len(chosen) == 1:
        return chosen[0]
    if not found:
        raise KeyNotFound("no key has that id, name or prefix")
    numbers = ", ".join(str(one.id) for one in chosen or found)
    raise KeyNotFound(f"several keys have that name or prefix: give one of the ids {numbers}")


def _columns(terms: KeyTerms) -> dict[str, Any]:
    """Return the columns of a key's terms.

    Raises ValueError for a name that is not 1 to 100 printable characters, a quota out of bounds, an expiry that is
    past, an empty list, a name in a list that is no word, and notes of more than 1,000 characters.
    """
    columns: dict[str, Any] = dict(terms)
    if "name" in terms and not (1 <= len(terms["name"]) <= 100 and terms["name"].isprintable()):
        raise ValueError("a key's name has 1 to 100 printable characters")
    rate, burst, notes = terms.get("rate"), terms.get("burst"), terms.get("notes")
    if rate is not None and not SLOWEST_RATE <= rate <= FASTEST_RATE:
        raise ValueError(f"a key's rate is from {SLOWEST_RATE} to {FASTEST_RATE:,} units a second")
    if burst is not None and not 1 <= burst <= 1_000_000:
        raise ValueError("a key's burst is from 1 to 1,000,000 units")
    expires_at = terms.get("expires_at")
    if expires_at is not None and expires_at <= datetime.now(UTC):
        raise ValueError("a key's expiry is in the future; to end it now, revoke it")
    if notes is not None and len(notes) > 1000:
        raise ValueError("a key's notes have at most 1,000 characters")
    for what, words in (("operations", terms.get("operations")), ("chains", terms.get("chains"))):
        if words is None:
            continue
        if not words:
            raise ValueError(f"a key's {what} are at least one, or all of them")
        if not all(_is_word(word) for word in words):
            raise ValueError(f"a key's {what} are names of letters, digits, `_`, `-`, `.` and `*`")
        columns[what] = ",".join(sorted(set(words)))
    return columns


_is_word = re.compile(r"[A-Za-z0-9_.*-]{1,64}").fullmatch


def _record(row: Row[Any]) -> KeyRecord:
    operations, chains = _words(row.operations), _words(row.chains)
    rights = None if operations is None and chains is None else Rights(operations, chains)
    own = (row.id, row.name, row.prefix, row.rate, row.burst, row.created_at, row.revoked_at)
    previous_until = None if row.previous_hash is None else row.previous_until
    return KeyRecord(*own, row.expires_at, rights, row.notes, previous_until)


def _words(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset(text.split(","))
