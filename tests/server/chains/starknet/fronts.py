"""Servers that stand before the local chain and spoil some of its answers."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import aiohttp

    Change = Callable[
        [dict[str, Any], Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]], Awaitable[dict[str, Any]]
    ]


@asynccontextmanager
async def front(target: str, session: aiohttp.ClientSession, change: Change) -> AsyncIterator[str]:
    """Yield the URL of a server whose `change` answers a request, given a way to ask the chain."""

    async def forward(item: dict[str, Any]) -> dict[str, Any]:
        async with session.post(target, json=item) as response:
            answer: dict[str, Any] = await response.json()
        return answer

    async def serve(request: web.Request) -> web.Response:
        body = await request.json()
        answers = [await change(item, forward) for item in (body if isinstance(body, list) else [body])]
        return web.json_response(answers if isinstance(body, list) else answers[0])

    app = web.Application()
    app.router.add_post("/", serve)
    async with serve_app(app) as url:
        yield url
