"""A real PostgreSQL for the tests: the program that the package `pgserver` carries, on loopback, for one session.

PostgreSQL refuses to run as root. There it runs as `nobody`, on a copy of the program where `nobody` may not reach the
package itself; the package's own way would add a user to the machine and change permissions of folders above.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devnet.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

_INITDB = ("--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--username=waypost")
_OPTIONS = ("fsync=off", "shared_buffers=16MB", "unix_socket_directories=", "listen_addresses=127.0.0.1")
_READY_SECONDS = 20.0
_UNPRIVILEGED = "nobody"


class PostgreSql:
    """A running server; `database` makes a database on it. `template` is the URL of one that others begin as."""

    template: str | None = None

    def __init__(self, programs: Path, folder: Path, identity: dict[str, Any]) -> None:
        self._programs = programs
        self._folder = folder
        # The folder that the tests were started in may be closed to that user.
        self._where: dict[str, Any] = {"cwd": folder, "stdin": subprocess.DEVNULL, **identity}
        self._port = free_port()
        self._count = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it on its data, which are made at first; returns once it answers."""
        data, log = self._folder / "data", self._folder / "log"
        if not any(data.iterdir()):
            command = [self._programs / "initdb", *_INITDB, "-D", data]
            made = subprocess.run(command, capture_output=True, timeout=60, **self._where)
            if made.returncode < 0:
                # Seen once on a busy machine: it was ended by a signal. What it has made until then is of no use.
                for entry in data.iterdir():
                    shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
                made = subprocess.run(command, capture_output=True, timeout=60, **self._where)
            made.check_returncode()
        options = [part for option in (*_OPTIONS, f"port={self._port}") for part in ("-c", option)]
        with log.open("wb") as written:
            command = [self._programs / "postgres", "-D", data, *options]
            self._process = subprocess.Popen(command, stdout=written, stderr=written, **self._where)
        _wait(self._process, self._port, log)

    def stop(self) -> None:
        """Stop it; connections are cut."""
        process, self._process = self._process, None
        if process is None:
            return
        # Fast shutdown: the slow one waits for whoever is still connected.
        process.send_signal(signal.SIGINT)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def url(self, database: str = "postgres") -> str:
        """Return the URL of a database, as the settings take it."""
        return f"postgresql://waypost@127.0.0.1:{self._port}/{database}"

    def database(self, template: str | None = None) -> str:
        """Return the URL of a new database: empty, or a copy of another one, which nobody is connected to."""
        self._count += 1
        name = f"waypost_{self._count}"
        self.run(f"CREATE DATABASE {name}" + (f" TEMPLATE {template.rpartition('/')[2]}" if template else ""))
        return self.url(name)

    def run(self, command: str) -> None:
        """Run one SQL command."""
        asked = [self._programs / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", command, self.url()]
        subprocess.run(asked, check=True, capture_output=True, timeout=30)


@contextmanager
def run_postgresql() -> Iterator[PostgreSql]:
    """Run a server for the length of the context; everything of it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="waypost-postgresql-") as name:
        folder = Path(name)
        identity = _identity()
        programs = _programs(folder, identity)
        data = folder / "data"
        data.mkdir(mode=0o700)
        if identity:
            folder.chmod(0o755)
            os.chown(data, identity["user"], identity["group"])
        server = PostgreSql(programs, folder, identity)
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _identity() -> dict[str, Any]:
    """Return what makes a process not root's, nothing where we are not root."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam(_UNPRIVILEGED)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": ()}


def _programs(folder: Path, identity: dict[str, Any]) -> Path:
    """Return the folder of the programs, copied beside their libraries where another user may not reach them."""
    found = importlib.util.find_spec("pgserver")
    assert found is not None
    assert found.submodule_search_locations
    package = Path(next(iter(found.submodule_search_locations)))
    inside = Path("pginstall") / "bin"
    if not identity or all(parent.stat().st_mode & 0o001 for parent in (package / inside / "postgres").parents):
        return package / inside
    for source in (package, package.with_name("pgserver.libs")):
        shutil.copytree(source, folder / source.name, symlinks=True)
    for path in (folder / package.name, *(folder / package.name).rglob("*"), *(folder / "pgserver.libs").rglob("*")):
        path.chmod(path.stat().st_mode | 0o444 | (0o111 if path.is_dir() or path.stat().st_mode & 0o100 else 0))
    return folder / package.name / inside


def _wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return once the server answers; it says so in its log, which also says why it does not."""
    until = time.monotonic() + _READY_SECONDS
    while time.monotonic() < until and server.poll() is None:
        if b"ready to accept connections" in log.read_bytes():
            return
        time.sleep(0.02)
    raise RuntimeError(f"PostgreSQL does not start on port {port}:\n{log.read_text(errors='replace')}")
