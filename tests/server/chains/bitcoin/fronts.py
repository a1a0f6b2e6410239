"""A relay in front of a local node that can be reported to misbehave."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aiohttp import web

from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import aiohttp

    from devnet.bitcoin.node import BitcoinNode

    # Gets method (Core) or path (Esplora); returns (status, body) to answer so, None to pass the question on.
    Twist = Callable[[str], Awaitable[tuple[int, bytes] | None]]


class Front:
    """Passes questions on to a node; `asked` lists the methods and paths, `twist` may answer for the node."""

    def __init__(self, node: BitcoinNode, http: aiohttp.ClientSession) -> None:
        self.node, self._http = node, http
        self.asked: list[str] = []
        self.twist: Twist | None = None
        self.url = ""

    def endpoints(self, label: str) -> list[dict[str, str]]:
        """Return both endpoints as settings."""
        return [
            {"label": f"{label}-core", "url": self.url, "kind": "core"},
            {"label": f"{label}-esplora", "url": f"{self.url}/api", "kind": "esplora"},
        ]

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        what = str((await request.json())["method"]) if request.method == "POST" else request.path.removeprefix("/api")
        self.asked.append(what)
        reported = await self.twist(what) if self.twist is not None else None
        if reported is not None:
            return web.Response(status=reported[0], body=reported[1])
        async with self._http.request(request.method, self.node.url + request.path, data=body or None) as response:
            return web.Response(status=response.status, body=await response.read())


@asynccontextmanager
async def front(node: BitcoinNode, http: aiohttp.ClientSession) -> AsyncIterator[Front]:
    """Serve a relay on a free loopback port."""
    relay = Front(node, http)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", relay.answer)
    async with serve_app(app) as relay.url:
        yield relay
