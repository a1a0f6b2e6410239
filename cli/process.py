"""One serving process from start to end: logs, signals, event loop, exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from cli.loop import run_loop
from cli.stopping import Stop
from runtime.logs import configure_logs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from runtime.settings import LogSettings

INTERRUPTED = 130


class Failed(Exception):
    """A serving process cannot go on; the message is for its operator."""


def run_process(main: Callable[[Stop], Awaitable[int]], log: LogSettings) -> int:
    """Run `main` with logs configured and signals taken; return its exit code.

    After a second signal the process ends as soon as `main` has returned, without waiting for anything else.
    """
    configure_logs(log)

    async def run() -> int:
        stop = Stop()
        stop.listen()
        try:
            code = await main(stop)
        except Failed as failure:
            print(f"waypost: {failure}", file=sys.stderr)
            code = 1
        if stop.hurried.is_set():
            # Calls in flight, their sockets and the key store's thread are given up as they are.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        return code

    return run_loop(run())
