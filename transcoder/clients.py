"""Who a request comes from: the socket's peer, or what trusted proxies say of it (decisions 1.3)."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiohttp import web

UNKNOWN = "unknown"


class Clients:
    """Finds client addresses. `trusted` are the networks of our own reverse proxies; none by default."""

    def __init__(self, trusted: Sequence[str]) -> None:
        self._trusted = tuple(ip_network(network, strict=False) for network in trusted)

    def address_of(self, request: web.BaseRequest) -> str:
        """Return the client's address: the last one in X-Forwarded-For that is no trusted proxy, else the peer's."""
        peer = request.remote or UNKNOWN
        if not self._trusted:
            return peer
        address = _parsed(peer)
        if address is None or not self._trusts(address):
            return peer
        hops = ",".join(request.headers.getall("X-Forwarded-For", ())).split(",")
        # Each proxy appends the peer it saw: read from the right, what a trusted hop wrote is believed, no further.
        for hop in reversed(hops):
            seen = _parsed(hop.strip())
            if seen is None:
                break
            address = seen
            if not self._trusts(address):
                break
        return str(address)

    def trusts_peer(self, request: web.BaseRequest) -> bool:
        """Return whether the socket's peer is a trusted proxy."""
        address = _parsed(request.remote or "") if self._trusted else None
        return address is not None and self._trusts(address)

    def _trusts(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._trusted)


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address in `1.2.3.4`, `1.2.3.4:80`, `2001:db8::1` or `[2001:db8::1]:80`; None for anything else."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        return address.ipv4_mapped or address
    return address
