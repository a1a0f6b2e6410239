"""Write transactions that take turns, inserts that meet rows with the same key, and leases of several gateways."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError

from server.storage.tables import leases

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sqlalchemy import Engine, Table
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
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


TURN_SECONDS = 30.0
"""How long a writer waits for its turn: SQLite itself gives up after some seconds, and is not fair among many."""

_PAUSE_SECONDS = 0.05
# Of PostgreSQL's lock for writers: any number that nothing else uses there.
_LOCK = 0x77617971

_locks: WeakKeyDictionary[Engine, asyncio.Lock] = WeakKeyDictionary()


def is_busy(error: BaseException) -> bool:
    """Return whether an SQLite file is held by another process: "database is locked", "locking protocol"."""
    return isinstance(error, OperationalError) and "lock" in str(error.orig)


@asynccontextmanager
async def write_in_turn(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Open a transaction that no other write runs beside; it is committed at the end, or rolled back.

    Waits `TURN_SECONDS` for other processes. Raises `sqlalchemy.exc.SQLAlchemyError` when the database refuses.
    """
    if engine.dialect.name != "sqlite":
        async with engine.begin() as connection:
            await connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(TURN_SECONDS * 1000)}")
            await connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
            yield connection
        return
    # Writers of this process queue up in order; only one at a time contends with other processes.
    async with _locks.setdefault(engine.sync_engine, asyncio.Lock()), engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        await _begin(connection)
        try:
            yield connection
            await connection.exec_driver_sql("COMMIT")
        except BaseException:
            # SQLite has rolled back itself where the disk is full.
            with suppress(OperationalError):
                await connection.exec_driver_sql("ROLLBACK")
            raise


async def _begin(connection: AsyncConnection) -> None:
    """Take the write lock at once: a transaction that reads first could not get it behind another's commit."""
    until = monotonic() + TURN_SECONDS
    while True:
        try:
            await connection.exec_driver_sql("BEGIN IMMEDIATE")
            return
        except OperationalError as error:
            if not is_busy(error) or monotonic() >= until:
                raise
        await asyncio.sleep(_PAUSE_SECONDS)


def now_utc() -> datetime:
    """Return the time with its zone."""
    return datetime.now(UTC)


class Lease:
    """One holder's claim to a lease. A holder that dies loses it when its time is over. `clock` returns UTC."""

    def __init__(self, engine: AsyncEngine, name: str, holder: str, *, clock: Callable[[], datetime] = now_utc) -> None:
        self._engine = engine
        self._name = name
        self._holder = holder
        self._clock = clock

    async def hold(self, seconds: float) -> bool:
        """Return whether the lease is this holder's for so long from now; False while it is another one's."""
        now = self._clock()
        until = now + timedelta(seconds=seconds)
        row = {"name": self._name, "holder": self._holder, "until": until}
        async with write_in_turn(self._engine) as connection:
            mine = or_(leases.c.holder == self._holder, leases.c.until <= now)
            renewed = await connection.execute(
                update(leases).where(leases.c.name == self._name, mine).values(holder=self._holder, until=until)
            )
            if renewed.rowcount:
                return True
            taken = await connection.execute(insert_new(self._engine, leases).values(row))
            return taken.rowcount > 0

    async def release(self) -> None:
        """Leave the lease to the next one at once, if it is this holder's."""
        async with write_in_turn(self._engine) as connection:
            await connection.execute(delete(leases).where(leases.c.name == self._name, leases.c.holder == self._holder))
