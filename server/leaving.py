"""How the public gRPC face ends: no call is lost that could have been answered, none ends as a bare CANCELLED.

A gRPC server that is asked to stop cancels what reaches it from then until its clients have read its GOAWAY, so nothing
may be in transit at that moment (docs/decisions/0033).
"""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import termios
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from runtime.listening import count_waiting, drop_new_connections, sockets_at
from runtime.logs import get_logger
from server.errors import UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.errors import GatewayError
    from server.rpc.pipeline.interceptor import StagesInterceptor

# For how long calls are refused at most before the server stops: then its closed port leads callers elsewhere.
REFUSING = 1.0
# How long handshakes that have begun may take to end, and calls in progress to be held.
HANDSHAKE = 0.1
HELD = 0.05
# How long no call must come before the stop, once clients are to call elsewhere, and how long that may take.
SILENCE = 0.2
SENDING_AWAY = 2.0
# How long calls in progress are waited for beyond that: without any, the end is clean.
FINISHING = 1.0
# How long connections may take to close, and how often in turn none must be found.
CLOSING = 1.0
_QUIET = 5
# RFC 9113, section 6.8: no error, and the highest number there is, so that every call that is in progress goes on.
_GOAWAY = struct.pack(">BHBBIII", 0, 8, 7, 0, 0, 0x7FFFFFFF, 0)
_UNSENT = 4096
# How much later than the stop callers are to come back: another process listens by then, or this one does not.
AFTER = 0.1
# What grpc.aio calls the task of a call that it serves.
_CALL = "rpc_task"

_log = get_logger("waypost.process")


async def refuse_calls(interceptor: StagesInterceptor, port: int, seconds: float) -> Callable[[], None]:
    """Refuse every new call with UNAVAILABLE and RetryInfo; return when the server of that port may be stopped.

    That is after `seconds` at most, and a second more while calls are in progress, which go on. Where none is left,
    the connections are closed here, so that what is in transit ends as UNAVAILABLE. Where some are, their clients are
    led elsewhere first (`_send_away`), and held until after the stop: call what is returned then.
    """
    in_progress = [task for task in asyncio.all_tasks() if task.get_name() == _CALL]
    stop_at = monotonic() + min(seconds, REFUSING)
    holding, released = asyncio.Event(), asyncio.Event()
    came = 0.0

    async def refuse() -> GatewayError:
        nonlocal came
        came = monotonic()
        if holding.is_set():
            await released.wait()
        left = max(0.0, stop_at - monotonic()) + AFTER
        message = "this gateway is stopping and takes no more calls; try again, another one will answer"
        return UpstreamUnavailable(message, retry_after_ms=round(left * 1000))

    interceptor.refuse(refuse)
    await asyncio.sleep(stop_at - monotonic() - HANDSHAKE)
    for connection, listens in sockets_at(port):
        if listens:
            drop_new_connections(connection)
    await asyncio.sleep(HANDSHAKE)
    if in_progress:
        await asyncio.wait(in_progress, timeout=FINISHING)
    unfinished = sum(not task.done() for task in in_progress)
    _log.info("the gRPC face closes", in_progress=unfinished)
    if unfinished:
        began = came = monotonic()
        _send_away(port)
        while monotonic() - came < SILENCE and monotonic() - began < SENDING_AWAY:  # noqa: ASYNC110  # calls come on their own
            await asyncio.sleep(0.02)
        holding.set()
        await asyncio.sleep(HELD)
    else:
        await _close_connections(port)
    return released.set


def _send_away(port: int) -> None:
    """Have the clients of the port's connections send nothing new there: a GOAWAY of ours, before that of the stop.

    gRPC cancels what comes after the stop, and clients are informed of the stop after it. It offers no other way to a
    GOAWAY.
    """
    for connection, listens in sockets_at(port):
        with suppress(OSError):  # closed by its client meanwhile
            # With more under way gRPC may be in the middle of a frame: a full socket takes the rest of a write later.
            if not listens and struct.unpack("I", fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)))[0] < _UNSENT:
                connection.send(_GOAWAY, socket.MSG_DONTWAIT)


async def _close_connections(port: int) -> None:
    """Close what is connected to the port, and what still comes to be by handshakes that had begun."""
    latest, quiet = monotonic() + CLOSING, 0
    while quiet < _QUIET and monotonic() < latest:
        quiet += 1
        for connection, listens in sockets_at(port):
            if listens and not count_waiting(connection):
                continue
            quiet = 0
            if not listens:
                with suppress(OSError):  # closed by its client meanwhile
                    connection.shutdown(socket.SHUT_RDWR)
        await asyncio.sleep(0.01)
