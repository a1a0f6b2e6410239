"""Serving on loopback for the length of a block: stand-ins by aiohttp, the JSON-RPC face as production serves it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from runtime.settings import HttpSettings
    from transcoder.console_files import ConsoleFiles


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


@asynccontextmanager
async def serve_face(
    channel: Any,
    settings: HttpSettings,
    credential: str | None = None,
    kept: Any = None,
    profile: str = "mainnet",
    console: ConsoleFiles | None = None,
) -> AsyncIterator[str]:
    """Serve the JSON-RPC face over the channel on a free port, as the command does; yields its URL."""
    # Here: what serves stand-ins alone does without the gateway.
    from cli.faces import KEEPALIVE_SECONDS
    from transcoder.app import create_app
    from transcoder.serving import Runner

    runner = Runner(
        create_app(channel, settings, credential=credential, kept=kept, profile=profile, console=console),
        keepalive_timeout=KEEPALIVE_SECONDS,
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.close(0.2)
