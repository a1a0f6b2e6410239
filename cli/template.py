"""A process that has loaded what a worker loads, and forks workers: they share that memory until they write to it.

The parent starts it as a fresh process, and sends it, for each worker, the arguments and descriptors. It has neither a
thread nor anything of gRPC's running when it forks, else it ends; where it ends, workers are fresh processes
(docs/decisions/0057). A worker that it forked is no child of the parent's, which holds it by a descriptor of its own
(pidfd_open(2)), so that a signal never reaches another process.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import select
import signal
import socket
import struct
import sys
from asyncio.subprocess import DEVNULL
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from runtime.logs import get_logger

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Mapping, Sequence

_log = get_logger("waypost.workers")

_INTEGER = struct.Struct("=i")
_LONGEST_REQUEST = 1 << 16
# A busy machine loads the modules in some seconds.
_LONGEST_FORK = 30.0
_LONGEST_STATUS = 1.0


def can_fork() -> bool:
    """Return whether this system has what a template needs: descriptors of processes, which sandboxes may refuse."""
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return False
    try:
        descriptor = os.pidfd_open(os.getpid())
    except OSError:
        return False
    try:
        signal.pidfd_send_signal(descriptor, 0)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


class Forked:
    """A worker that a template forked, as `asyncio.subprocess.Process` shows one."""

    def __init__(self, pid: int, descriptor: int, status: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self._descriptor = descriptor
        self._status = status
        self._ending: asyncio.Task[int] | None = None

    async def open(self, stdin: int, stdout: int, limit: int) -> None:
        """Make streams of the ends of its input and output, of lines of at most `limit` bytes; watch for its end."""
        loop = asyncio.get_running_loop()
        self.stdout = reader = asyncio.StreamReader(limit)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(stdout, "rb"))
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(stdin, "wb"))
        self.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        self._ending = asyncio.create_task(self._watch())

    def send_signal(self, number: int) -> None:
        """Signal the process; one that has ended takes no notice."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, number)

    def kill(self) -> None:
        """End the process at once."""
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Return the exit code, or the number of the signal that ended it, negative."""
        assert self._ending is not None
        return await asyncio.shield(self._ending)

    async def _watch(self) -> int:
        await _readable(self._descriptor)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_STATUS):
                await _readable(self._status)
        os.set_blocking(self._status, False)
        try:
            raw = os.read(self._status, _INTEGER.size)
        except BlockingIOError:
            raw = b""
        # Without one the template is gone.
        self.returncode = _INTEGER.unpack(raw)[0] if raw else -signal.SIGKILL
        os.close(self._descriptor)
        os.close(self._status)
        if self.stdin is not None:
            self.stdin.close()
        return self.returncode


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


class Template:
    """The template as the parent of the workers sees it."""

    def __init__(self, process: Process, requests: socket.socket) -> None:
        self._process = process
        self._requests = requests
        # It answers in order.
        self._turn = asyncio.Lock()

    @classmethod
    async def start(cls, command: Sequence[str], environment: Mapping[str, str]) -> Template:
        """Start the command with `--template=DESCRIPTOR`; it loads while workers are asked for. Raises OSError."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                f"--template={theirs.fileno()}",
                stdin=DEVNULL,
                stdout=DEVNULL,
                env=environment,
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return cls(process, ours)

    async def fork(self, arguments: Sequence[str], inherited: Sequence[int], limit: int) -> Forked:
        """Return a worker with the arguments of `waypost serve`, and at most one inherited descriptor, the ledger's.

        Raises OSError where the template has ended or does not answer; it is not asked again then.
        """
        async with self._turn:
            with ExitStack() as theirs:
                status, sent_status = _pipe(theirs, keeps=0)
                stdin, sent_stdin = _pipe(theirs, keeps=1)
                stdout, sent_stdout = _pipe(theirs, keeps=0)
                try:
                    request = json.dumps(list(arguments)).encode()
                    socket.send_fds(self._requests, [request], [sent_status, sent_stdin, sent_stdout, *inherited])
                    async with asyncio.timeout(_LONGEST_FORK):
                        await _readable(self._requests.fileno())
                    raw, descriptors, _, _ = socket.recv_fds(self._requests, _INTEGER.size, 1)
                    if not raw:
                        raise ConnectionResetError("the template has ended")
                except OSError:
                    # Also TimeoutError.
                    for end in (status, stdin, stdout):
                        os.close(end)
                    self._requests.close()
                    raise
            worker = Forked(_INTEGER.unpack(raw)[0], descriptors[0], status)
            await worker.open(stdin, stdout, limit)
            return worker

    async def close(self) -> None:
        """End the template; what it forked goes on."""
        self._requests.close()
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
        await self._process.wait()


def _pipe(theirs: ExitStack, *, keeps: int) -> tuple[int, int]:
    """Return our end of a pipe (0: that which reads) and the other, which is closed with the stack."""
    ends = os.pipe()
    theirs.callback(os.close, ends[1 - keeps])
    return ends[keeps], ends[1 - keeps]


class _Fork(NamedTuple):
    """What a fork is given: its arguments, input, output, and what it inherits besides."""

    arguments: list[str]
    stdin: int
    stdout: int
    inherited: list[int]


def run_template(descriptor: int) -> list[str] | None:
    """Load a worker's modules, then fork on request; return None at the end, and in each fork its arguments.

    The end comes when the parent closes its end, or where this process may not fork.
    """
    # Here: nothing else of the command needs all of it.
    import uvloop  # noqa: F401

    import cli.gateway  # noqa: F401

    # What exists now is neither looked through by the forks' collectors, which would copy it, nor freed by them.
    gc.collect()
    gc.freeze()
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        _log.error("no worker can be forked, as a module has started a thread; they are fresh processes")
        return None
    fork = _serve(socket.socket(fileno=descriptor))
    if fork is None:
        return None
    os.setsid()
    os.dup2(fork.stdin, 0)
    os.dup2(fork.stdout, 1)
    os.close(fork.stdin)
    os.close(fork.stdout)
    return [*fork.arguments, *(f"--ledger={inherited}" for inherited in fork.inherited)]


def _serve(requests: socket.socket) -> _Fork | None:
    running: dict[int, int] = {}
    woken, waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    while True:
        ready, _, _ = select.select([requests.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _report_ended(running)
        if requests.fileno() not in ready:
            continue
        raw, descriptors, _, _ = socket.recv_fds(requests, _LONGEST_REQUEST, 4)
        if not raw:
            return None
        status, stdin, stdout, *inherited = descriptors
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            for end in (woken, waking, status, *running.values()):
                os.close(end)
            return _Fork(json.loads(raw), stdin, stdout, inherited)
        running[pid] = status
        for end in (stdin, stdout, *inherited):
            os.close(end)
        process = os.pidfd_open(pid)
        with suppress(BrokenPipeError):
            socket.send_fds(requests, [_INTEGER.pack(pid)], [process])
        os.close(process)


def _report_ended(running: dict[int, int]) -> None:
    """Write the exit codes of those that have ended to their status pipes."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            pid, code = ended
            end = running.pop(pid)
            with suppress(BrokenPipeError):
                os.write(end, _INTEGER.pack(os.waitstatus_to_exitcode(code)))
            os.close(end)
