"""Serves `/metrics` on an address of its own, apart from the public faces."""

from __future__ import annotations

import asyncio

from aiohttp import web

from runtime.metrics import CONTENT_TYPE, render_metrics, set_tasks
from runtime.settings.values import split_address


async def start_metrics(listen: str, *, worker: int = 0) -> tuple[web.AppRunner, int]:
    """Serve `GET /metrics` on `host:port`; return the runner, to clean up at the end, and the port.

    Worker number n listens on port + n, because every process has its own figures. Raises OSError when the address
    cannot be bound.
    """
    host, port = split_address(listen)
    app = web.Application()
    app.router.add_get("/metrics", _answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port + worker if port else 0).start()
    except OSError:
        await runner.cleanup()
        raise
    bound: int = runner.addresses[0][1]
    return runner, bound


async def _answer(_request: web.Request) -> web.Response:
    set_tasks(len(asyncio.all_tasks()))
    return web.Response(body=render_metrics(), headers={"Content-Type": CONTENT_TYPE})
