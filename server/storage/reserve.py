"""Space that is set aside beside and inside an SQLite file, so that a key can be revoked on a full disk.

Beside the file lies another one, which is deleted when the disk is full: SQLite needs room for its log and its index of
it. Inside are pages that are given up when the file itself cannot grow.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, insert, select
from sqlalchemy.exc import DBAPIError

from server.storage.tables import reserve
from server.storage.turns import write_in_turn

if TYPE_CHECKING:
    from sqlalchemy.engine import URL
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

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
