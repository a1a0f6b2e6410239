"""`make bench`: the gateway beside a bare HTTP echo, a bare gRPC echo and the bare node, in one run, as ratios.

Absolute figures belong to the machine; the ratios are what is promised. Every request asks for another address, so
nothing is answered from a cache or joined with another.
"""

from __future__ import annotations

import itertools
import secrets
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import uvloop
from waypost.v1 import account_pb2

from bench import grpc_load, http_load
from bench.processes import free_port, python
from bench.relay import CountingRelay
from devnet.launcher import Devnet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS = 4.0
CONNECTIONS = 64
GET_BALANCE = "/waypost.v1.AccountService/GetBalance"
KEY = (("x-api-key", "local"),)


@dataclass(frozen=True)
class Promise:
    """One promised figure: what it is, what was measured, and the bound it has to keep."""

    name: str
    value: float
    bound: float
    at_least: bool

    @property
    def kept(self) -> bool:
        """Whether the measured figure keeps the bound."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def addresses() -> Iterator[str]:
    """Yield addresses that were never asked for before."""
    salt = secrets.token_hex(8)
    for number in itertools.count():
        yield f"0x{salt}{number:024x}"


FRESH = addresses()


def balance_request() -> dict[str, object]:
    """Return one JSON-RPC request for the balance of a fresh address."""
    params = {"chain": "ethereum", "address": next(FRESH)}
    return {"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": params}


def single() -> bytes:
    """Return the body of one request."""
    return orjson.dumps(balance_request())


def batch() -> bytes:
    """Return the body of a batch of fifty."""
    return orjson.dumps([balance_request() for _ in range(50)])


def node_request() -> bytes:
    """Return the request that the bare node answers."""
    params = [next(FRESH), "latest"]
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_getBalance", "params": params})


def message() -> account_pb2.GetBalanceRequest:
    """Return the gRPC request for a fresh address."""
    return account_pb2.GetBalanceRequest(chain="ethereum", address=next(FRESH))


async def http(url: str, body: Callable[[], bytes], connections: int) -> http_load.Load:
    """Run one HTTP load."""
    return await http_load.post(url, body, expect=b'"result"', connections=connections, seconds=SECONDS)


async def grpc(port: int, tasks: int) -> http_load.Load:
    """Run one gRPC load."""
    return await grpc_load.call(
        f"127.0.0.1:{port}",
        GET_BALANCE,
        message,
        account_pb2.GetBalanceResponse,
        metadata=KEY,
        tasks=tasks,
        seconds=SECONDS,
    )


async def main() -> int:
    """Measure everything, print the tables, and return 1 when a promise is broken."""
    rows: list[tuple[str, http_load.Load]] = []

    def note(name: str, load: http_load.Load) -> http_load.Load:
        rows.append((name, load))
        print(f"  {name:<44}{load.rate:>10.0f} /s{load.median * 1000:>10.2f} ms", flush=True)
        return load

    echo_http, echo_grpc, http_port, grpc_port = (free_port() for _ in range(4))
    print(f"  {'':<44}{'rate':>13}{'median':>13}")
    async with python("-m", "bench.echoes", "http", str(echo_http), port=echo_http):
        bare_http = note(
            "bare aiohttp + orjson echo, 64 connections",
            await http(f"http://127.0.0.1:{echo_http}/v1", single, CONNECTIONS),
        )
    async with python("-m", "bench.echoes", "grpc", str(echo_grpc), port=echo_grpc):
        bare_grpc = note("bare grpc.aio echo, 64 tasks", await grpc(echo_grpc, CONNECTIONS))
    async with Devnet.start(["ethereum", "polygon"], progress=lambda _: None, mines=False) as devnet:
        node = devnet.endpoints["ethereum"]
        relay = CountingRelay(devnet.endpoints["polygon"])
        counted = await relay.start()
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "waypost.toml"
            config.write_text(config_text(node, counted, http_port, grpc_port))
            async with python("-m", "cli", "serve", "--config", str(config), port=http_port):
                base = f"http://127.0.0.1:{http_port}/local/v1"
                await http(base, single, 4)  # codecs are compiled on first use
                node_alone = note("bare node, 1 connection", await http(node, node_request, 1))
                alone = note("gateway over JSON-RPC, 1 connection", await http(base, single, 1))
                many = note("gateway over JSON-RPC, 64 connections", await http(base, single, CONNECTIONS))
                fifty = note("gateway, batches of 50, 4 connections", await http(base, batch, 4))
                note("gateway over gRPC, 1 task", await grpc(grpc_port, 1))
                direct = note("gateway over gRPC, 64 tasks", await grpc(grpc_port, CONNECTIONS))
                note("bare node, 64 connections", await http(node, node_request, CONNECTIONS))
                requests = await upstream_requests(relay, base)
        await relay.close()
    print(f"\n  balances answered in batches of 50: {fifty.rate * 50:.0f} /s\n")
    promises = [
        Promise("JSON-RPC getBalance / bare HTTP echo", many.rate / bare_http.rate, 0.2, True),
        Promise("upstream requests for a batch of 50 balances", requests, 1, False),
        Promise(
            "median added over the bare node, 1 connection, ms", (alone.median - node_alone.median) * 1000, 0.8, False
        ),
        Promise("gRPC getBalance / bare grpc.aio echo", direct.rate / bare_grpc.rate, 0.8, True),
    ]
    for promise in promises:
        sign = "at least" if promise.at_least else "at most"
        verdict = "kept" if promise.kept else "BROKEN"
        print(f"  {promise.name:<52}{promise.value:>8.2f}   {sign} {promise.bound:g}   {verdict}")
    return 0 if all(promise.kept for promise in promises) else 1


async def upstream_requests(relay: CountingRelay, base: str) -> int:
    """Return how many HTTP requests reach the node for one batch of 50 balances on a warm gateway."""

    def on_polygon() -> bytes:
        return orjson.dumps(
            [{**balance_request(), "params": {"chain": "polygon", "address": next(FRESH)}} for _ in range(50)]
        )

    await http_load.post(base, on_polygon, expect=b'"result"', connections=1, seconds=0.01)
    before = relay.requests
    await http_load.post(base, on_polygon, expect=b'"result"', connections=1, seconds=0.0)
    return relay.requests - before


def config_text(node: str, counted: str, http_port: int, grpc_port: int) -> str:
    """Return the gateway's configuration: ethereum's node directly, polygon's behind the counting relay."""
    return f"""
profile = "devnet"
[http]
port = {http_port}
[grpc]
port = {grpc_port}
[log]
level = "warning"
[chains.ethereum]
endpoints = [{{ label = "node", url = "{node}" }}]
[chains.polygon]
endpoints = [{{ label = "relay", url = "{counted}" }}]
"""


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
