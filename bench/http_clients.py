"""What our HTTP client saves against aiohttp's, in processor time: `python -m bench.http_clients` (Linux).

Two measures, at a node that answers after 0, 10 and 30 ms: an exchange by itself (one caller, both clients in turn, in
a process of their own), and an uncached getBalance through two gateways that differ in nothing but the client. Both
count user and system time of the process, less what it spends while it is not asked anything, so other programs on the
machine change little. docs/decisions/0042 states what the figures decided.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import uvloop

from bench import http_load
from bench.processes import python
from bench.questions import node_request, single
from bench.relay import CountingRelay
from devnet.launcher import Devnet
from devnet.ports import free_port
from server.upstream.http import Address, Client, HttpAnswer
from server.upstream.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from server.upstream.http.opening import Origin

DELAYS = (0.0, 0.01, 0.03)
ROUNDS = 7
KINDS = ("own", "aiohttp")
_SECONDS = {0.0: 2.0, 0.01: 3.0, 0.03: 6.0}
_EXCHANGES = {0.0: 1500, 0.01: 250, 0.03: 120}
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "gzip"}
_TIMEOUT = 10.0
_IDLE_SECONDS = 1.0


@cache
def _url_of(origin: Origin) -> str:
    return f"{origin.scheme}://{origin.host}:{origin.port}/"


class AiohttpTransport(Transport):
    """The POSTs of a `Transport` over aiohttp's client, with no more around it than it needs."""

    sessions: aiohttp.ClientSession | None = None

    async def post(
        self, address: Address, body: bytes, timeout: float, on_bytes: Callable[[], None] | None = None
    ) -> HttpAnswer:
        """Return the answer to a POST of `body`; raises as aiohttp does."""
        session = AiohttpTransport.sessions
        if session is None:
            connector = aiohttp.TCPConnector(limit=0, limit_per_host=128, keepalive_timeout=55)
            session = AiohttpTransport.sessions = aiohttp.ClientSession(connector=connector, headers=_HEADERS)
        limit = aiohttp.ClientTimeout(total=timeout, sock_connect=3.0)
        async with session.post(_url_of(address.origin), data=body, timeout=limit, allow_redirects=False) as response:
            whole = await response.read()
            if on_bytes is not None:
                on_bytes()
            return HttpAnswer(response.status, None, whole, response.headers)


async def exchange(url: str, delay: float) -> None:
    """Print the microseconds of processor time of an exchange through either client, in turn."""
    address = Address(url, _HEADERS)
    async with Client() as client:
        posts: dict[str, Callable[[bytes], Awaitable[object]]] = {
            "own": lambda body: Transport(client).post(address, body, _TIMEOUT),
            "aiohttp": lambda body: AiohttpTransport(client).post(address, body, _TIMEOUT),
        }
        for _ in range(ROUNDS + 1):
            for post in posts.values():
                began = time.process_time()
                for _ in range(_EXCHANGES[delay]):
                    await post(node_request())
                print((time.process_time() - began) / _EXCHANGES[delay] * 1e6)
        if AiohttpTransport.sessions is not None:
            await AiohttpTransport.sessions.close()


async def _exchanges(url: str, delay: float) -> dict[str, list[float]]:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __spec__.name, "exchange", url, str(delay), stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await child.communicate()
    figures = [float(line) for line in printed.split()]
    # The first round warms up.
    return {kind: figures[place :: len(KINDS)][1:] for place, kind in enumerate(KINDS)}


def serve(kind: str, config: str) -> None:
    """Serve a gateway over one of the clients until the process is ended."""
    from cli.__main__ import main as cli
    from server.upstream import pool

    if kind == "aiohttp":
        vars(pool)["Transport"] = AiohttpTransport
    sys.argv = ["waypost", "serve", "--config", config]
    sys.exit(cli())


def spent(process: int) -> float:
    """Return the seconds that all threads of a process have run, to the nanosecond."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


async def _idle(process: int) -> float:
    """Return the share of its time that the gateway spends when it is not asked."""
    before = spent(process)
    await asyncio.sleep(_IDLE_SECONDS)
    return (spent(process) - before) / _IDLE_SECONDS


async def _ask(process: int, port: int, connections: int, seconds: float) -> float:
    """Return the microseconds that the gateway spends on an uncached getBalance."""
    idle = await _idle(process)
    before, began = spent(process), time.perf_counter()
    load = await http_load.post(
        f"http://127.0.0.1:{port}/local/v1", single(), expect=b'"result"', connections=connections, seconds=seconds
    )
    busy = spent(process) - before - idle * (time.perf_counter() - began)
    return busy / len(load.latencies) * 1e6


def _show(what: str, figures: dict[str, list[float]]) -> None:
    medians = {kind: statistics.median(found) for kind, found in figures.items()}
    saved = medians["aiohttp"] - medians["own"]
    spread = ", ".join(f"{kind} {min(found):.0f} to {max(found):.0f}" for kind, found in figures.items())
    print(
        f"  {what:<44}{medians['own']:>9.0f}{medians['aiohttp']:>9.0f}{saved:>9.0f}{saved / medians['own']:>8.0%}"
        f"   ({spread})",
        flush=True,
    )


async def main() -> int:
    """Print the medians of all rounds, and what is saved, also as a share of what ours costs."""
    async with AsyncExitStack() as stack:
        devnet = await stack.enter_async_context(Devnet.start(["ethereum"], progress=lambda _: None, mines=False))
        relay = CountingRelay(devnet.endpoints["ethereum"])
        url = await relay.start()
        stack.push_async_callback(relay.close)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        gateways: dict[str, tuple[int, int]] = {}
        for kind in KINDS:
            port, config = free_port(), folder / f"{kind}.toml"
            config.write_text(
                f'profile = "devnet"\n[http]\nport = {port}\n[grpc]\nport = {free_port()}\n'
                f'[storage]\nurl = "sqlite:///{folder}/{kind}.db"\n[quotas]\ndefault_rate = 1e5\ndefault_burst = 1e5\n'
                f'[chains.ethereum]\nendpoints = [{{ label = "node", url = "{url}" }}]\n'
            )
            log = stack.enter_context((folder / f"{kind}.log").open("wb"))
            child = python("-m", __spec__.name, "serve", kind, str(config), port=port, log=log)
            gateways[kind] = await stack.enter_async_context(child), port
        print(f"  {'processor time, us':<44}{'own':>9}{'aiohttp':>9}{'saved':>9}{'share':>8}")
        for delay in DELAYS:
            relay.delay = delay
            _show(f"an exchange, node {delay * 1000:.0f} ms away", await _exchanges(url, delay))
        for delay, connections in [*((delay, 1) for delay in DELAYS), (0.0, 16), (0.03, 16)]:
            relay.delay = delay
            by_client: dict[str, list[float]] = {kind: [] for kind in KINDS}
            for turn in range(ROUNDS + 1):
                for kind, (process, port) in gateways.items():
                    found = await _ask(process, port, connections, _SECONDS[delay])
                    if turn:
                        by_client[kind].append(found)
            _show(f"getBalance, node {delay * 1000:.0f} ms away, {connections} connections", by_client)
    return 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", kind, config]:
            serve(kind, config)
        case ["exchange", url, delay]:
            uvloop.run(exchange(url, float(delay)))
        case _:
            sys.exit(uvloop.run(main()))
