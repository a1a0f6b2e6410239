"""HTTP exchanges with endpoints: bounded, timed, never following redirects, never quoting a URL.

Nothing here knows JSON-RPC, so REST endpoints use it as well. Failures are values, not exceptions: the texts of
exceptions hold host names and must not travel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.upstream.failures import Failure, Kind
from server.upstream.http import DIRECT, Client, Proxy

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.settings import RouteSettings
    from server.upstream.http import Address, HttpAnswer

MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""No upstream answer longer than this is read (design section 7)."""

Session = Client
"""The connections that all pools share."""


def open_session(outbound: RouteSettings | None = None) -> Session:
    """Return the HTTP client that all pools share. To be called on the running loop; the caller closes it.

    `outbound` is how endpoints are reached that say nothing else.
    """
    if outbound is None:
        return Client()
    return Client(proxy=proxy_of(outbound), tls=outbound.tls)


def proxy_of(route: RouteSettings) -> Proxy | None:
    """Return the proxy that the settings name, None where they name none."""
    if route.proxy is None:
        return None
    text = route.proxy.get_secret_value()
    return DIRECT if text == "direct" else Proxy.parse(text)


class Transport:
    """Sends requests over a shared session."""

    def __init__(self, http: Session, *, max_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._http = http
        self._max_bytes = max_bytes

    async def post(
        self, address: Address, body: bytes, timeout: float, hear: Callable[[], None] | None = None
    ) -> HttpAnswer | Failure:
        """Return the answer to a POST of `body`, or why there is none within `timeout` seconds."""
        return await self.send(address, address.post(body), timeout, hear)

    async def send(
        self, address: Address, request: bytes, timeout: float, hear: Callable[[], None] | None = None
    ) -> HttpAnswer | Failure:
        """Return the answer to a request that the address wrote, or why there is none within `timeout` seconds.

        `hear` is called when bytes of it come.

        A connection that turns out to be dead on first use is replaced once: servers close idle connections whenever
        they like, and every call here is a read.
        """
        deadline = self._http.time() + timeout
        got = await self._http.exchange(address.origin, request, deadline, self._max_bytes, hear=hear)
        if isinstance(got, Failure):
            if got.kind is Kind.DROPPED:
                got = await self._http.exchange(
                    address.origin, request, deadline, self._max_bytes, fresh=True, hear=hear
                )
            if isinstance(got, Failure) and got.kind is Kind.TIMED_OUT:
                return Failure(Kind.TIMED_OUT, f"no answer within {describe_seconds(timeout)}")
        return got


def describe_seconds(seconds: float) -> str:
    """Return a duration for people: `850 ms`, `4.9 s`."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
