"""Ends the devnet's processes when the launcher is gone, however it went: also by SIGKILL, which nobody can catch."""

import os
import subprocess
from types import TracebackType

# Reads process ids until the other end of the pipe closes, which the kernel does for every way a process can end.
_SCRIPT = 'pids=; while read -r pid; do pids="$pids $pid"; done; [ -z "$pids" ] || kill -9 $pids 2>/dev/null'


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
        assert self._shell.stdin is not None
        self._shell.stdin.write(f"{pid}\n".encode())
        self._shell.stdin.flush()

    def close(self) -> None:
        """Let go: the processes have been ended in order, and their ids may belong to others soon."""
        self._shell.kill()
        self._shell.wait()
        assert self._shell.stdin is not None
        self._shell.stdin.close()
