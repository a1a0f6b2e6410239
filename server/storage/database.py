"""The database behind a URL, brought to the newest schema when it is opened."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from sqlalchemy import event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from server.storage.migrations import upgrade
from server.storage.reserve import give_up_beside, is_full, set_aside
from server.storage.turns import is_busy

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

BUSY_MILLISECONDS = 5000
"""How long a statement waits for another process's transaction on an SQLite file."""

TURN_SECONDS = 30.0
"""How long an opening waits for those of other processes: migrations take seconds on a busy machine."""

_PAUSE_SECONDS = 0.1

# Drivers that work on an event loop, by backend.
_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}


async def open_database(url: str, profile: str | None = None, *, spends_reserve: bool = False) -> AsyncEngine:
    """Return an engine for the URL with every migration applied; an SQLite file and its folder are made if missing.

    A new database becomes the `profile`'s and takes no process of another one; None skips that (tests, tools). With
    `spends_reserve` the space set aside for revocations is used where the disk is full, and not set aside anew.

    Raises OSError when the file or its folder cannot be made or the server cannot be reached, `WrongProfile` when the
    database is another profile's, `sqlalchemy.exc.SQLAlchemyError` when it refuses.
    """
    target = make_url(url)
    target = target.set(drivername=_DRIVERS.get(target.get_backend_name(), target.drivername))
    if target.get_backend_name() == "sqlite":
        _make_private_file(target)
    # hide_parameters: hashes of keys stay out of errors and logs.
    # A connection that the server closed meanwhile is replaced before it is used.
    engine = create_async_engine(target, hide_parameters=True, pool_pre_ping=target.get_backend_name() != "sqlite")
    if target.get_backend_name() == "sqlite":
        event.listen(engine.sync_engine, "connect", _configure_sqlite)
    try:
        try:
            await _upgrade_in_turn(engine, profile)
        except SQLAlchemyError as error:
            if not (spends_reserve and is_full(error) and give_up_beside(engine.url)):
                raise
            await _upgrade_in_turn(engine, profile)
        if not spends_reserve:
            await set_aside(engine)
    except BaseException:
        await engine.dispose()
        raise
    return engine


async def _upgrade_in_turn(engine: AsyncEngine, profile: str | None) -> None:
    """Apply the migrations; while another process that starts too holds an SQLite file, wait for it."""
    until = monotonic() + TURN_SECONDS
    while True:
        try:
            return await upgrade(engine, profile, lock_seconds=TURN_SECONDS)
        except OperationalError as error:
            if not is_busy(error) or monotonic() >= until:
                raise
        await asyncio.sleep(_PAUSE_SECONDS)


def _make_private_file(url: URL) -> None:
    if not url.database or url.database == ":memory:":
        return
    path = Path(url.database)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Hashes of keys are nobody else's business.
    path.touch(mode=0o600, exist_ok=True)
    try:
        # Tried here, as a connection that fails within the engine leaves a thread behind that outlives the event loop.
        sqlite3.connect(path).close()
    except sqlite3.Error as error:
        raise OperationalError(None, None, error) from None


def _configure_sqlite(connection: Any, record: Any) -> None:
    cursor = connection.cursor()
    try:
        # Readers do not wait for the command line's writes, and a writer waits for another instead of failing.
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        # Not the pool's yet: nothing else would close it, and its thread would outlive the event loop.
        connection.close()
        raise
    cursor.close()
