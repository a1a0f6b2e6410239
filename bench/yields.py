"""What yields cost, over documents of the products' size: `python -m bench.yields`.

The documents are made up (`bench/yield_documents.py` has the counts and the seed); the chain is ethereum of mainnet's
size. Measured are a warm getYieldsBest beside a bare echo of as many bytes, getYieldsLending of lend-a beside the bare
node (the caller wants nothing out of the cache, so that the node is asked each time), and one build of getYieldsBest.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
import uvloop

from bench import http_load, yield_documents
from bench.processes import python, set_processor_apart
from bench.promises import ROUNDS, Promise, compare, judge, show
from bench.questions import FRESH, USDC
from bench.relay import CountingRelay
from devnet.launcher import Devnet
from devnet.offchain.server import OffchainServer
from devnet.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable

CONNECTIONS = 64
_SECONDS = 1.0
_ALONE_SECONDS = 1.0
_UNCACHED = "Cache-Control: no-cache\r\n"


async def measure(stack: AsyncExitStack, node: str, processors: set[int] | None) -> list[Promise]:
    """Measure a gateway of its own over the node of ethereum, which is of mainnet's size; all ends with the stack."""
    documents = await stack.enter_async_context(OffchainServer((yield_documents.add_documents,)))
    relay = CountingRelay(node)
    behind = await relay.start()
    stack.push_async_callback(relay.close)
    base, _ = await _gateway(stack, node, documents.authority, processors)
    alone, child = await _gateway(stack, behind, documents.authority, processors)
    build = await _measure_build(alone, child)
    bodies = {}
    for body in (_lending, _balance):
        await _ask(alone, body())
        await _ask(alone, body())
        bodies[body] = relay.last
    best = [await _measure_best(stack, base, limit, processors) for limit in (10, 1000)]
    return [*best, await _measure_alone(node, base, bodies), *build]


async def _gateway(stack: AsyncExitStack, node: str, authority: str, processors: set[int] | None) -> tuple[str, int]:
    """Start a gateway over ethereum and the documents; return its URL and process id."""
    http_port, grpc_port = free_port(), free_port()
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    config = folder / "waypost.toml"
    sources = [
        f'[sources.{name}]\nendpoints = [{{ label = "generated", url = "{one["url"]}", rate = {one["rate"]} }}]'
        for name, table in yield_documents.settings(authority).items()
        for one in table["endpoints"]
    ]
    config.write_text(
        f'profile = "devnet"\n[http]\nport = {http_port}\n[grpc]\nport = {grpc_port}\n'
        f'[storage]\nurl = "sqlite+aiosqlite:///{folder}/waypost.db"\n'
        f'[chains.ethereum]\nendpoints = [{{ label = "node", url = "{node}" }}]\n' + "\n".join(sources) + "\n"
    )
    log = stack.enter_context((folder / "waypost.log").open("wb"))
    serve = ("-m", "cli", "serve", "--config", str(config))
    child = await stack.enter_async_context(python(*serve, port=http_port, log=log, processors=processors))
    return f"http://127.0.0.1:{http_port}/local/v1", child


async def _measure_build(base: str, child: int) -> list[Promise]:
    """Measure the first build: its time, what it adds to the process, how many pools it compares."""
    await _ask(base, _request("getHealth"))
    before, began = _resident(child), time.perf_counter()
    first = await _ask(base, _best(1000))
    seconds, grown = time.perf_counter() - began, _resident(child) - before
    missing = sorted({(row["protocol"], row["reason"]) for row in first["unavailable"]})
    print(f"  getYieldsBest: {len(first['results'])} rows of the first build in {seconds:.2f} s, {grown:.0f} MB more")
    print(f"  without nodes of other chains these are missing: {missing}")
    return [
        Promise("first build of getYieldsBest over generated documents, s", seconds, 20, False),
        Promise("memory that the first build adds, documents included, MB", grown, 128, False),
    ]


async def _measure_best(stack: AsyncExitStack, base: str, limit: int, processors: set[int] | None) -> Promise:
    """Measure a warm getYieldsBest of so many rows beside an echo of as many bytes."""
    question = _best(limit)
    await _ask(base, question)
    async with aiohttp.ClientSession() as session, session.post(base, data=question, headers=_JSON) as response:
        size = len(await response.read())
    port = free_port()
    echo = ("-m", "bench.echoes", "http", str(port), str(size))
    await stack.enter_async_context(python(*echo, port=port, processors=processors))
    ratio = await compare(
        f"bare aiohttp + orjson echo of {size / 1000:.0f} kB, {CONNECTIONS} connections",
        lambda: _load(f"http://127.0.0.1:{port}/v1", lambda: question),
        f"gateway, warm getYieldsBest of {limit} rows, {CONNECTIONS} connections",
        lambda: _load(base, lambda: question),
    )
    return Promise(f"warm getYieldsBest of {limit} rows / bare echo of as many bytes", ratio, 0.2, True)


async def _measure_alone(node: str, base: str, asked: dict[Callable[[], bytes], bytes]) -> Promise:
    """Measure what one caller at a time waits more than at the node, for a rate beside a balance.

    The node is asked what the gateway asks. All four in turn, a few rounds: the difference is smaller than what the
    machine does from one second to the next.
    """
    names = {_lending: "getYieldsLending of lend-a", _balance: "getTokenBalance"}
    rounds: list[dict[str, http_load.Load]] = []
    for _ in range(ROUNDS):
        loads = {}
        for body, name in names.items():
            loads[f"bare node, the calls of {name}, 1 connection"] = await _load(node, _same(asked[body]), 1)
            loads[f"gateway, {name}, 1 connection"] = await _load(base, body, 1, _UNCACHED)
        rounds.append(loads)
    for label in rounds[0]:
        show(label, sorted((loads[label] for loads in rounds), key=lambda load: load.rate)[ROUNDS // 2])
    more = []
    for loads in rounds:
        of_node, of_rate, of_node_too, of_balance = (load.median for load in loads.values())
        more.append((of_rate - of_node) - (of_balance - of_node_too))
    name = "getYieldsLending adds more than getTokenBalance, ms"
    return Promise(name, sorted(more)[ROUNDS // 2] * 1000, 0.2, False)


def _resident(process: int) -> float:
    """Return the memory of a process in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) / 1024


def _request(method: str, **params: Any) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def _best(limit: int) -> bytes:
    return _request("getYieldsBest", limit=limit)


def _lending() -> bytes:
    return _request("getYieldsLending", chain="ethereum", protocol="lend-a", pool="USDC")


def _same(body: bytes) -> Callable[[], bytes]:
    return lambda: body


def _balance() -> bytes:
    return _request("getTokenBalance", chain="ethereum", address=next(FRESH), token=USDC)


_JSON = {"Content-Type": "application/json"}


async def _load(
    url: str, body: Callable[[], bytes], connections: int = CONNECTIONS, headers: str = ""
) -> http_load.Load:
    seconds = _SECONDS if connections > 1 else _ALONE_SECONDS
    return await http_load.post(
        url, body, expect=b'"result"', connections=connections, seconds=seconds, headers=headers
    )


async def _ask(url: str, body: bytes) -> dict[str, Any]:
    headers = _JSON | {"Cache-Control": "no-cache"}
    async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers) as response:
        answer = orjson.loads(await response.read())
    if "error" in answer:
        raise AssertionError(f"a part of the world is missing: {answer}")
    data: dict[str, Any] = answer["result"]["data"]
    return data


async def main() -> int:
    """Measure this alone, and return 1 when a promise is broken."""
    measured = set_processor_apart()
    async with AsyncExitStack() as stack:
        devnet = await stack.enter_async_context(
            Devnet.start(["ethereum"], progress=lambda _: None, mines=False, of_mainnet_size=True)
        )
        return 0 if judge(await measure(stack, devnet.endpoints["ethereum"], measured)) else 1


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
