"""Listening sockets at their end, and which network addresses count as one client."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
from contextlib import closing, suppress
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


# A listening socket that is closed resets what the kernel has accepted for it and the process has not, and what is in
# the middle of its handshake. So new handshakes are dropped first, by a filter in the kernel (SO_ATTACH_FILTER,
# Linux; needs no rights): a client whose SYN is dropped repeats it after a second, and is refused then, or led to
# another process that listens on the same port.

_SO_ATTACH_FILTER = 26
# Classic BPF over the TCP header: the flags; of those SYN and ACK; nothing of a segment with SYN alone, all of others.
_WITHOUT_NEW = ((0x30, 0, 0, 13), (0x54, 0, 0, 0x12), (0x15, 0, 1, 0x02), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))
# Where `struct tcp_info` has tcpi_unacked, which of a listening socket is the length of its queue.
_QUEUE_OFFSET = 24
_IS_LINUX = sys.platform == "linux"


def drop_new_connections(listener: socket.socket) -> None:
    """Let no further handshake begin; those that have begun go on. Does nothing where the system cannot (not Linux)."""
    if not _IS_LINUX or listener.family not in {socket.AF_INET, socket.AF_INET6}:
        return
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in _WITHOUT_NEW))
    fprog = struct.pack("HP", len(_WITHOUT_NEW), ctypes.addressof(program))
    with suppress(OSError):
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, fprog)


def count_waiting(listener: socket.socket) -> int:
    """Return how many connections wait to be accepted; 0 where the system does not report it."""
    if not _IS_LINUX or listener.family not in {socket.AF_INET, socket.AF_INET6}:
        return 0
    info = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _QUEUE_OFFSET + 4)
    return int(struct.unpack_from("I", info, _QUEUE_OFFSET)[0])


def sockets_at(port: int) -> Iterator[tuple[socket.socket, bool]]:
    """Yield this process's TCP sockets whose own port is that one, and whether each listens.

    For sockets of libraries that do not hand them out. Each is a duplicate, closed when the next one is asked for.
    Nothing where the system does not list a process's descriptors.
    """
    try:
        descriptors = os.listdir("/proc/self/fd")
    except OSError:
        return
    for name in descriptors:
        try:
            descriptor = os.dup(int(name))
        except OSError:
            continue  # closed meanwhile
        try:
            duplicate = socket.socket(fileno=descriptor)
        except OSError:
            os.close(descriptor)
            continue  # no socket
        with closing(duplicate), suppress(OSError):
            is_tcp = duplicate.family in {socket.AF_INET, socket.AF_INET6} and duplicate.type == socket.SOCK_STREAM
            if is_tcp and duplicate.getsockname()[1] == port:
                yield duplicate, bool(duplicate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


MOST_DESCRIPTORS = 1 << 16


def ask_for_descriptors() -> int:
    """Let this process have 65,536 files open, or as many as its system allows it to ask for; return how many.

    Connections are files, and the usual limit of 1,024 is for programs that cannot count further (select).
    """
    if sys.platform == "win32":
        return MOST_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return wanted
    return MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


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


class Proxies:
    """The networks of our own reverse proxies, whose word on where a request came from is believed."""

    def __init__(self, trusted: Sequence[str]) -> None:
        self._trusted = tuple(ip_network(network, strict=False) for network in trusted)
        self.trusts = lru_cache(maxsize=1024)(self._trusts_text)

    def client_of(self, peer: str, forwarded: Callable[[], Iterable[str]]) -> str:
        """Return the last address in X-Forwarded-For that is no trusted proxy's, else the peer's.

        `peer` is the socket's address, `forwarded` returns the values of the header in their order.
        """
        if not self._trusted:
            return peer
        address = parse_address(peer)
        if address is None or not self._holds(address):
            return peer
        hops = ",".join(forwarded()).split(",")
        # Each proxy appends the peer it saw: read from the right, what a trusted hop wrote is trusted, no further.
        for hop in reversed(hops):
            seen = parse_address(hop.strip())
            if seen is None:
                break
            address = seen
            if not self._holds(address):
                break
        return str(address)

    def _trusts_text(self, text: str) -> bool:
        """Return whether an address, as a socket has it, is a trusted proxy's."""
        address = parse_address(text) if self._trusted else None
        return address is not None and self._holds(address)

    def _holds(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._trusted)
