"""The database behind a URL, brought to the newest schema when it is opened, with space set aside for a full disk."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, event, func, insert, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from server.storage.migrations import inspect_revision, upgrade
from server.storage.tables import reserve
from server.storage.transactions import is_busy, write_in_turn

if TYPE_CHECKING:
    from sqlalchemy.engine import URL
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine


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
    database is another profile's, `NewerDatabase` when a newer Waypost has changed it beyond what this one supports,
    `sqlalchemy.exc.SQLAlchemyError` when it refuses.
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


async def inspect_database(url: str, profile: str) -> str | None:
    """Return the schema revision of the database behind the URL, None where it is new or its file not made yet.

    Nothing is made or changed. Raises what `open_database` raises where a process of that profile could not use it.
    """
    target = make_url(url)
    target = target.set(drivername=_DRIVERS.get(target.get_backend_name(), target.drivername))
    if target.get_backend_name() == "sqlite" and target.database and not _is_made(Path(target.database)):
        return None
    engine = create_async_engine(target, hide_parameters=True)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(inspect_revision, profile)
    finally:
        await engine.dispose()


def _is_made(path: Path) -> bool:
    """Return whether a database's file exists; raises OSError where it cannot be written, or not be made."""
    # What does not exist is made in the nearest folder that does.
    place = path if path.exists() else next(parent for parent in path.absolute().parents if parent.exists())
    if place != path and not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(place, os.R_OK | os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return place == path


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
    # Hashes of keys are readable by the owner alone.
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


# Beside the file lies another one, which is deleted when the disk is full: SQLite needs room for its log and its
# index of it. Inside are pages that are given up when the file itself cannot grow.

BESIDE_BYTES = 256 << 10
"""Size of the file beside: the log's index takes 32 KiB, a revocation's log less than 64 KiB."""

INSIDE_BYTES = 64 << 10

_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_PRIMARY = 0xFF


def reserve_path(url: URL) -> Path | None:
    """Return the path of the file beside a database, None where the database is no file."""
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return None
    return Path(f"{url.database}-reserve")


def is_full(error: BaseException) -> bool:
    """Return whether an error can mean that there is no room to write: SQLite reports some of them as I/O errors."""
    code = getattr(error.orig, "sqlite_errorcode", 0) if isinstance(error, DBAPIError) else 0
    return (code or 0) & _PRIMARY in _FULL


async def set_aside(engine: AsyncEngine) -> bool:
    """Set space aside where it is not yet; return whether it is there. Without room for it nothing is raised."""
    path = reserve_path(engine.url)
    if path is None:
        return True
    try:
        _set_aside_beside(path)
        async with engine.connect() as connection:
            filled = (await connection.execute(select(func.count()).select_from(reserve))).scalar_one()
        if not filled:
            async with write_in_turn(engine) as connection:
                await connection.execute(
                    insert(reserve).prefix_with("OR IGNORE").values(id=1, filling=bytes(INSIDE_BYTES))
                )
    except (OSError, DBAPIError):
        return False
    return True


def give_up_beside(url: URL) -> bool:
    """Delete the file beside the database; return whether that made room."""
    path = reserve_path(url)
    if path is None:
        return False
    try:
        path.unlink()
    except OSError:
        return False
    return True


async def give_up_inside(connection: AsyncConnection) -> None:
    """Leave the pages inside the file to the transaction that goes on."""
    await connection.execute(delete(reserve))


def _set_aside_beside(path: Path) -> None:
    if path.exists() and path.stat().st_size >= BESIDE_BYTES:
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        # Not a file with holes: its blocks are taken now.
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, BESIDE_BYTES)
        else:
            os.write(descriptor, os.urandom(BESIDE_BYTES))
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(descriptor)
