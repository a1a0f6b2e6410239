"""`python -m server` serves the gRPC face alone, as `waypost server` does."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack

from runtime.heap import settle_heap
from runtime.logs import configure_logs, get_logger
from runtime.settings import load_settings
from runtime.telemetry import open_telemetry
from server.app import Gateway


async def serve() -> None:
    """Serve until SIGTERM or SIGINT, then let calls in flight finish for the configured time."""
    settings = load_settings()
    configure_logs(settings.log)
    async with AsyncExitStack() as stack:
        await open_telemetry(stack, settings)
        gateway = await Gateway.create(settings)
        stopped = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        try:
            port = await gateway.start()
            settle_heap()
            get_logger("waypost.server").info("serving", grpc_port=port)
            await stopped.wait()
        finally:
            await gateway.drain(settings.server_limits.drain)


if __name__ == "__main__":
    asyncio.run(serve())
