"""Why a database cannot be opened, read or written, in the operator's terms."""

from __future__ import annotations

import errno
import os
import pwd
import sqlite3
from pathlib import Path
from typing import NamedTuple

from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from server.storage.migrations import NewerDatabase, WrongProfile

STORAGE_FAILURES = (OSError, SQLAlchemyError, NewerDatabase, WrongProfile)
"""What opening, reading and writing a database may raise."""


class Failure(NamedTuple):
    """What is wrong and what to do, each a clause without a full stop. Neither holds a password."""

    cause: str
    fix: str


_FULL = Failure("its disk is full", "free some space on that disk and try again")
_REFUSED = Failure(
    "writing fails (the disk is full, a limit on the size of files is reached, or the disk is broken)",
    "free some space on that disk, raise the limit (`ulimit -f`), and try again",
)
_BUSY = Failure(
    "it is busy: another process holds its write lock",
    "let that process finish or end it (a backup, an open SQL shell, another gateway's start), and try again",
)
_READ_ONLY = Failure("it lies on a read-only file system", "make that writable, or set storage.url to another place")
_NO_FILE_NAME = Failure("a part of its path is no folder", "set storage.url to a file in a folder")

# By SQLite's primary result code.
_SQLITE = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR: _REFUSED,
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_PROTOCOL: _BUSY,
    sqlite3.SQLITE_NOTADB: Failure("the file is no SQLite database", "set storage.url to another file"),
    sqlite3.SQLITE_CORRUPT: Failure("the file is damaged", "put a backup of it in its place"),
}
_NOT_ALLOWED = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
_PRIMARY = 0xFF
_LEAST_FREE = 256 << 10

_SYSTEM = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _REFUSED,
    errno.EROFS: _READ_ONLY,
    errno.ENOTDIR: _NO_FILE_NAME,
    errno.EEXIST: _NO_FILE_NAME,
    errno.EISDIR: Failure("it is a folder", "set storage.url to a file"),
}

# By PostgreSQL's SQLSTATE, the longest beginning that is listed.
_POSTGRESQL = {
    "28": Failure("it does not take that user or password", "mend the user and password in storage.url"),
    "3D000": Failure("there is no such database", "create it, or name another in storage.url"),
    "25006": Failure("it takes no writes (a standby, or read-only)", "set storage.url to the primary"),
    "42501": Failure("that user may not do this there", "grant it the rights of the database's owner"),
    "53100": Failure("its disk is full", "free some space on the server's disk and try again"),
    "53300": Failure("it has too many connections", "end some, or raise the server's max_connections"),
    "55P03": _BUSY,
    "57P03": Failure("it is starting or stopping", "try again"),
}
_LATE = Failure("it does not answer in time", "see whether it runs and which session holds a lock, and try again")
_AWAY = Failure("it does not answer", "start it, or mend host and port in storage.url")


def describe_database(url: str) -> str:
    """Return which database a URL means, without user and password."""
    parts = make_url(url)
    if parts.get_backend_name() == "sqlite":
        return f"SQLite file {parts.database}"
    host = parts.host or str(parts.query.get("host", "localhost"))
    return f"PostgreSQL database {parts.database} at {host}{f':{parts.port}' if parts.port else ''}"


def explain_failure(error: BaseException, url: str) -> Failure:
    """Return the cause and the fix of what `STORAGE_FAILURES` names, for the database behind the URL."""
    parts = make_url(url)
    if isinstance(error, WrongProfile):
        return Failure(
            f"it belongs to {error.owner}, and this process is of {error.profile}",
            f"start with --network {error.owner}, or give {error.profile} a database of its own in storage.url",
        )
    if isinstance(error, NewerDatabase):
        return Failure(
            f"a newer Waypost has changed it (revision {error.found}; this one supports revisions up to {error.known})",
            "start the newer version, or restore the backup from before its first start",
        )
    if isinstance(error, TimeoutError):
        return _LATE
    path = Path(parts.database) if parts.get_backend_name() == "sqlite" and parts.database else None
    found = _explain_file(error, path) if path is not None else _explain_server(error)
    if found is not None:
        return found
    # The error's own text may hold a password.
    name = type(getattr(error, "orig", None) or error).__name__
    return Failure(
        f"it refuses ({name})", "set storage.url to a file that this user may write, or to a PostgreSQL database"
    )


def _explain_file(error: BaseException, path: Path) -> Failure | None:
    if isinstance(error, DBAPIError):
        code = (getattr(error.orig, "sqlite_errorcode", None) or 0) & _PRIMARY
        if code in _NOT_ALLOWED:
            return _explain_rights(path)
        # On a full disk SQLite fails to make the index of its log, and reports that as an I/O error.
        return _FULL if code == sqlite3.SQLITE_IOERR and _is_full(path) else _SQLITE.get(code)
    if isinstance(error, PermissionError):
        return _explain_rights(path)
    return _SYSTEM.get(error.errno or 0) if isinstance(error, OSError) else None


def _explain_rights(path: Path) -> Failure:
    """Return which of the file and the folders above it this user may not use."""
    folder = path.parent
    while not _exists(folder) and folder != folder.parent:
        folder = folder.parent
    try:
        if os.statvfs(folder).f_flag & os.ST_RDONLY:
            return _READ_ONLY
    except OSError:
        pass
    if os.path.isdir(path):
        return _SYSTEM[errno.EISDIR]
    if _exists(path) and not os.access(path, os.R_OK | os.W_OK):
        return _no_right("file", path)
    if not os.access(folder, os.W_OK | os.X_OK):
        return _no_right("folder", folder)
    beside = [Path(f"{path}{ending}") for ending in ("-wal", "-shm") if _exists(Path(f"{path}{ending}"))]
    for file in beside:
        if not os.access(file, os.R_OK | os.W_OK):
            return _no_right("file", file)
    return Failure("this user may not write it", "run this as its owner, or set storage.url to another file")


def _no_right(kind: str, path: Path) -> Failure:
    try:
        owner = pwd.getpwuid(path.stat().st_uid).pw_name
    except (OSError, KeyError):
        owner = "its owner"
    return Failure(
        f"this user may not write the {kind} {path}",
        f"run this as {owner}, give this user the right to write it, or set storage.url to another place",
    )


def _is_full(path: Path) -> bool:
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _LEAST_FREE


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _explain_server(error: BaseException) -> Failure | None:
    if isinstance(error, OSError):
        return _AWAY
    origin = getattr(error, "orig", None) or error
    state = str(getattr(origin, "sqlstate", None) or "")
    return next((_POSTGRESQL[state[:length]] for length in (5, 2) if state[:length] in _POSTGRESQL), None)
