"""HTTP exchanges with endpoints: bounded, timed, never following redirects, never quoting a URL.

Nothing here knows JSON-RPC, so REST endpoints can use it as well. Failures are values, not exceptions: the texts of
the HTTP library's exceptions hold host names and URLs and must not travel.
"""

from __future__ import annotations

import asyncio
import email.utils
import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import aiohttp

from server.upstream.failures import Failure, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yarl import URL

MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""No upstream answer longer than this is read (design section 7)."""

_CONNECT_SECONDS = 3.0
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A whole HTTP answer: status, the seconds of `Retry-After` if given, the decoded body, the headers.

    The headers' names are in lower case; of one that came several times the last is kept.
    """

    status: int
    retry_after: float | None
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


Session = aiohttp.ClientSession
"""The HTTP client session that all pools share."""


def open_session() -> Session:
    """Return the client session that all pools share.

    Keep-alive connections, no cookies, no proxies out of the environment, no default headers that tell endpoints about
    us. To be called on the running loop; the caller closes it.
    """
    connector = aiohttp.TCPConnector(limit=0, limit_per_host=128, ttl_dns_cache=60, keepalive_timeout=55)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=_NO_TIMEOUT,
        trust_env=False,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
    )


class Transport:
    """Sends requests over a shared session."""

    def __init__(self, http: aiohttp.ClientSession, *, max_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._http = http
        self._max_bytes = max_bytes

    async def post(self, url: URL, headers: dict[str, str], body: bytes, timeout: float) -> HttpAnswer | Failure:
        """Return the answer to one POST, or why there is none within `timeout` seconds."""
        return await self._send("POST", url, headers, body, timeout)

    async def get(self, url: URL, headers: dict[str, str], timeout: float) -> HttpAnswer | Failure:
        """Return the answer to one GET, or why there is none within `timeout` seconds."""
        return await self._send("GET", url, headers, None, timeout)

    async def _send(
        self, method: str, url: URL, headers: dict[str, str], body: bytes | None, timeout: float
    ) -> HttpAnswer | Failure:
        """Return the answer to one request.

        A connection that turns out to be dead on first use is replaced once: servers close idle connections whenever
        they like, and every call here is a read.
        """
        try:
            async with asyncio.timeout(timeout):
                answer = await self._exchange(method, url, headers, body)
                if isinstance(answer, Failure) and answer.kind is Kind.DROPPED:
                    answer = await self._exchange(method, url, headers, body)
                return answer
        except TimeoutError:
            pass
        return Failure(Kind.TIMED_OUT, f"no answer within {describe_seconds(timeout)}")

    async def _exchange(
        self, method: str, url: URL, headers: dict[str, str], body: bytes | None
    ) -> HttpAnswer | Failure:
        try:
            async with self._http.request(
                method, url, data=body, headers=headers, allow_redirects=False, timeout=_NO_TIMEOUT
            ) as response:
                content = await self._read(response)
                if content is None:
                    return Failure(Kind.TOO_LARGE, f"an answer of more than {self._max_bytes} bytes")
                told = {name.lower(): value for name, value in response.headers.items()}
                return HttpAnswer(response.status, parse_retry_after(told.get("retry-after")), content, told)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # ValueError: a redirect or cookie the library refuses to parse. Only the kind of the error goes on.
            return _describe(error)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes | None:
        declared = response.content_length
        if declared is not None and declared > self._max_bytes:
            response.close()
            return None
        first = await response.content.readany()
        if response.content.at_eof():
            return first if len(first) <= self._max_bytes else None
        chunks = [first]
        size = len(first)
        while chunk := await response.content.readany():
            chunks.append(chunk)
            size += len(chunk)
            if size > self._max_bytes:
                # The rest is not read: the connection goes with it.
                response.close()
                return None
        return b"".join(chunks)


def parse_retry_after(text: str | None) -> float | None:
    """Return the seconds of a Retry-After header (RFC 9110 section 10.2.3), at most an hour; None if absent or odd."""
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(min(int(text[:9]), 3600))
    try:
        at = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return min(max((at - datetime.now(UTC)).total_seconds(), 0.0), 3600.0)


def describe_seconds(seconds: float) -> str:
    """Return a duration for people: `850 ms`, `4.9 s`."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _describe(error: BaseException) -> Failure:
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return Failure(Kind.UNREACHABLE, "no connection in time")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Failure(Kind.UNREACHABLE, "host name not found")
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return Failure(Kind.UNREACHABLE, "TLS failure")
    if isinstance(error, aiohttp.ClientConnectorError):
        refused = isinstance(error.os_error, ConnectionRefusedError)
        return Failure(Kind.UNREACHABLE, "connection refused" if refused else "no connection")
    if isinstance(error, aiohttp.ClientPayloadError):
        return Failure(Kind.NOT_JSON_RPC, "the answer was cut off")
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError | ConnectionError):
        return Failure(Kind.DROPPED, "connection dropped")
    return Failure(Kind.NOT_JSON_RPC, "not a valid HTTP answer")
