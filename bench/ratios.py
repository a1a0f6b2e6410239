"""What is promised (docs/decisions/0011): the gateway beside bare echoes and the bare node, in one run, as ratios.

Absolute figures belong to the machine; the ratios are what is promised, measured in turn with their yardsticks. Unless
stated otherwise, every request asks for another address, so nothing is answered from a cache or joined with another.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from waypost.v1 import account_pb2

from bench import folding, funding, grpc_load, http_load, paging, positions, yields
from bench.processes import python
from bench.promises import Promise, compare, judge, measure_added, show
from bench.questions import batch, message, metadata_request, node_request, same_message, single
from bench.relay import CountingRelay
from devnet.launcher import Devnet
from devnet.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 3.0
ROUND_SECONDS = 2.0
CONNECTIONS = 64
GET_BALANCE = "/waypost.v1.AccountService/GetBalance"
KEY = (("x-api-key", "local"),)


async def http(url: str, body: Callable[[], bytes], connections: int, seconds: float = ROUND_SECONDS) -> http_load.Load:
    """Run one HTTP load."""
    return await http_load.post(url, body, expect=b'"result"', connections=connections, seconds=seconds)


async def grpc(
    port: int,
    tasks: int,
    question: Callable[[], account_pb2.GetBalanceRequest] = message,
    seconds: float = ROUND_SECONDS,
) -> http_load.Load:
    """Run one gRPC load."""
    return await grpc_load.call(
        f"127.0.0.1:{port}",
        GET_BALANCE,
        question,
        account_pb2.GetBalanceResponse,
        metadata=KEY,
        tasks=tasks,
        seconds=seconds,
    )


async def measure(measured: set[int] | None) -> bool:
    """Measure everything, print the tables, and return whether all promises are kept.

    `measured` are the processors of the servers.
    """
    echo_http, echo_grpc, http_port, grpc_port = (free_port() for _ in range(4))
    print(f"  {'':<52}{'rate':>13}{'median':>13}")
    async with AsyncExitStack() as stack:
        for kind, port in (("http", echo_http), ("grpc", echo_grpc)):
            echo = python("-m", "bench.echoes", kind, str(port), port=port, processors=measured)
            await stack.enter_async_context(echo)
        devnet = await stack.enter_async_context(
            Devnet.start(["ethereum", "polygon", "base"], progress=lambda _: None, mines=False, of_mainnet_size=True)
        )
        relay = CountingRelay(devnet.endpoints["polygon"])
        far = CountingRelay(devnet.endpoints["base"], folding.FAR_SECONDS)
        node = devnet.endpoints["ethereum"]
        endpoints = {"ethereum": node, "polygon": await relay.start(), "base": await far.start()}
        stack.push_async_callback(relay.close)
        stack.push_async_callback(far.close)
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        config = Path(folder) / "waypost.toml"
        config.write_text(config_text(endpoints, http_port, grpc_port))
        logged = Path(folder) / "waypost.log"
        log = stack.enter_context(logged.open("wb"))
        serve = ("-m", "cli", "serve", "--config", str(config))
        await stack.enter_async_context(python(*serve, port=http_port, log=log, processors=measured))
        base = f"http://127.0.0.1:{http_port}/local/v1"
        await http(base, single(), 4)  # codecs are compiled on first use
        bare = f"http://127.0.0.1:{echo_http}/v1"
        uncached = await compare(
            "bare aiohttp + orjson echo, 64 connections",
            lambda: http(bare, single(), CONNECTIONS),
            "gateway over JSON-RPC, 64 connections",
            lambda: http(base, single(), CONNECTIONS),
        )
        cached = await compare(
            "bare aiohttp + orjson echo, 64 connections",
            lambda: http(bare, single(), CONNECTIONS),
            "gateway, cached getTokenMetadata, 64 connections",
            lambda: http(base, metadata_request, CONNECTIONS),
        )
        direct = await compare(
            "bare grpc.aio echo, 64 tasks",
            lambda: grpc(echo_grpc, CONNECTIONS),
            "gateway over gRPC, the same question, 64 tasks",
            lambda: grpc(grpc_port, CONNECTIONS, same_message),
        )
        fresh = await compare(
            "bare grpc.aio echo, 64 tasks",
            lambda: grpc(echo_grpc, CONNECTIONS),
            "gateway over gRPC, 64 tasks",
            lambda: grpc(grpc_port, CONNECTIONS),
        )
        fifty = show("gateway, batches of 50, 4 connections", await http(base, batch(), 4, SECONDS))
        show("bare node, 64 connections", await http(node, node_request, CONNECTIONS, SECONDS))
        show("gateway over gRPC, 1 task", await grpc(grpc_port, 1, seconds=SECONDS))
        added = await measure_added(
            "bare node, 1 connection",
            lambda: http(node, node_request, 1),
            "gateway over JSON-RPC, 1 connection",
            lambda: http(base, single(), 1),
        )
        folds = await folding.near(relay, base, "polygon")
        folds += await folding.far(far, endpoints["base"], base, "base", ("ethereum", node))
        protocols = await positions.measure(node, base, measured)
        protocols += await funding.measure(stack, measured)
        protocols += await yields.measure(stack, node, measured)
        await paging.walk_logs(node, base)
        show_log(logged)
    print(f"\n  balances answered in batches of 50: {fifty.rate * 50:.0f} /s")
    print(
        f"  gRPC getBalance of fresh addresses / bare grpc.aio echo: {fresh:.2f} (no promise: the echo asks no node)\n"
    )
    return judge(
        [
            Promise("JSON-RPC getBalance / bare HTTP echo", uncached, 0.2, True),
            Promise("JSON-RPC cached getTokenMetadata / bare HTTP echo", cached, 0.33, True),
            Promise("median added over the bare node, 1 connection, ms", added * 1000, 0.6, False),
            Promise("gRPC getBalance, same question / bare grpc.aio echo", direct, 0.8, True),
            *folds,
            *protocols,
        ]
    )


def show_log(path: Path) -> None:
    """Print how much the gateway logged: request logging is on, but only failures have a line."""
    events = [orjson.loads(line)["event"] for line in path.read_bytes().splitlines() if line.startswith(b"{")]
    summary = ", ".join(f"{count} x {event!r}" for event, count in Counter(events).most_common())
    print(f"\n  lines in the gateway's log, at its default level: {len(events)} ({summary})")


def config_text(endpoints: dict[str, str], http_port: int, grpc_port: int) -> str:
    """Return the gateway's configuration: these chains, one endpoint each."""
    chains = [f'[chains.{slug}]\nendpoints = [{{ label = "node", url = "{url}" }}]' for slug, url in endpoints.items()]
    return f"""
profile = "devnet"
[http]
port = {http_port}
[grpc]
port = {grpc_port}
""" + "\n".join(chains)
