"""What stays open: sockets and server-sent events. Who may open one, how many there may be, and how all of them end.

Key and browser's origin are checked while there is an HTTP answer to refuse with (docs/decisions/0071).
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from aiohttp import hdrs

from runtime.fair_share import FairShare
from runtime.listening import client_network
from runtime.metrics import add_open_sockets, count_http_request
from transcoder.calls import check_key, missing_key, over_quota, quota_headers
from transcoder.errors import Failure, clipped
from transcoder.messages import DEMO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aiohttp import web

    from runtime.metrics import SocketKind
    from runtime.settings import HttpSettings
    from transcoder.calls import Admission
    from transcoder.connections import Connections
    from transcoder.exchange import Exchange

MOST_PER_DEMO_CLIENT = 4
MOST_ON_DEMO = 128
"""Most sockets and event streams that are open without a key: of one client address, and in all."""


class Refusal(Exception):
    """Why nothing is opened: the failure, and the HTTP status that answers it."""

    def __init__(self, failure: Failure, status: int) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.status = status


def answered(exchange: Exchange, status: int) -> None:
    """Count the request and end its span: its answer has begun, and may go on for days."""
    count_http_request(status)
    if exchange.span is not None:
        exchange.span.end({"http.response.status_code": status}, failed=status >= 500)
        exchange.span = None


class StaysOpen(Protocol):
    """A socket or event stream, as what ends all of them sees it."""

    async def leave(self) -> None:
        """End it because the gateway stops: its client learns that, and where to go on."""
        ...


class Upgrades:
    """Lets requests stay open. `base` returns the URL by which a request reached the face."""

    def __init__(
        self,
        admission: Admission,
        connections: Connections,
        settings: HttpSettings,
        base: Callable[[web.BaseRequest], str],
    ) -> None:
        self._admission = admission
        self._connections = connections
        self._base = base
        self._origins = frozenset(settings.cors_origins)
        self._room = FairShare(settings.max_sockets)
        self._on_demo = 0
        self._open: dict[StaysOpen, None] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self.is_leaving = False

    def __len__(self) -> int:
        return len(self._open)

    async def check(
        self, request: web.BaseRequest, segment: str | None, exchange: Exchange, headers: dict[str, str]
    ) -> None:
        """Check origin, key and room of a request that is to stay open; of the demo also what is left of its quota.

        Raises Refusal.
        """
        self._check_origin(request)
        try:
            if not segment:
                raise missing_key()
            if segment == DEMO:
                left = await self._admission.admit(None, 0, exchange)
                if left.limit and not left.remaining:
                    headers.update(quota_headers(left))
                    raise over_quota(left)
            elif self._admission.known.get(segment, 0.0) <= monotonic():
                check_key(segment)
                await self._admission.find(segment, exchange)
            self._check_room(segment, exchange)
        except Failure as failure:
            raise Refusal(failure, failure.code) from None

    @contextmanager
    def open(
        self, request: web.BaseRequest, segment: str, exchange: Exchange, kind: SocketKind, one: StaysOpen
    ) -> Iterator[None]:
        """Count one in while it is open. Its connection makes no room for others, and is closed when the face ends.

        Raises Refusal where there is no room any more.
        """
        try:
            self._check_room(segment, exchange)
        except Failure as failure:
            raise Refusal(failure, failure.code) from None
        owner, connection = self.owner_of(segment, exchange), request.protocol
        self._room.enter(owner)
        self._on_demo += segment == DEMO
        self._open[one] = None
        self._connections.keep_open(connection)
        add_open_sockets(kind, 1)
        try:
            yield
        finally:
            add_open_sockets(kind, -1)
            self._connections.release(connection)
            del self._open[one]
            self._on_demo -= segment == DEMO
            self._room.leave(owner)

    def owner_of(self, segment: str, exchange: Exchange) -> str:
        """Return who what is open counts for: the key, of whichever text, or the demo's client."""
        if segment == DEMO:
            return f"demo:{client_network(exchange.client)}"
        return self._admission.holder_of(segment)

    def leave(self) -> None:
        """End all that is open, and open nothing any more."""
        if self.is_leaving:
            return
        self.is_leaving = True
        for one in tuple(self._open):
            task = asyncio.get_running_loop().create_task(one.leave())
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    def _check_origin(self, request: web.BaseRequest) -> None:
        """Refuse pages of other sites: a browser lets any page open a socket, and read it."""
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is None or "*" in self._origins or origin in self._origins or origin.lower() == self._base(request):
            return
        message = (
            f'pages of the origin "{clipped(origin)}" may not read this; its operator can add it to http.cors_origins'
        )
        raise Refusal(Failure(400, "INVALID_REQUEST", message), HTTPStatus.FORBIDDEN)

    def _check_room(self, segment: str, exchange: Exchange) -> None:
        if self.is_leaving:
            raise Failure(503, "UPSTREAM_UNAVAILABLE", "this gateway is stopping; connect again", retry_after_ms=1000)
        owner = self.owner_of(segment, exchange)
        if segment == DEMO and self._room.held(owner) >= MOST_PER_DEMO_CLIENT:
            message = f"the demo has {MOST_PER_DEMO_CLIENT} sockets for an address; close one first, or ask for a key"
            raise Failure(429, "RATE_LIMITED", message, retry_after_ms=1000)
        if self._room.has_room(owner) and (segment != DEMO or self._on_demo < MOST_ON_DEMO):
            return
        if segment != DEMO and self._room.is_over_part(owner):
            message = (
                f"this key has {self._room.held(owner)} of the gateway's {self._room.total} sockets, its part while"
                " others have some too; close some first"
            )
            raise Failure(429, "RATE_LIMITED", message, retry_after_ms=1000)
        message = "the gateway has as many sockets open as it may; try again shortly"
        raise Failure(503, "UPSTREAM_UNAVAILABLE", message, retry_after_ms=1000)
