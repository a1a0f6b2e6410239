"""One serving process from start to end: logs, signals, event loop, exit code.

SIGTERM and SIGINT ask for a graceful end, a second one for an immediate one.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from runtime.listening import ask_for_descriptors
from runtime.logs import configure_logs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from runtime.settings import LogSettings


SIGNALS = (signal.SIGTERM, signal.SIGINT)
T = TypeVar("T")


class Stop:
    """Signals that the process has been asked to stop, and that it must not wait any longer."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.hurried = asyncio.Event()

    def listen(self) -> None:
        """Take the signals of the running loop's process."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.ask)
        # Otherwise it asks for a reload (`cli.reloader`), for which it is too early or which this process does not do.
        loop.add_signal_handler(signal.SIGHUP, end_without_terminal)

    def ignore(self) -> None:
        """Give the signals back."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.remove_signal_handler(number)

    def ask(self) -> None:
        """Ask for a stop; a second time, for one without waiting."""
        if self.requested.is_set():
            self.hurried.set()
        self.requested.set()

    async def wait_for(self, work: Coroutine[None, None, T]) -> T | None:
        """Return what the work returns, or None once a stop is asked for; the work is cancelled then."""
        return await first(work, self.requested)

    async def unless_hurried(self, work: Coroutine[None, None, T]) -> T | None:
        """Return what the work returns, or None once it must end at once; the work is cancelled then."""
        return await first(work, self.hurried)


_had_terminal = os.isatty(0)


def end_without_terminal() -> bool:
    """Ask this process to stop where the terminal that it was started from is gone; return whether it is."""
    is_gone = _had_terminal and not os.isatty(0)
    if is_gone:
        os.kill(os.getpid(), signal.SIGTERM)
    return is_gone


async def first(work: Coroutine[None, None, T], event: asyncio.Event) -> T | None:
    """Return the work's result unless the event happens first; the work is then cancelled and None returned."""
    task, waiting = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for unfinished in (task, waiting):
            if not unfinished.done():
                unfinished.cancel()
                with suppress(asyncio.CancelledError):
                    await unfinished


def run_loop(main: Coroutine[None, None, T]) -> T:
    """Run `main` to its end and return its result."""
    if sys.platform == "win32":
        return asyncio.run(main)
    import uvloop

    return uvloop.run(main)


INTERRUPTED = 130


class Failed(Exception):
    """A serving process cannot go on; the message is for its operator."""


def run_process(main: Callable[[Stop], Awaitable[int]], log: LogSettings, *, says_stopped: bool = False) -> int:
    """Run `main` with logs configured and signals taken; return its exit code.

    With `says_stopped` the end that a signal asked for is printed, once nothing of it is left.

    After a second signal the process ends as soon as `main` has returned, without waiting for anything else.
    """
    configure_logs(log)
    ask_for_descriptors()
    is_stopped = False

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
        nonlocal is_stopped
        is_stopped = stop.requested.is_set()
        return code

    code = run_loop(run())
    if says_stopped and is_stopped and code == 0:
        # Unbuffered: the terminal may be gone, and what a buffer keeps would fail once more at the interpreter's end.
        with suppress(OSError):
            os.write(sys.stdout.fileno(), b"stopped\n")
    return code
