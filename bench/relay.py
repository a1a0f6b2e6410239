"""A relay that counts the HTTP requests which reach the node behind it, and can make it look far away."""

from __future__ import annotations

import asyncio
import time

import aiohttp
from aiohttp import web


class CountingRelay:
    """Passes POST bodies to a node and counts them: `requests` HTTP requests so far, `last` the body of the last one.

    `url` is where it listens, once started; `seconds` is how long its answers took in total, `delay` included.
    `delay` is in seconds; while `is_broken` every answer is HTTP 502.
    """

    def __init__(self, node: str, delay: float = 0.0) -> None:
        self.node, self.requests, self.delay = node, 0, delay
        self.is_broken = False
        self.last = b""
        self.url = ""
        self.seconds = 0.0

    async def start(self) -> str:
        """Listen on a free loopback port and return the relay's URL."""
        self.session = aiohttp.ClientSession()
        app = web.Application(client_max_size=32 << 20)
        app.router.add_post("/", self._relay)
        self.runner = web.AppRunner(app, access_log=None)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        port = self.runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/"
        return self.url

    async def close(self) -> None:
        """Stop listening."""
        await self.runner.cleanup()
        await self.session.close()

    async def _relay(self, request: web.Request) -> web.Response:
        began = time.perf_counter()
        self.requests += 1
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.is_broken:
            return web.Response(status=502)
        headers = {"Content-Type": "application/json"}
        self.last = await request.read()
        async with self.session.post(self.node, data=self.last, headers=headers) as answer:
            body = await answer.read()
        self.seconds += time.perf_counter() - began
        return web.Response(body=body, content_type="application/json")
