"""The listener of the JSON-RPC face."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiohttp import web

from runtime.config_errors import ConfigError

if TYPE_CHECKING:
    from runtime.settings import HttpSettings

# An idle connection is kept a little longer than load balancers keep theirs (60 s is usual), so that they close first.
KEEPALIVE_SECONDS = 75.0


class HttpFace:
    """A started JSON-RPC face. Its access log is off: paths hold keys."""

    def __init__(self, runner: web.AppRunner, port: int) -> None:
        self._runner = runner
        self.port = port

    @classmethod
    async def open(cls, app: web.Application, settings: HttpSettings, *, grace: float, shared: bool) -> HttpFace:
        """Bind and serve; `shared` lets other processes bind the same port. Raises ConfigError for a taken address."""
        runner = web.AppRunner(
            app, access_log=None, handle_signals=False, keepalive_timeout=KEEPALIVE_SECONDS, shutdown_timeout=grace
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, settings.host, settings.port, reuse_port=shared or None).start()
        except OSError as error:
            await runner.cleanup()
            fix = f"the JSON-RPC face cannot listen there ({error.strerror}): choose another (--http-port)"
            raise ConfigError("http.port", f"{settings.host}:{settings.port}", fix) from None
        return cls(runner, runner.addresses[0][1])

    async def refuse(self) -> None:
        """Accept no further connections; those that are open go on."""
        await asyncio.gather(*(site.stop() for site in list(self._runner.sites)))

    async def close(self) -> None:
        """Finish the requests in progress, for as long as the grace allows, and close every connection."""
        await self._runner.cleanup()
