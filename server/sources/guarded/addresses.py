"""Finds the addresses of a host and checks every one of them.

Names are looked up by threads of their own: a name server that a stranger runs may take its time, and the pools' and
the loop's own look-ups must not wait behind it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from server.sources.guarded.errors import FetchFailed, FetchRefused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from server.sources.guarded.networks import Address
    from server.sources.guarded.targets import Target

    Admits = Callable[[Address], bool]
    Resolve = Callable[[str], Awaitable[Sequence[str]]]

MAX_ADDRESSES = 3
"""Most addresses of one host that are tried."""

_THREADS = 8


class Resolver:
    """Looks names up as the system does."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="guarded-dns")

    async def resolve(self, host: str) -> list[str]:
        """Return the host's addresses in the system's order of preference. Raises OSError."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, _look_up, host)

    def close(self) -> None:
        """Give up what is being looked up."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def addresses_of(target: Target, resolve: Resolve, admits: Admits) -> list[Address]:
    """Return the addresses at which the target may be asked, at most three; the caller connects to these, to no name.

    Raises:
        FetchRefused: any address of the host is closed to strangers' URLs.
        FetchFailed: the name is not found.
    """
    found = [target.address] if target.address is not None else await _named(target.host, resolve)
    if not target.is_allowed and not all(admits(address) for address in found):
        raise FetchRefused("its host is not on the public internet")
    return found[:MAX_ADDRESSES]


async def _named(host: str, resolve: Resolve) -> list[Address]:
    try:
        found: list[Address] = [ipaddress.ip_address(text) for text in await resolve(host)]
    except (OSError, ValueError):
        # ValueError: a name that cannot be looked up at all (IDNA), or an answer that is no address.
        found = []
    if not found:
        raise FetchFailed("its host name was not found")
    return found
