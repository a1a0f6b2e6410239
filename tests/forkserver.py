"""Processes that run Python code, forked from one that has imported the gateway: an interpreter takes two seconds.

What is forked is a process of its own in all that tests look at: pid, signals, exit code, descriptors, limits, rights.
How an operator starts one, by a fresh interpreter, `tests/e2e/test_serve_command.py` tries.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).resolve().parents[1]
COMMAND = "import sys\nfrom cli.__main__ import main\nsys.exit(main())"
"""What `python -m cli` does."""
_INTEGER = struct.Struct("=i")
_TURN = threading.Lock()
"""One request at a time: the server answers in order, whichever thread reads."""


class Forked:
    """A process of the fork server; `stdout` and `stderr` are read by whoever wants them."""

    def __init__(self, pid: int, ends: Iterable[int]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._status, self._stdin, *self._outputs = ends
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None
        self._ending: asyncio.StreamReader | None = None

    def send_signal(self, number: int) -> None:
        """Signal the process; one that has ended takes no notice."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process at once."""
        self.send_signal(signal.SIGKILL)

    async def open(self) -> None:
        """Make readers of both outputs."""
        self.stdout, self.stderr = [await _reader(end) for end in self._outputs]
        self._outputs = []

    async def wait(self) -> int:
        """Return the exit code, or the number of the signal that ended it, negative."""
        if self.returncode is None:
            # Kept for whoever waits once more after giving up: two readers would close the descriptor twice, the second
            # time whatever has its number by then.
            if self._ending is None:
                self._ending = await _reader(self._status)
            self._conclude(await self._ending.read())
        assert self.returncode is not None
        return self.returncode

    def communicate(self) -> tuple[str, str]:
        """Read both outputs to their end, with threads, and return them; `returncode` is set then."""
        from concurrent.futures import ThreadPoolExecutor

        def read(end: int) -> bytes:
            with os.fdopen(end, "rb") as stream:
                return stream.read()

        with ThreadPoolExecutor(2) as pool:
            out, err = (raw.decode() for raw in pool.map(read, self._outputs))
        self._conclude(read(self._status))
        return out, err

    def _conclude(self, status: bytes) -> None:
        os.close(self._stdin)
        # Without a status the server itself is gone, and what it forked with it.
        self.returncode = _INTEGER.unpack(status)[0] if status else -signal.SIGKILL


async def _reader(end: int) -> asyncio.StreamReader:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(loop=loop)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader, loop=loop), os.fdopen(end, "rb"))
    return reader


def fork(code: str, *arguments: str, environ: Mapping[str, str]) -> Forked:
    """Run the code in a process of its own, at the top of the tree, with these arguments and this environment alone."""
    with ExitStack() as theirs:
        ours = []
        # Status, input, outputs; of the input the other end is written.
        sent: list[int] = []
        for is_input in (False, True, False, False):
            reading, writing = os.pipe()
            theirs.callback(os.close, reading if is_input else writing)
            sent.append(reading if is_input else writing)
            ours.append(writing if is_input else reading)
        request = json.dumps({"code": code, "arguments": arguments, "environ": dict(environ)}).encode()
        with _TURN:
            connection = _server()
            socket.send_fds(connection, [request], sent)
            (pid,) = _INTEGER.unpack(connection.recv(_INTEGER.size))
    return Forked(pid, ours)


@cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.forkserver", str(theirs.fileno())],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": "clients/python:generated:."},
        pass_fds=(theirs.fileno(),),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


class _Request(NamedTuple):
    """What a fork is to do."""

    code: str
    arguments: list[str]
    environ: dict[str, str]


def _serve(requests: socket.socket) -> _Request | None:
    """Fork on request until the other end closes, and report how each ended; returns in each fork what it is to do."""
    running: dict[int, int] = {}
    woken, waking = os.pipe2(os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    while True:
        ready, _, _ = select.select([requests, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _report(running)
        if requests not in ready:
            continue
        raw, descriptors, _, _ = socket.recv_fds(requests, 1 << 20, 4)
        if not raw:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
            return None
        status, *streams = descriptors
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            for end in (woken, waking, status, *running.values()):
                os.close(end)
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            return _Request(**json.loads(raw))
        running[pid] = status
        for stream in streams:
            os.close(stream)
        requests.send(_INTEGER.pack(pid))


def _report(running: dict[int, int]) -> None:
    """Send the exit codes of those that have ended."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            pid, code = ended
            end = running.pop(pid)
            with suppress(BrokenPipeError):
                os.write(end, _INTEGER.pack(os.waitstatus_to_exitcode(code)))
            os.close(end)


def _main() -> None:
    # What the commands import, each of which would import its own alone.
    import cli.__main__
    import cli.call
    import cli.gateway
    import cli.keys
    import cli.serve
    import cli.server
    import cli.transcoder  # noqa: F401

    gc.collect()
    gc.freeze()
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    if request is None:
        return
    os.environ.clear()
    os.environ.update(request.environ)
    sys.argv = ["-c", *request.arguments]
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(request.code, "<forked>", "exec"), names)


if __name__ == "__main__":
    _main()
