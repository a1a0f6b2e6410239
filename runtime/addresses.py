"""Which network addresses count as one client."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_IPV6_PREFIX = 64


def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address in `1.2.3.4`, `1.2.3.4:80`, `2001:db8::1` or `[2001:db8::1]:80`; None for anything else.

    An IPv4 address that is mapped into IPv6 (`::ffff:1.2.3.4`) is returned as the IPv4 address it stands for.
    """
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


@lru_cache(maxsize=4096)
def client_network(text: str) -> str:
    """Return what counts as one client: an IPv4 address itself, the /64 of an IPv6 address, any other text as it is.

    A /64 is what one subscriber is given (RFC 6177): counted by single addresses, each has 2^64 of them.
    """
    address = parse_address(text)
    if isinstance(address, IPv6Address):
        return str(IPv6Network((int(address) >> _IPV6_PREFIX << _IPV6_PREFIX, _IPV6_PREFIX)))
    return text if address is None else str(address)
