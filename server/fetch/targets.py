"""What a stranger's URL may reach: the URL itself, its host's addresses, and why nothing was fetched.

No message of an error names a host, an address or a URL, so each may go to callers and logs. Names are looked up by
threads of their own: a name server that a stranger runs may take its time, and the pools' and the loop's own look-ups
must not wait behind it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from yarl import URL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    Admits = Callable[["Address"], bool]
    Resolve = Callable[[str], Awaitable[Sequence[str]]]


class FetchError(Exception):
    """Nothing was fetched; the message states why, for people, and fits after "because"."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class FetchRefused(FetchError):
    """The gateway does not ask this address: the rules of the guarded fetcher forbid it."""


class FetchFailed(FetchError):
    """The address was asked, or looked up, and gave nothing that can be used; it may later."""


class Unreachable(FetchFailed):
    """No address of the host takes a connection."""


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


MAX_URL_LENGTH = 8192

# Characters by which one parser ends a host where another goes on.
_AMBIGUOUS = re.compile(r"[\x00-\x1f\x7f\\]")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


class Target(NamedTuple):
    """A URL that may be asked as far as its text shows.

    `address` is set where the host is an IP address. `is_allowed`: the configuration names this very host and port,
    which frees it from the rules on schemes, ports and addresses.
    """

    url: URL
    host: str
    address: Address | None
    is_allowed: bool

    @property
    def is_secure(self) -> bool:
        """Whether it is asked over TLS."""
        return self.url.scheme == "https"


class Targets:
    """Takes URLs apart. `allow` are `host:port` texts, `ports` the ports of all other hosts."""

    def __init__(self, allow: Iterable[str], ports: Iterable[int]) -> None:
        self._allow = frozenset(entry.lower() for entry in allow)
        self._ports = frozenset(ports)

    def parse(self, text: str) -> Target:
        """Return the target of an absolute URL.

        Raises:
            FetchRefused: another scheme than https, credentials, another port than the allowed, a malformed URL.
        """
        text = text.strip()
        if len(text) > MAX_URL_LENGTH:
            raise FetchRefused("its address is too long")
        if _AMBIGUOUS.search(text):
            raise FetchRefused("its address is malformed")
        try:
            return self._judge(URL(text).with_fragment(None))
        except ValueError:
            raise FetchRefused("its address is malformed") from None

    def follow(self, target: Target, location: str) -> Target:
        """Return where an answer of `target` redirects to; `location` may be relative.

        Raises:
            FetchRefused: as `parse`, and for a redirect from https to http.
        """
        if _SCHEME.match(location):
            following = self.parse(location)
        else:
            if len(location) > MAX_URL_LENGTH or _AMBIGUOUS.search(location):
                raise FetchRefused("it redirects to a malformed address")
            try:
                following = self._judge(target.url.join(URL(location)).with_fragment(None))
            except ValueError:
                raise FetchRefused("it redirects to a malformed address") from None
        if target.is_secure and not following.is_secure:
            raise FetchRefused("it redirects from https to http")
        return following

    def _judge(self, url: URL) -> Target:
        host, port = url.raw_host, url.port
        if url.scheme not in ("http", "https"):
            raise FetchRefused("only https addresses are fetched")
        if not host or not port:
            raise FetchRefused("its address is malformed")
        if url.raw_user is not None or url.raw_password is not None:
            raise FetchRefused("its address holds credentials")
        written = f"[{host}]" if ":" in host else host
        is_allowed = f"{written}:{port}".lower() in self._allow
        if url.scheme == "http" and not is_allowed:
            raise FetchRefused("only https addresses are fetched")
        if port not in self._ports and not is_allowed:
            raise FetchRefused("its address names a port that is not asked")
        return Target(url, host, _ip_address(host), is_allowed)


def _ip_address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


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
        """Cancel the look-ups under way."""
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
