"""The addresses behind host names, remembered for a minute."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from aiohappyeyeballs import AddrInfoType

    LookUp = Callable[[str, int], Awaitable[Sequence[AddrInfoType]]]

REMEMBERED_SECONDS = 60.0


class _Known(NamedTuple):
    addresses: list[AddrInfoType]
    until: float


class Names:
    """Asks the system, once for all who ask at the same time. `look_up` replaces the system."""

    def __init__(self, loop: asyncio.AbstractEventLoop, look_up: LookUp | None = None) -> None:
        self._loop = loop
        self._look_up = look_up or self._ask_system
        self._known: dict[tuple[str, int], _Known] = {}
        self._asking: dict[tuple[str, int], asyncio.Task[_Known]] = {}

    async def resolve(self, host: str, port: int) -> list[AddrInfoType]:
        """Return the addresses of a host, the first another one each time. Raises OSError where it has none."""
        literal = _literal(host, port)
        if literal is not None:
            return [literal]
        key = (host, port)
        known = self._known.get(key)
        if known is None or known.until <= self._loop.time():
            known = await asyncio.shield(self._ask(key))
        addresses = known.addresses
        addresses.append(addresses.pop(0))
        return addresses[-1:] + addresses[:-1]

    async def close(self) -> None:
        """Give up what is being asked."""
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    def _ask(self, key: tuple[str, int]) -> asyncio.Task[_Known]:
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = self._loop.create_task(self._find(key))
            task.add_done_callback(lambda done: self._learn(key, done))
        return task

    def _learn(self, key: tuple[str, int], asked: asyncio.Task[_Known]) -> None:
        del self._asking[key]
        # Looking at the exception takes note of it where nobody waits any more.
        if not asked.cancelled() and asked.exception() is None:
            self._known[key] = asked.result()

    async def _find(self, key: tuple[str, int]) -> _Known:
        try:
            found = await self._look_up(*key)
        except UnicodeError:
            raise OSError("a name that no host can have") from None
        if not found:
            raise OSError("a name without an address")
        return _Known(list(found), self._loop.time() + REMEMBERED_SECONDS)

    async def _ask_system(self, host: str, port: int) -> Sequence[AddrInfoType]:
        return await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)


def _literal(host: str, port: int) -> AddrInfoType | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if address.version == 4:
        return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port))
    if address.scope_id is not None:
        # A network interface, whose number the system knows.
        return None
    return (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port, 0, 0))
