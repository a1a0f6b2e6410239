"""Who a request comes from: the socket's peer, or what trusted proxies say of it (decisions 1.3)."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_network
from typing import TYPE_CHECKING

from runtime.addresses import parse_address

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ipaddress import IPv4Address, IPv6Address

    from aiohttp import web

UNKNOWN = "unknown"


class Clients:
    """Finds client addresses. `trusted` are the networks of our own reverse proxies; none by default."""

    def __init__(self, trusted: Sequence[str]) -> None:
        self._trusted = tuple(ip_network(network, strict=False) for network in trusted)
        self.trusts = lru_cache(maxsize=1024)(self._trusts_text)

    def address_of(self, request: web.BaseRequest) -> str:
        """Return the client's address: the last one in X-Forwarded-For that is no trusted proxy, else the peer's."""
        peer = request.remote or UNKNOWN
        if not self._trusted:
            return peer
        address = parse_address(peer)
        if address is None or not self._trusts(address):
            return peer
        hops = ",".join(request.headers.getall("X-Forwarded-For", ())).split(",")
        # Each proxy appends the peer it saw: read from the right, what a trusted hop wrote is believed, no further.
        for hop in reversed(hops):
            seen = parse_address(hop.strip())
            if seen is None:
                break
            address = seen
            if not self._trusts(address):
                break
        return str(address)

    def trusts_peer(self, request: web.BaseRequest) -> bool:
        """Return whether the socket's peer is a trusted proxy."""
        return bool(self._trusted) and self.trusts(request.remote or "")

    def _trusts_text(self, text: str) -> bool:
        """Return whether an address, as a socket has it, is a trusted proxy's."""
        address = parse_address(text) if self._trusted else None
        return address is not None and self._trusts(address)

    def _trusts(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._trusted)
