"""Ends the devnet's processes when the launcher is gone, however it went: also by SIGKILL, which cannot be caught."""

import os
import subprocess
from contextlib import suppress
from types import TracebackType

# Reads process ids until the other end of the pipe closes, which the kernel does for every way a process can end.
# An id that ended is taken off the list: it may belong to another process by then.
_SCRIPT = """
pids=
while read -r change pid; do
    left=
    for known in $pids; do [ "$known" = "$pid" ] || left="$left $known"; done
    pids=$left
    [ "$change" = ended ] || pids="$pids $pid"
done
[ -z "$pids" ] || kill -9 $pids 2>/dev/null
"""

_PATIENCE = 5.0  # seconds


class Watchdog:
    """A shell in a session of its own that holds the reading end of a pipe from this process."""

    def __init__(self) -> None:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath},
            cwd="/",
            start_new_session=True,  # a Ctrl-C or a kill of the process group must not reach it
        )

    def __enter__(self) -> "Watchdog":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def watch(self, pid: int) -> None:
        """End this process too when the launcher is gone."""
        self._tell("started", pid)

    def forget(self, pid: int) -> None:
        """Leave this process alone: it has ended."""
        self._tell("ended", pid)

    def close(self) -> None:
        """Let go of those that ended in order; what is left, as of a start that was given up, is ended now."""
        assert self._shell.stdin is not None
        with suppress(BrokenPipeError):
            self._shell.stdin.close()
        try:
            self._shell.wait(_PATIENCE)
        except subprocess.TimeoutExpired:  # another process holds the pipe's end, by a fork of this process
            self._shell.kill()
            self._shell.wait()

    def _tell(self, change: str, pid: int) -> None:
        assert self._shell.stdin is not None
        with suppress(BrokenPipeError):  # the shell was ended; the launcher still ends its nodes in order
            self._shell.stdin.write(f"{change} {pid}\n".encode())
            self._shell.stdin.flush()
