"""Write transactions that take turns: of one process, and of all that write to the same database."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sqlalchemy import Engine
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

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
