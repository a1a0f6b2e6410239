"""One loopback HTTP server for everything off the chain, in the launcher's own process."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType

from aiohttp import web

AddRoutes = Callable[[web.Application], None]

_GRACE = 0.5  # seconds that answers under way have when it ends


class OffchainServer:
    """Serves the routes of several topics on a free loopback port, known once it is entered."""

    def __init__(self, topics: Iterable[AddRoutes]) -> None:
        self.port = 0
        self._topics = tuple(topics)
        self._runner: web.AppRunner | None = None

    @property
    def authority(self) -> str:
        """`host:port`, as the gateway's settings allow it."""
        return f"127.0.0.1:{self.port}"

    async def __aenter__(self) -> "OffchainServer":
        app = web.Application(client_max_size=1 << 20)
        for add_routes in self._topics:
            add_routes(app)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_GRACE)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            with suppress(asyncio.CancelledError):
                await self._runner.cleanup()
