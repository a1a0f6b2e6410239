"""Opens and ends a whole gateway in one process, in the right order."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from cli.addresses import ListenRefusal
from cli.faces import Ending, Ports, leave_http, open_http, open_observability
from cli.options import storage_refusal
from runtime.heap import settle_heap
from runtime.logs import get_logger
from server.app import Gateway, ListenError
from server.storage.failures import STORAGE_FAILURES

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.control import Control
    from cli.process import Stop
    from cli.worker_reload import WorkerControl
    from runtime.settings import Settings

_log = get_logger("waypost.process")


async def run_gateway(
    settings: Settings,
    stop: Stop,
    announce: Callable[[Ports], None],
    control: Control | WorkerControl,
    *,
    http: bool = True,
    worker: int = 0,
    workers: Callable[[], dict[str, int] | None] = lambda: None,
    ledger: int | None = None,
) -> None:
    """Run the gRPC server, and the JSON-RPC face in front of it unless `http` is False, until a stop is asked for.

    `announce` is called once with the bound ports when everything answers; `control` has it reload from then on;
    `workers` returns what readiness reports of the workers that this process is one of; `ledger` is the descriptor of
    their parent, where that counts quotas. Raises ConfigError for an address or a key store that cannot be had.
    """
    ending = Ending(settings.server_limits.drain, stop)
    async with AsyncExitStack() as stack:
        await open_observability(stack, settings, worker)
        try:
            gateway = await Gateway.create(settings, ledger=ledger)
        except STORAGE_FAILURES as error:
            raise storage_refusal(error, settings) from None
        stack.push_async_callback(lambda: gateway.drain(ending.remaining()))
        try:
            grpc_port = await gateway.start()
        except ListenError as error:
            setting, _, wrong = str(error).partition(": ")
            raise ListenRefusal(setting, "", f"{wrong} Choose another (--grpc-port).") from None
        runner = (
            await open_http(
                stack,
                settings,
                gateway.channel(),
                ending,
                workers=workers,
                generation=control.generation,
                kept=gateway.responses,
            )
            if http
            else None
        )
        ports = Ports(None if runner is None else runner.addresses[0][1], grpc_port)
        _log.info("serving", profile=settings.profile, http_port=ports.http, grpc_port=ports.grpc, worker=worker)
        settle_heap()
        await control.open(stack, settings, gateway, grpc_port if ports.http is None else ports.http)
        announce(ports)
        await stop.requested.wait()
        gateway.refuse_readiness()
        notice = settings.server_limits.notice
        await asyncio.gather(gateway.leave(notice), leave_http(runner, notice))
        _log.info("draining", grace_seconds=settings.server_limits.drain)
        ending.begin()
