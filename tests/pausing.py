"""Processes that are there and do not answer."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def pause(pid: int) -> None:
    """Stop the process, and return once it has stopped; `SIGCONT` lets it go on.

    The signal alone is not enough: until the process is scheduled to take it, on a loaded machine, its threads go on.
    """
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + 10
    while not _is_stopped(pid):
        if time.monotonic() > deadline:
            raise TimeoutError(f"process {pid} does not stop")
        time.sleep(0.001)


def _is_stopped(pid: int) -> bool:
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    return all(thread.read_text().rpartition(")")[2].split()[0] in "Tt" for thread in threads)
