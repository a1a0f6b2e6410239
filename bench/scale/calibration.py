"""Measures what requests cost on a running gateway, and whether the simulation finds what other loads cost there.

The costs come from a few loads of `make bench` on one process: kept answers, single reads of one caller and of many, a
batch of fifty. Other loads, at one process and at two, are then measured and simulated; both have to agree within a
fifth. Each is measured in turn with a yardstick, kept answers, as whatever else the machine does makes the same work
dearer; the round counts in which the gateway waited least for a processor.
"""

from __future__ import annotations

import asyncio
import os
import platform
import random
import statistics
import tempfile
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import orjson
from waypost.v1 import account_pb2

from bench import grpc_load, http_load
from bench.open_load import connect, poisson
from bench.questions import balance_request, metadata_request, same_message, single
from bench.scale.costs import COSTS, Costs
from bench.scale.measured import Gateway, Measured, gateways, measure, nodes
from bench.scale.simulation import Simulation
from bench.scale.stores import measure_postgresql, measure_redis
from bench.scale.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from bench.http_load import Load
    from bench.relay import CountingRelay

WITHIN = 0.2
"""How far the simulation may be from what is measured."""

FAR_SECONDS = 0.03
_SECONDS = 1.0
_POISSON_SECONDS = 3.0
_ROUNDS = 2
_CONNECTIONS = 64
_CALLERS = (1, 4, 16, 64)
_OPEN = 800
_BATCH = 50
_MIXED_BATCH = 20
_MIX = {"kept": 0.3, "read": 0.6, "batch": 0.1}
_NEAR, _FAR = "ethereum", "base"


class Trial(NamedTuple):
    """A load to measure and to simulate: `rate` requests a second at independent times, or so many `callers`."""

    name: str
    chain: str
    kinds: dict[str, float]
    rate: float = 0.0
    callers: int = 0
    batch_items: int = 1


_TRIALS = (
    Trial("kept answers, 64 callers", _NEAR, {"kept": 1.0}, callers=_CONNECTIONS),
    Trial("single reads, 16 callers", _NEAR, {"read": 1.0}, callers=16),
    Trial("500 reads/s, node 30 ms away", _FAR, {"read": 1.0}, rate=500.0),
    Trial("150 reads/s, node 30 ms away", _FAR, {"read": 1.0}, rate=150.0),
    Trial("mixed, 200/s, node 30 ms away", _FAR, _MIX, rate=200.0, batch_items=_MIXED_BATCH),
)


class Comparison(NamedTuple):
    """One figure of one trial, as measured and as simulated."""

    trial: str
    processes: int
    figure: str
    measured: float
    simulated: float

    @property
    def off(self) -> float:
        """By what share the simulation is above what was measured."""
        return self.simulated / self.measured - 1


async def calibrate(path: Path = COSTS, *, keeps_costs: bool = False) -> int:
    """Measure the costs, write them, compare; return 1 where a figure is further off than a fifth.

    With `keeps_costs` those in the file are compared anew.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        relays = await stack.enter_async_context(nodes({_NEAR: 0.0, _FAR: FAR_SECONDS}))
        urls = {slug: relay.url for slug, relay in relays.items()}
        servers = await stack.enter_async_context(gateways(folder, urls, 2, None))
        for server in servers:
            await _post(server, single(), 4, 1.0)
            await _post(server, metadata_request, 4, 0.5)
        if keeps_costs:
            costs = Costs.read_from(path)
        else:
            costs = await _measure_costs(servers[0], relays[_NEAR], await _measure_yardstick(servers[0]))
        compared = []
        for trial in _TRIALS:
            for count in (1, 2):
                compared += await _compare(trial, servers[:count], relays[trial.chain], costs)
    worst = max(abs(found.off) for found in compared)
    costs.write_to(path, _remarks(compared))
    print(f"\n  written to {path.name}; furthest off: {worst:.0%}, allowed: {WITHIN:.0%}")
    return 0 if worst <= WITHIN else 1


async def _measure_costs(server: Gateway, relay: CountingRelay, yardstick: float) -> Costs:
    async def of(load: Callable[[], Awaitable[Load]]) -> Measured:
        async def loads(_: int) -> list[Load]:
            return [await load()]

        found, dearer = await _measure_in_turn([server], relay, loads, yardstick)
        return replace(found, processor=found.processor / dearer)

    kept = await of(partial(_post, server, metadata_request, _CONNECTIONS))
    kept_grpc = await of(partial(_call, server))
    lone_kept = await of(partial(_post, server, metadata_request, 1))
    reads = [await of(partial(_post, server, single(), callers)) for callers in _CALLERS]
    lone = reads[0]
    batch = await of(partial(_post, server, _bodies({"batch": 1.0}, _NEAR, _BATCH), 4))
    by_request, read = statistics.linear_regression(
        [found.upstream for found in reads], [found.processor for found in reads]
    )
    before = server.memory()
    clients = [await connect(server.url) for _ in range(_OPEN)]
    for client in clients:
        await client.send(metadata_request())
    by_connection = (server.memory() - before) / _OPEN
    for client in clients:
        client.close()
    # A caller alone wakes the loop with each request, a read once more with the node's answer: both are part of what
    # an upstream request adds where nothing folds.
    wake = max(lone_kept.processor - kept.processor, 0.0)
    upstream = max(by_request - 2 * wake, 0.0)
    # Each without what other programs kept the gateway and the caller from running for.
    hop = max(lone_kept.median - lone_kept.processor / lone_kept.share, 0.0) / lone_kept.lag
    upstream_hop = max(lone.median - lone.processor / lone.share - hop * lone.lag - lone.node, 0.0)
    costs = Costs(
        kept=kept.processor,
        kept_grpc=kept_grpc.processor,
        read=read,
        batch_item=(batch.processor - kept.processor - by_request * batch.upstream) / _BATCH,
        upstream=upstream,
        wake=wake,
        hop=hop,
        upstream_hop=upstream_hop / lone.lag,
        **await measure_redis(),
        **await measure_postgresql(),
        memory=before,
        memory_per_connection=max(by_connection, 0.0),
    )
    for name, found in (
        ("kept", kept),
        ("kept, 1", lone_kept),
        ("kept, gRPC", kept_grpc),
        ("50s", batch),
        *zip(_CALLERS, reads, strict=True),
    ):
        print(f"  {name!s:<14}{found}")
    return costs


async def _compare(trial: Trial, servers: list[Gateway], relay: CountingRelay, costs: Costs) -> list[Comparison]:
    count = len(servers)
    bodies = _bodies(trial.kinds, trial.chain, trial.batch_items)

    sent: list[list[list[float]]] = []

    async def loads(_: int) -> list[Load]:
        if trial.callers:
            return await asyncio.gather(*(_post(server, bodies, trial.callers // count) for server in servers))
        sent.append([[] for _ in servers])
        return await asyncio.gather(
            *(
                poisson(server.url, bodies, rate=trial.rate / count, seconds=_POISSON_SECONDS, sent=noted)
                for server, noted in zip(servers, sent[-1], strict=True)
            )
        )

    measured, dearer = await _measure_in_turn(servers, relay, loads, costs.kept)
    traffic = Traffic.read().but(
        kinds=trial.kinds,
        chains={trial.chain: (1e9, 1.0)},
        batch_items=trial.batch_items,
        popular=0.0,
        grpc=0.0,
        exact=0.0,
        lease=1e9,
        keys=1,
        node_median=measured.node,
        node_spread=0.0,
    )
    # What other programs on the machine did meanwhile is taken from what was measured: the processor time that they
    # left, how much more of it the same work took beside them, when requests were in fact sent, how long the node took.
    outcome = Simulation(
        traffic,
        _scale(costs, dearer, measured.lag),
        rate=trial.rate,
        replicas=count if trial.rate else 1,
        callers=trial.callers // count,
        seconds=_POISSON_SECONDS,
        sent=sent[measured.round] if sent else (),
        share=measured.share,
    ).run()
    answered = outcome.answered / outcome.seconds
    figures = [("processor ms", measured.processor * 1e3, sum(outcome.utilisation) / answered * 1e3)]
    if trial.rate:
        figures.append(("upstream requests", measured.upstream, outcome.upstream / answered))
        figures.append(("median ms", measured.median * 1e3, outcome.quantile(0.5) * 1e3))
    compared = [Comparison(trial.name, count, *figure) for figure in figures]
    for found in compared:
        print(f"  {_line(found)}   share of the processor: {measured.share:.0%}, dearer: {dearer:.2f}", flush=True)
    return compared


async def _measure_in_turn(
    servers: Sequence[Gateway],
    relay: CountingRelay,
    loads: Callable[[int], Awaitable[list[Load]]],
    yardstick: float,
) -> tuple[Measured, float]:
    """Return the quieter of two rounds, and how much dearer than `yardstick` the same work was around it."""
    found: list[tuple[Measured, float]] = []
    before = await _measure_yardstick(servers[0])
    for number in range(_ROUNDS):
        measured = await measure(servers, [relay], loads, rounds=1)
        after = await _measure_yardstick(servers[0])
        found.append((replace(measured, round=number), (before + after) / 2 / yardstick))
        before = after
    return max(found, key=lambda entry: entry[0].share)


async def _measure_yardstick(server: Gateway) -> float:
    """Return the processor time of a kept answer: beside other programs the same work takes more of it."""

    async def loads(_: int) -> list[Load]:
        return [await _post(server, metadata_request, _CONNECTIONS)]

    return (await measure([server], [], loads, rounds=1)).processor


def _scale(costs: Costs, dearer: float, lag: float) -> Costs:
    """Return the costs of a moment in which processor time is `dearer`, and waits take `lag` times as long."""
    names = ("kept", "kept_grpc", "read", "batch_item", "upstream", "wake")
    times = {name: getattr(costs, name) * dearer for name in names}
    return replace(costs, hop=costs.hop * lag, upstream_hop=costs.upstream_hop * lag, **times)


def _line(found: Comparison) -> str:
    return (
        f"{found.trial:<32}{found.processes} proc.  {found.figure:<18}{found.measured:>9.4g}{found.simulated:>9.4g}"
        f"{found.off:>+7.0%}"
    )


def _remarks(compared: list[Comparison]) -> list[str]:
    return [
        "Written by `python -m bench.scale --calibrate`. Seconds of processor time and of waiting, bytes.",
        f"Python {platform.python_version()}, {os.cpu_count()} processors, which other programs used at the time.",
        "PostgreSQL wrote without fsync. What other loads cost, for each request, and what the simulation found:",
        f"  {'load':<32}{'':<9}{'figure':<18}{'measured':>9}{'simul.':>9}{'off':>7}",
        *(f"  {_line(found)}" for found in compared),
    ]


def _bodies(kinds: dict[str, float], chain: str, items: int) -> Callable[[], bytes]:
    rng = random.Random(7)
    makers: dict[str, Callable[[], bytes]] = {
        "kept": metadata_request,
        "read": single(chain),
        "batch": lambda: orjson.dumps([balance_request(chain) for _ in range(items)]),
    }
    names, weights = list(kinds), list(kinds.values())
    return lambda: makers[rng.choices(names, weights)[0]]()


async def _post(
    server: Gateway, body: Callable[[], bytes], connections: int, seconds: float = _SECONDS
) -> http_load.Load:
    return await http_load.post(server.url, body, expect=b'"result"', connections=connections, seconds=seconds)


async def _call(server: Gateway) -> Load:
    return await grpc_load.call(
        f"127.0.0.1:{server.grpc_port}",
        "/waypost.v1.AccountService/GetBalance",
        same_message,
        account_pb2.GetBalanceResponse,
        metadata=(("x-api-key", "local"),),
        tasks=_CONNECTIONS,
        seconds=_SECONDS,
    )
