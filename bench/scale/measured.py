"""A gateway process beside its nodes, asked with the loads of `make bench`: processor time, requests, latencies."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.http_clients import spent
from bench.processes import python
from bench.relay import CountingRelay
from devnet.launcher import Devnet
from devnet.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from bench.http_load import Load

_IDLE_SECONDS = 1.0


@dataclass(frozen=True)
class Gateway:
    """A running gateway."""

    pid: int
    port: int
    grpc_port: int

    @property
    def url(self) -> str:
        """Where it takes JSON-RPC."""
        return f"http://127.0.0.1:{self.port}/local/v1"

    def memory(self) -> int:
        """Return its resident bytes."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * 4096


@dataclass(frozen=True)
class Measured:
    """One load on one or several gateways: seconds; `processor` and `upstream` are for each request."""

    rate: float
    median: float
    processor: float
    upstream: float
    share: float
    """Of the time in which the gateways could have run, that in which they had a processor; others had the rest."""
    node: float
    """How long a node took, its relay included."""
    round: int
    lag: float
    """How much longer the caller's own work took than it had the processor, as a ratio."""


@asynccontextmanager
async def gateways(
    folder: Path, endpoints: dict[str, str], count: int, processors: set[int] | None
) -> AsyncIterator[list[Gateway]]:
    """Serve these chains from so many processes."""
    async with AsyncExitStack() as stack:
        found = []
        for number in range(count):
            port, grpc_port, config = free_port(), free_port(), folder / f"gateway-{number}.toml"
            chains = "".join(
                f'[chains.{slug}]\nendpoints = [{{ label = "node", url = "{url}" }}]\n'
                for slug, url in endpoints.items()
            )
            config.write_text(
                f'profile = "devnet"\n[http]\nport = {port}\n[grpc]\nport = {grpc_port}\n'
                f'[storage]\nurl = "sqlite:///{folder}/gateway-{number}.db"\n{chains}'
            )
            log = stack.enter_context((folder / f"gateway-{number}.log").open("wb"))
            serve = python("-m", "cli", "serve", "--config", str(config), port=port, log=log, processors=processors)
            found.append(Gateway(await stack.enter_async_context(serve), port, grpc_port))
        yield found


@asynccontextmanager
async def nodes(delays: dict[str, float]) -> AsyncIterator[dict[str, CountingRelay]]:
    """Run a node for each chain behind a relay that is so many seconds away; `url` of each is where it listens."""
    async with AsyncExitStack() as stack:
        devnet = await stack.enter_async_context(Devnet.start(list(delays), progress=lambda _: None, mines=False))
        relays = {}
        for slug, delay in delays.items():
            relay = CountingRelay(devnet.endpoints[slug], delay)
            await relay.start()
            stack.push_async_callback(relay.close)
            relays[slug] = relay
        yield relays


async def measure(
    servers: Sequence[Gateway],
    relays: Sequence[CountingRelay],
    loads: Callable[[int], Awaitable[list[Load]]],
    rounds: int = 4,
) -> Measured:
    """Run the loads a few times; the one in which the gateways waited least for a processor counts.

    `loads` gets the number of the round.
    """
    found: list[Measured] = []
    for number in range(rounds):
        idle = await _idle(servers)
        before = [sum(spent(server.pid) for server in servers), sum(queued(server.pid) for server in servers)]
        asked = [sum(relay.requests for relay in relays), sum(relay.seconds for relay in relays)]
        ours, began = (spent(os.getpid()), queued(os.getpid())), time.perf_counter()
        answered = await loads(number)
        elapsed = time.perf_counter() - began
        busy = sum(spent(server.pid) for server in servers) - before[0] - idle * elapsed
        waited = sum(queued(server.pid) for server in servers) - before[1]
        requests = sum(relay.requests for relay in relays) - asked[0]
        node = (sum(relay.seconds for relay in relays) - asked[1]) / requests if requests else 0.0
        own = spent(os.getpid()) - ours[0]
        latencies = sorted(latency for load in answered for latency in load.latencies)
        found.append(
            Measured(
                rate=sum(load.rate for load in answered),
                median=statistics.median(latencies),
                processor=busy / len(latencies),
                upstream=requests / len(latencies),
                share=busy / (busy + waited),
                node=node,
                lag=1 + (queued(os.getpid()) - ours[1]) / own,
                round=number,
            )
        )
    return max(found, key=lambda measured: measured.share)


def queued(process: int) -> float:
    """Return the seconds that all threads of a process were ready to run and had no processor."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[1]) for thread in threads) / 1e9


async def _idle(servers: Sequence[Gateway]) -> float:
    """Return the share of a processor that the gateways take when they are not asked."""
    before = sum(spent(server.pid) for server in servers)
    await asyncio.sleep(_IDLE_SECONDS)
    return (sum(spent(server.pid) for server in servers) - before) / _IDLE_SECONDS
