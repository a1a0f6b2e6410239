"""Ports for what is started by number: a process that is given its port, or a port where nothing listens."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from collections import deque
from functools import cache
from pathlib import Path

# Below what Linux (32768), macOS and Windows (49152) give out to sockets that ask for any port or connect:
# a port that the system chose itself may be another's by the time it is used.
_LOWEST, _HIGHEST = 20_000, 32_000
_ports = deque(random.SystemRandom().sample(range(_LOWEST, _HIGHEST), _HIGHEST - _LOWEST))


def free_port(*addresses: str, following: int = 0) -> int:
    """Return a port that was free a moment ago on each of the IPv4 addresses (loopback by default).

    So were the `following` ports after it, for what counts on from the port that it is given.
    No other process of this user is given it while this one runs; here it comes again after all others only, as it may
    not listen yet. Raises OSError where none is free.
    """
    for _ in range(len(_ports)):
        port = _ports[0]
        _ports.rotate(-1)
        wanted = range(port, port + 1 + following)
        if not all(_is_free(address, number) for address in addresses or ("127.0.0.1",) for number in wanted):
            continue
        if all(map(_reserve, wanted)):
            return port
    raise OSError(f"no free port between {_LOWEST} and {_HIGHEST}")


def _reserve(port: int) -> bool:
    """Return whether the port is now this process's own, until it ends: a byte of a file that it locks."""
    try:
        fcntl.lockf(_reservations(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


@cache
def _reservations() -> int:
    # Never closed: the first close of the file would give up all that the process has locked in it.
    return os.open(Path(tempfile.gettempdir(), f"waypost-ports-{os.getuid()}"), os.O_RDWR | os.O_CREAT, 0o600)


def _is_free(address: str, port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: what a connection of a moment ago left behind does not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True
