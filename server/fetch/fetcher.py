"""The guarded fetcher: asks URLs that strangers choose, without letting them choose what the gateway connects to.

A stranger could want to make the gateway connect to what only the gateway can reach, to learn its secrets, or to
keep it busy. So: https alone; a name is looked up once per hop, all its addresses are checked, and the connection goes
to a checked address, never to the name, so that a name that changes its addresses (DNS rebinding) has no effect;
redirects are followed by hand under the same rules; nothing of ours is sent (no cookies, no credentials, no proxy
out of the environment); size, time, headers, redirects and connections are bounded.
"""

from __future__ import annotations

import asyncio
import ssl
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

import aiohttp
from aiohttp.abc import AbstractResolver

from runtime.metrics import count_fetch
from server.fetch.bodies import read_body
from server.fetch.targets import (
    FetchError,
    FetchFailed,
    FetchRefused,
    Resolver,
    Targets,
    Unreachable,
    addresses_of,
    public_except,
)

if TYPE_CHECKING:
    import socket

    from aiohttp.abc import ResolveResult

    from runtime.settings import FetcherSettings
    from server.fetch.targets import Address, Admits, Resolve, Target

MAX_REDIRECTS = 3
METADATA_HOST = "the metadata host"
"""The label of a stranger's host, whose name logs and errors must not repeat."""

_CONNECT_SECONDS = 3.0
_READ_SECONDS = 4.0
_CONNECTIONS, _CONNECTIONS_PER_HOST = 64, 8
_HEADER_BYTES, _HEADERS = 8190, 64
_REDIRECTS = {301: "GET", 302: "GET", 303: "GET", 307: None, 308: None}
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=_READ_SECONDS)


class Fetched(NamedTuple):
    """A whole answer: status, media type in lower case without parameters, decoded body, label of its host."""

    status: int
    content_type: str
    body: bytes
    url_label: str


class GuardedFetcher:
    """Fetches URLs that strangers influence. To be built on the running loop, and closed.

    `resolve`, `admits` and `tls` replace the system's name look-up, the rule for addresses, the certificates trusted.
    """

    def __init__(
        self,
        settings: FetcherSettings,
        *,
        resolve: Resolve | None = None,
        admits: Admits | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._targets = Targets(settings.allow, settings.ports)
        self._seconds = settings.timeout
        self._max_bytes = settings.max_bytes
        self._resolver = Resolver()
        self._resolve = resolve or self._resolver.resolve
        self._admits = admits or public_except(settings.closed_networks)
        self._tls = tls or _trusted()
        connector = aiohttp.TCPConnector(
            limit=_CONNECTIONS,
            limit_per_host=_CONNECTIONS_PER_HOST,
            force_close=True,
            use_dns_cache=False,
            resolver=_NoNames(),
        )
        self._http = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=_TIMEOUT,
            trust_env=False,
            auto_decompress=False,
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
            max_headers=_HEADERS,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        body: bytes | None = None,
        accept: str | None = None,
        max_bytes: int | None = None,
        deadline: float | None = None,
        label: str = METADATA_HOST,
    ) -> Fetched:
        """Return the answer to one request, whatever its status, redirects followed.

        `body` is JSON. `max_bytes` bounds the body, before and after decompression, below what is configured;
        `deadline` is in seconds of the monotonic clock.

        Raises:
            FetchRefused: the URL, its host's addresses or a redirect are against the rules.
            FetchFailed: no answer in time, one that is too long, or none that is HTTP; Unreachable: no connection.
        """
        seconds = self._seconds if deadline is None else min(self._seconds, deadline - monotonic())
        limit = self._max_bytes if max_bytes is None else min(max_bytes, self._max_bytes)
        headers = {"User-Agent": "waypost", "Accept-Encoding": "gzip", "Accept": accept or "*/*"}
        try:
            async with asyncio.timeout(seconds):
                answer = await self._follow(self._targets.parse(url), method, body, headers, limit, label)
        except TimeoutError:
            count_fetch("failed")
            raise FetchFailed("it took too long to answer") from None
        except FetchError as error:
            count_fetch("refused" if isinstance(error, FetchRefused) else "failed")
            raise
        count_fetch("answer")
        return answer

    async def close(self) -> None:
        """Close every connection."""
        await self._http.close()
        self._resolver.close()

    async def _follow(
        self, target: Target, method: str, body: bytes | None, headers: dict[str, str], limit: int, label: str
    ) -> Fetched:
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._ask(target, method, body, headers, limit, label)
            if isinstance(answer, Fetched):
                return answer
            target = self._targets.follow(target, answer.location)
            if _REDIRECTS[answer.status] is not None:
                method, body = "GET", None
        raise FetchFailed("it redirects too often")

    async def _ask(
        self, target: Target, method: str, body: bytes | None, headers: dict[str, str], limit: int, label: str
    ) -> Fetched | _Redirect:
        """Return one hop's answer, from the first of the target's addresses that takes the connection."""
        addresses = await addresses_of(target, self._resolve, self._admits)
        for address in addresses[:-1]:
            try:
                return await self._exchange(target, address, method, body, headers, limit, label)
            except Unreachable:
                continue
        return await self._exchange(target, addresses[-1], method, body, headers, limit, label)

    async def _exchange(
        self,
        target: Target,
        address: Address,
        method: str,
        body: bytes | None,
        headers: dict[str, str],
        limit: int,
        label: str,
    ) -> Fetched | _Redirect:
        sent = headers | {"Host": target.url.host_port_subcomponent or target.host}
        if body is not None:
            sent["Content-Type"] = "application/json"
        try:
            async with self._http.request(
                method,
                target.url.with_host(str(address)),
                data=body,
                headers=sent,
                allow_redirects=False,
                ssl=self._tls,
                server_hostname=target.host.rstrip(".") if target.is_secure else None,
            ) as response:
                location = response.headers.get("Location")
                if response.status in _REDIRECTS and location:
                    return _Redirect(response.status, location)
                content = await read_body(response, limit)
                return Fetched(response.status, response.content_type.lower(), content, label)
        except aiohttp.ClientSSLError:
            raise FetchFailed("its TLS certificate or handshake is not valid") from None
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            raise Unreachable("it cannot be reached") from None
        except aiohttp.ServerTimeoutError:
            raise FetchFailed("it took too long to answer") from None
        except (aiohttp.ClientError, OSError, ValueError):
            # ValueError: a header the library refuses to parse. The texts of these name hosts and go no further.
            raise FetchFailed("it broke the connection off or does not speak HTTP") from None


@cache
def _trusted() -> ssl.SSLContext:
    """Return a context that trusts the system's certificates; reading those takes some 20 ms."""
    return ssl.create_default_context()


class _Redirect(NamedTuple):
    status: int
    location: str


class _NoNames(AbstractResolver):
    """Stands where the HTTP library would look names up: it is only ever given addresses."""

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily | int = 0) -> list[ResolveResult]:
        raise FetchRefused("only checked addresses are connected to")

    async def close(self) -> None:
        return None
