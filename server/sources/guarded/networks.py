"""Which IP addresses a stranger's URL may lead to: those of the public internet, and no others.

Source: IANA's registries of special-purpose addresses for IPv4 and IPv6 (RFC 6890 and its successors); of the cloud
providers' metadata addresses, those in ranges that are public otherwise.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_CLOSED_IPV4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers (CGNAT), and the metadata service of one cloud
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # the host agent of one cloud, in a public range
        "169.254.0.0/16",  # link-local, and the metadata service of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments, and the metadata service of one cloud
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)

# Outside of it are loopback, IPv4-compatible, NAT64 (64:ff9b::/96, 64:ff9b:1::/48), unique local, link-local and
# multicast.
_GLOBAL_IPV6 = ipaddress.IPv6Network("2000::/3")

_CLOSED_IPV6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: leads to the IPv4 address inside it
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)


def is_public(address: Address) -> bool:
    """Return whether an address is one of the public internet. An IPv4-mapped IPv6 address is judged as IPv4."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address.scope_id is not None or address not in _GLOBAL_IPV6:
            return False
        return not any(address in network for network in _CLOSED_IPV6)
    return not any(address in network for network in _CLOSED_IPV4)


def public_except(networks: tuple[Network, ...]) -> Callable[[Address], bool]:
    """Return `is_public` with further networks closed: an operator's own that have public addresses."""

    def admits(address: Address) -> bool:
        plain = getattr(address, "ipv4_mapped", None) or address
        return is_public(plain) and not any(plain in network for network in networks)

    return admits
