"""The control socket of a running gateway: a Unix socket for its own user, on which it is asked to reload.

One line of JSON each way and connection: `{"command": "reload"}`, and the outcome (`cli.reloader.Outcome`).
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.reloader import Reloader, listen_for_reload
from runtime.config_errors import ConfigError
from runtime.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AsyncExitStack

    from cli.reloader import Changes, Read
    from runtime.settings import Settings

    Answer = Callable[[], Awaitable[dict[str, Any]]]

RELOAD = {"command": "reload"}
LONGEST_LINE = 1 << 20
# How long a client may take to write its line.
_READ_SECONDS = 10.0
# What a path of a Unix socket may be long, its end included, on the systems that allow least.
_LONGEST_PATH = 103
_ONLY_OWNER = 0o177

_log = get_logger("waypost.control")


def control_path(socket_path: Path | None, profile: str, port: int) -> Path:
    """Return where a gateway's control socket lies: as configured, else by profile and port in the user's own folder.

    That is `$XDG_RUNTIME_DIR/waypost`, or `waypost-<user id>` among the temporary files.
    """
    if socket_path is not None:
        return socket_path
    base = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(base) / "waypost" if base else Path(tempfile.gettempdir()) / f"waypost-{os.getuid()}"
    return folder / f"{profile}-{port}.sock"


async def open_control(stack: AsyncExitStack, settings: Settings, port: int, reload: Answer) -> None:
    """Serve the control socket for as long as the stack; `reload` returns an outcome.

    Raises ConfigError where a configured socket cannot be had; without the default one a warning is logged.
    """
    path = control_path(settings.control.socket, settings.profile, port)
    try:
        bound = _bind(path, is_default=settings.control.socket is None)
    except OSError as error:
        if settings.control.socket is not None:
            fix = f"the control socket cannot be made there ({error.strerror or error}): choose another path"
            raise ConfigError("control.socket", str(path), fix) from None
        _log.warning("no control socket: reload by SIGHUP, or set control.socket", error=error.strerror or str(error))
        return

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, TimeoutError, ValueError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_READ_SECONDS):
                line = await reader.readline()
            writer.write(json.dumps(await _answer(line, reload)).encode() + b"\n")
            await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(answer, sock=bound)

    def close() -> None:
        server.close()
        with suppress(OSError):
            path.unlink()

    stack.callback(close)


async def _answer(line: bytes, reload: Answer) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except ValueError:
        request = None
    if request != RELOAD:
        return {"ok": False, "error": 'the only command is {"command": "reload"}'}
    return await reload()


def _bind(path: Path, *, is_default: bool) -> socket.socket:
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise OSError(None, f"the path is longer than {_LONGEST_PATH} bytes")
    if is_default:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.parent.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
            raise OSError(None, "the folder for it is not this user's own")
    bound = socket.socket(socket.AF_UNIX)
    try:
        _remove_stale(path)
        before = os.umask(_ONLY_OWNER)
        try:
            bound.bind(str(path))
        finally:
            os.umask(before)
    except OSError:
        bound.close()
        raise
    return bound


def _remove_stale(path: Path) -> None:
    """Remove the socket of a gateway that is gone; OSError where one still answers, or the file is no socket."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise OSError(None, "there is a file of this name")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
    raise OSError(None, "another gateway has it")


def ask(path: Path, request: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return what the gateway behind the socket answers to a request; OSError where none answers in time."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(seconds)
        connection.connect(str(path))
        connection.sendall(json.dumps(request).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            part = connection.recv(1 << 16)
            if not part:
                raise ConnectionError("the gateway ended before it answered")
            line += part
    answer: dict[str, Any] = json.loads(line)
    return answer


class Control:
    """What has one process reload: its socket, and SIGHUP. `read` reads the settings again."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._reloader: Reloader | None = None

    def generation(self) -> int | None:
        """Return which of its settings the process has; None before it serves."""
        return None if self._reloader is None else self._reloader.generation

    async def open(self, stack: AsyncExitStack, settings: Settings, changes: Changes, port: int) -> None:
        """Take requests for as long as the stack; `port` is part of the default socket's name."""
        self._reloader = reloader = Reloader(settings, self._read, changes)
        await open_control(stack, settings, port, reloader.reload)
        listen_for_reload(reloader.reload)
