"""The ways in which stand-ins of APIs misbehave on request: each lies below an address of its own.

`slow` answers late, `limited` with the API's rate limit, `half` with half of the document, `renamed` with one member
under another name.
"""

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

MODES = ("slow", "limited", "half", "renamed")

SLOW_SECONDS = 30.0

_CLOSED_FOR = 60  # seconds
_JSON = "application/json"

Handler = Callable[[web.Request], Awaitable[web.Response]]


def add_modes(app: web.Application, method: str, base: str, route: str, answer: Handler, renamed: str) -> None:
    """Serve `answer` at `<base><route>`, and misbehaving at `<base>/<mode><route>`.

    `renamed` is the member that `renamed` puts another name to.
    """

    async def slow(request: web.Request) -> web.Response:
        await asyncio.sleep(SLOW_SECONDS)
        return await answer(request)

    async def limited(request: web.Request) -> web.Response:
        headers = {"Retry-After": str(_CLOSED_FOR)}
        return web.json_response({"message": "Rate limit exceeded"}, status=429, headers=headers)

    async def half(request: web.Request) -> web.Response:
        text = (await answer(request)).text or ""
        return web.Response(text=text[: len(text) // 2], content_type=_JSON)

    async def changed(request: web.Request) -> web.Response:
        text = (await answer(request)).text or ""
        return web.Response(text=text.replace(f'"{renamed}"', f'"{renamed}2"'), content_type=_JSON)

    app.router.add_route(method, f"{base}{route}", answer)
    for mode, handler in zip(MODES, (slow, limited, half, changed), strict=True):
        app.router.add_route(method, f"{base}/{mode}{route}", handler)


def mode_url(authority: str, base: str, mode: str | None) -> str:
    """Return the URL below which a stand-in at `host:port` answers, well (None) or in one of its modes."""
    if mode is not None and mode not in MODES:
        raise ValueError(f"stand-ins have no mode {mode}")
    return f"http://{authority}{base}" + (f"/{mode}" if mode else "")
