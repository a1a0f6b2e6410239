"""What one URL of a stranger asks for, taken apart and held against the rules, before anything is looked up."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, NamedTuple

from yarl import URL

from server.sources.guarded.errors import FetchRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from server.sources.guarded.networks import Address

MAX_URL_LENGTH = 8192

# Characters by which one parser ends a host where another goes on.
_AMBIGUOUS = re.compile(r"[\x00-\x1f\x7f\\]")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


class Target(NamedTuple):
    """A URL that may be asked as far as its text tells.

    `address` is set where the host is an IP address. `is_allowed` says that the configuration names this very host and
    port, which frees it from the rules on schemes, ports and addresses.
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
