"""Both faces of a gateway over stand-ins of the venues, which count what they are asked and misbehave when told to."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import pytest_asyncio
from aiohttp import web

from devnet.offchain import dydx, hyperliquid
from runtime.settings import load_settings
from server.venues.dydx import Dydx
from server.venues.hyperliquid import Hyperliquid
from tests.e2e.gateway import run_gateway
from tests.server.rpc.refusals import BothFaces
from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    Twist = Callable[[web.Request], Awaitable[web.StreamResponse]]

A, B = "hyperliquid", "dydx"
STAND_INS = {A: hyperliquid, B: dydx}
LONG = 600.0


class Request(NamedTuple):
    """What a venue was asked."""

    venue: str
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Venues:
    """The stand-ins; with a `twist` a venue answers what that says."""

    twists: dict[str, Twist] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)

    def application(self) -> web.Application:
        """Return the stand-ins, in all their modes, behind this."""

        @web.middleware
        async def count(request: web.Request, handler: Any) -> web.StreamResponse:
            venue = request.path.split("/")[1]
            body = await request.read()
            self.asked.append(Request(venue, request.method, request.path, dict(request.headers), body))
            answer: web.StreamResponse = await self.twists.get(venue, handler)(request)
            return answer

        app = web.Application(middlewares=[count])
        for stand_in in STAND_INS.values():
            stand_in.add_routes(app)
        return app

    def counts(self) -> dict[str, int]:
        """Return how often each venue was asked."""
        return {venue: sum(one.venue == venue for one in self.asked) for venue in STAND_INS}

    def fail(self, *venues: str, status: int = 500, headers: dict[str, str] | None = None) -> None:
        """Let these venues answer with a status from now on."""

        async def twist(request: web.Request) -> web.StreamResponse:
            return web.Response(status=status, text="{}", content_type="application/json", headers=headers)

        self.twists |= dict.fromkeys(venues, twist)

    def answer(self, venue: str, text: str, **options: Any) -> None:
        """Let a venue answer with this text from now on."""

        async def twist(request: web.Request) -> web.StreamResponse:
            return web.Response(text=text, content_type="application/json", **options)

        self.twists[venue] = twist


@dataclass
class Asked(BothFaces):
    """A gateway and what stands behind it."""

    venues: Venues

    async def cache_of(self, name: str, **params: Any) -> tuple[int, str | None]:
        """Return HTTP status and cache header of an answer."""
        response = await self.faces.post({"jsonrpc": "2.0", "id": 1, "method": name, "params": params})
        return response.status, response.headers.get("X-Waypost-Cache")


@asynccontextmanager
async def opened(folder: Path, modes: dict[str, str] | None = None, **settings: Any) -> AsyncIterator[Asked]:
    """Run a gateway over the stand-ins, each in its mode; one `down` does not listen, one `off` is not asked."""
    venues = Venues()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(serve_app(venues.application()))
        sources: dict[str, Any] = {}
        for name, stand_in in STAND_INS.items():
            mode = (modes or {}).get(name)
            if mode == "down":
                sources[name] = {"endpoints": [{"label": "down", "url": "http://127.0.0.1:9"}]}
            elif mode == "off":
                sources[name] = {"endpoints": []}
            else:
                sources |= stand_in.settings(url.removeprefix("http://"), mode)
        overrides = {
            "profile": "devnet",
            "sources": sources,
            "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
            "grpc": {"host": "127.0.0.1", "port": 0},
            "http": {"host": "127.0.0.1"},
        } | settings
        faces = await stack.enter_async_context(run_gateway(load_settings(environ={}, overrides=overrides)))
        yield Asked(faces, venues)


@pytest.fixture(autouse=True)
def _lasting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let documents live for as long as any test takes: how often a venue is asked then leans on no clock."""
    for venue in (Hyperliquid, Dydx):
        monkeypatch.setattr(venue, "lifetime", LONG)


@pytest_asyncio.fixture(loop_scope="session")
async def asked(tmp_path: Path) -> AsyncIterator[Asked]:
    """A gateway that has asked for nothing yet."""
    async with opened(tmp_path) as running:
        yield running
