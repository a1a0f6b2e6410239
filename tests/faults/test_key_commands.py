"""`waypost keys` where the database cannot be written: one line with the fix, and never a key that seems revoked."""

from __future__ import annotations

import asyncio
import io
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from cli.__main__ import main
from server.access.keys import KeyStore
from server.storage.database import open_database, set_aside
from tests.forkserver import fork

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.postgresql import PostgreSql

NOT_REVOKED = "the key is NOT revoked and still works"
# Everything is imported before the rights are given up: the tree itself may be closed to others.
SCRIPT = """
import os, resource, sys
import cli.gateway, cli.keys, cli.serve, server.storage.database, server.storage.transactions
from cli.__main__ import main
if os.environ.get("AS_USER"):
    user = int(os.environ["AS_USER"])
    os.setgroups([]); os.setgid(user); os.setuid(user)
if os.environ.get("OUTPUT"):
    os.dup2(os.open(os.environ["OUTPUT"], os.O_WRONLY), 1)
seconds = os.environ.get("TURN_SECONDS")
if seconds:
    for module in (server.storage.database, server.storage.transactions):
        module.TURN_SECONDS = float(seconds)
    server.storage.database.BUSY_MILLISECONDS = 50
if os.environ.get("FILE_BYTES"):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(os.environ["FILE_BYTES"]),) * 2)
sys.exit(main(sys.argv[1:]))
"""


Done = subprocess.CompletedProcess[str]


def command(file: Path | str, *arguments: str, **variables: str) -> Done:
    """Run `waypost` on an SQLite file in a process of its own."""
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "WAYPOST_STORAGE__URL": url_of(file), **variables}
    done = fork(SCRIPT, *arguments, environ=environ)
    out, err = done.communicate()
    assert done.returncode is not None
    return subprocess.CompletedProcess(arguments, done.returncode, out, err)


def keys(file: Path | str, *arguments: str) -> Done:
    """Run `waypost keys` on a database in this process, which is quicker."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(out), redirect_stderr(err):
        patched.delenv("WAYPOST_CONFIG", raising=False)
        patched.setenv("WAYPOST_STORAGE__URL", url_of(file))
        code = main(["keys", *arguments])
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def url_of(file: Path | str) -> str:
    return f"sqlite:///{file}" if isinstance(file, Path) else file


def refused(done: Done, *words: str) -> str:
    """Return the one line by which a command is refused."""
    assert (done.returncode, done.stdout) == (1, ""), done
    (line,) = done.stderr.splitlines()
    for word in words:
        assert word in line, line
    return line


def live(file: Path) -> set[str]:
    """Return the names of the keys that work."""
    with sqlite3.connect(f"file:{file}?immutable=1", uri=True) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM keys WHERE revoked_at IS NULL")}
    connection.close()
    return names


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database with the keys `a`, `b` and `c`."""
    path = tmp_path / "store" / "keys.db"

    async def fill() -> None:
        engine = await open_database(f"sqlite:///{path}", "mainnet")
        for name in "abc":
            await KeyStore(engine).create_key(name)
        await engine.dispose()

    asyncio.run(fill())
    return path


@pytest.fixture
def full_disk() -> Iterator[Path]:
    """A small file system of its own."""
    folder = Path("/tmp") / f"waypost-disk-{os.getpid()}"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=800k", "tmpfs", str(folder)], capture_output=True)
    if done.returncode:
        folder.rmdir()
        pytest.skip("file systems can only be mounted by root; limits on file and database size are tested besides")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def fill(folder: Path, name: str = "filling") -> None:
    """Take what is free, page by page."""
    with (folder / name).open("wb", buffering=0) as filling, suppress(OSError):
        while filling.write(bytes(4096)):
            continue
    assert os.statvfs(folder).f_bavail == 0


def test_beside_a_gateway_on_a_full_disk_no_key_is_made_and_keys_are_revoked(file: Path, full_disk: Path) -> None:
    moved = full_disk / "keys.db"
    for source in file.parent.iterdir():
        shutil.copy(source, full_disk)
    # What a gateway that runs has open: the log and its index are there already.
    reader = sqlite3.connect(moved)
    assert reader.execute("SELECT count(*) FROM keys").fetchall() == [(3,)]
    fill(full_disk)
    refused(keys(moved, "create", "d"), "storage.url", f"SQLite file {moved}", "disk is full", "free some space")
    for key, name in (("1", "a"), ("2", "b")):
        done = keys(moved, "revoke", key)
        assert (done.returncode, done.stdout) == (0, f"key {key} ({name}) is revoked\n")
        assert reader.execute("SELECT name FROM keys WHERE revoked_at IS NULL").fetchall()[0] != (name,)
    reader.close()


def test_the_first_key_is_revoked_on_a_full_disk(file: Path, full_disk: Path) -> None:
    moved = full_disk / "keys.db"
    for source in file.parent.iterdir():
        shutil.copy(source, full_disk)
    fill(full_disk)
    listed = keys(moved, "list", "--json")
    assert (listed.returncode, listed.stdout.count('"name"')) == (0, 3)
    done = keys(moved, "revoke", "2")
    assert (done.returncode, done.stdout) == (0, "key 2 (b) is revoked\n")
    assert live(moved) == {"a", "c"}
    # The space is taken again after it; another process takes all of it.
    (full_disk / "keys.db-reserve").unlink(missing_ok=True)
    fill(full_disk, "more")
    refused(keys(moved, "revoke", "3"), NOT_REVOKED, "disk is full", "free some space")
    assert live(moved) == {"a", "c"}


@pytest.mark.parametrize("limit", [0, 40_000, None])
def test_under_a_limit_on_file_sizes_a_key_is_revoked_or_said_to_work(file: Path, limit: int | None) -> None:
    # A file system that is full for everything that would grow.
    size = str(file.stat().st_size if limit is None else limit)
    done = command(file, "keys", "revoke", "2", FILE_BYTES=size)
    if done.returncode == 0:
        assert done.stdout == "key 2 (b) is revoked\n"
        assert "Traceback" not in done.stderr
    else:
        refused(done, NOT_REVOKED, str(file), "limit")
        # Without room for the index of its log SQLite cannot even read.
        assert limit is not None
    assert asyncio.run(names_of(file)) == ({"a", "c"} if done.returncode == 0 else {"a", "b", "c"})
    made = command(file, "keys", "create", "d", FILE_BYTES=size)
    if made.returncode:
        refused(made, str(file), "limit")
    assert ("d" in asyncio.run(names_of(file))) == (made.returncode == 0)


async def names_of(file: Path) -> set[str]:
    engine = await open_database(f"sqlite:///{file}")
    names = {record.name for record in (await KeyStore(engine).live_keys()).values()}
    await engine.dispose()
    return names


async def test_every_key_is_revoked_in_a_file_that_cannot_grow(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/keys.db"
    engine = await open_database(url)
    store = KeyStore(engine)
    for _ in range(300):
        await store.create_key("k" * 90)
    async with engine.connect() as connection:
        free = (await connection.exec_driver_sql("PRAGMA freelist_count")).scalar_one()
    await engine.dispose()
    engine = await open_database(url)
    # Pages that other tables gave up would do; here nothing is left but what was set aside.
    async with engine.begin() as connection:
        await connection.exec_driver_sql("CREATE TABLE ballast (filling BLOB)")
        for _ in range(free):
            await connection.exec_driver_sql("INSERT INTO ballast VALUES (zeroblob(4000))")
    async with engine.connect() as connection:
        pages = (await connection.exec_driver_sql("PRAGMA page_count")).scalar_one()
    await engine.dispose()
    engine = await open_database(url)

    def restrict(connection: Any, record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA max_page_count = {pages}")
        cursor.close()

    event.listen(engine.sync_engine, "connect", restrict)
    await engine.dispose()
    store = KeyStore(engine)
    with suppress(OperationalError):
        for _ in range(200):
            await store.create_key("n" * 90)
    with pytest.raises(OperationalError, match="full"):
        await store.create_key("n" * 90)
    listed = await store.list_keys()
    for record in listed:
        await store.revoke_key(record.id)
    assert await store.live_keys() == {}
    async with engine.connect() as connection:
        assert (await connection.exec_driver_sql("PRAGMA page_count")).scalar_one() <= pages
    await engine.dispose()
    # With room again the pages are set aside anew.
    engine = await open_database(url)
    assert await set_aside(engine)
    async with engine.connect() as connection:
        assert (await connection.exec_driver_sql("SELECT length(filling) FROM reserve")).scalar_one() == 65_536
    await engine.dispose()


@pytest.mark.parametrize(
    ("what", "action"),
    [("folder", "create"), ("folder", "revoke"), ("file", "create"), ("file", "revoke"), ("missing", "list")],
)
def test_a_user_without_rights_reads_which(file: Path, what: str, action: str) -> None:
    variables = {"AS_USER": str(pwd.getpwnam("nobody").pw_uid)} if os.geteuid() == 0 else {}
    # Not below pytest's folder, which is its user's alone.
    with tempfile.TemporaryDirectory(prefix="waypost-rights-") as name:
        Path(name).chmod(0o755)
        folder = Path(name) / "store"
        shutil.copytree(file.parent, folder)
        target = folder / "keys.db" if what != "missing" else folder / "other" / "keys.db"
        for path in folder.iterdir():
            path.chmod(0o444 if what == "file" else 0o666)
        folder.chmod(0o777 if what == "file" else 0o555)
        done = command(target, "keys", action, *{"create": ["d"], "revoke": ["1"], "list": []}[action], **variables)
        folder.chmod(0o755)
        where = f"file {target}" if what == "file" else f"folder {folder}"
        line = refused(done, f"may not write the {where}", "run this as")
        assert (NOT_REVOKED in line) == (action == "revoke")
        assert live(folder / "keys.db") == {"a", "b", "c"}


@contextmanager
def held(file: Path, seconds: float | None = None) -> Iterator[None]:
    """Hold the write lock of a database for so long, or to the end of the context."""
    file.parent.mkdir(exist_ok=True, parents=True)
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(seconds, connection.execute, ("COMMIT",)) if seconds else None
    if timer:
        timer.start()
    try:
        yield
    finally:
        if timer:
            timer.join()
        connection.close()


@pytest.mark.parametrize(("action", "argument"), [("create", "d"), ("revoke", "1")])
def test_a_busy_database_is_waited_for_and_then_named(
    file: Path, action: str, argument: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.storage.database.BUSY_MILLISECONDS", 50)
    monkeypatch.setattr("server.storage.database.TURN_SECONDS", 0.5)
    with held(file):
        line = refused(
            keys(file, action, argument),
            str(file),
            "busy",
            "another process",
            "try again",
        )
    assert (NOT_REVOKED in line) == (action == "revoke")
    assert live(file) == {"a", "b", "c"}
    monkeypatch.setattr("server.storage.database.TURN_SECONDS", 30.0)
    with held(file, seconds=1.0):
        assert keys(file, action, argument).returncode == 0


@pytest.mark.parametrize("is_new", [True, False])
def test_a_start_beside_a_busy_database_names_the_true_cause(file: Path, tmp_path: Path, is_new: bool) -> None:
    target = tmp_path / "new" / "keys.db" if is_new else file
    with held(target):
        began = time.monotonic()
        done = command(target, "serve", "--http-port", "0", "--grpc-port", "0", TURN_SECONDS="1.5")
        assert time.monotonic() - began >= 1.5
    assert (done.returncode, done.stdout) == (1, "")
    assert "it is busy: another process holds its write lock" in done.stderr
    assert "may write" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_no_database_and_a_damaged_one_are_said_to_be(file: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("no database " * 1000)
    refused(command(notes, "keys", "create", "a"), "is no SQLite database", "set storage.url")
    refused(keys(notes, "revoke", "1"), NOT_REVOKED)
    refused(keys(tmp_path, "list"), "it is a folder")
    refused(keys(notes / "keys.db", "list"), "a part of its path is no folder")


def test_postgresql_that_is_away_or_read_only(postgresql: PostgreSql) -> None:
    url = postgresql.database()
    assert keys(url, "create", "a").returncode == 0
    refused(keys("postgresql://w:PASSWORD@127.0.0.1:9/x", "revoke", "1"), NOT_REVOKED, "does not answer")
    refused(keys(postgresql.url("nothing"), "create", "a"), "no such database")
    name = url.rpartition("/")[2]
    postgresql.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    refused(keys(url, "revoke", "1"), NOT_REVOKED, "takes no writes", f"PostgreSQL database {name}")
    postgresql.run(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    done = keys(url, "revoke", "1")
    assert done.returncode == 0
    assert f"the mainnet database: PostgreSQL database {name}" in done.stderr


def test_an_answer_that_cannot_be_printed_is_no_failing_database(file: Path) -> None:
    for arguments, words in ((["create", "d"], "the key is made but lost"), (["revoke", "1"], "the key is revoked")):
        done = command(file, "keys", *arguments, OUTPUT="/dev/full")
        refused(done, "the answer cannot be printed", words)
    assert live(file) == {"b", "c", "d"}
