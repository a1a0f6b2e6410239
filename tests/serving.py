"""Serving an aiohttp application on loopback for the length of a block."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@asynccontextmanager
async def serve_app(app: web.Application) -> AsyncIterator[str]:
    """Serve the application on a free port; yields its URL, without a slash at the end."""
    # What is still being answered at the end is nobody's concern any more.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
