"""How the cost of a request grows: with connections, with kept answers, with workers; and memory."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import orjson

from bench import gateway
from bench.loads import Pace, Question
from bench.processes import proportional_bytes, resident_bytes
from bench.questions import USDC
from bench.results import Figure, Goal, Result, spread
from bench.rows import MICROSECONDS, RATE, balance
from bench.world import FAR, ROUNDS, SECONDS

if TYPE_CHECKING:
    from bench.gateway import Gateway
    from bench.loads import Round
    from bench.world import World

FEW, MANY = 16, 512
KEPT = 100_000
_ROOM = "[cache]\nmax_bytes = 4294967296\n"
_REST_SECONDS = 5.0
_MEGABYTE = 1e6
_LEAST_PROCESSORS = 4
_SETTLED_WITHIN, _STILL_SECONDS, _STILL_MEGABYTES = 120.0, 2.0, 0.5


async def measure_memory(world: World) -> Result:
    """Measure the memory of a gateway of mainnet's profile that was asked nothing, three times."""
    resident, proportional = [], []
    for _ in range(3):
        async with gateway.serve_mainnet(world.apart, world.tree) as served:
            await asyncio.sleep(_REST_SECONDS)
            resident.append(resident_bytes(served.processes()) / _MEGABYTE)
            proportional.append(proportional_bytes(served.processes()) / _MEGABYTE)
    figures = {"RSS, MB": spread(resident), "PSS, MB": spread(proportional)}
    title = "memory at rest, mainnet's profile behind a proxy that is not there"
    return Result("memory", title, (Goal("RSS, MB", 110, False),), figures)


async def measure_connections(world: World) -> Result:
    """Measure the processor time of a request of 16 and of 512 connections, kept answers and fresh reads."""
    settings = _limits(world)
    async with world.serve(settings=settings) as served:
        figures, goals = await _compare_connections(world, served)
    remark = "with server_limits.max_in_flight_per_key = 2000" if settings else ""
    return Result("connections", f"growth from {FEW} to {MANY} connections", tuple(goals), figures, remark)


async def _compare_connections(world: World, served: Gateway) -> tuple[dict[str, Figure], list[Goal]]:
    figures: dict[str, Figure] = {}
    goals: list[Goal] = []
    kinds = {"kept": balance(address=USDC, blockHeight=world.old_block), "fresh": balance()}
    for kind, body in kinds.items():
        question = Question(orjson.dumps(body))
        await world.ask(question, Pace(FEW, 0.3), served)
        found = [
            [await world.ask(question, Pace(count, SECONDS), served) for count in (FEW, MANY)] for _ in range(ROUNDS)
        ]
        name = f"{kind}: {MANY} of {FEW} connections"
        figures[name] = spread([many.microseconds / few.microseconds for few, many in found])
        figures[f"{kind}: {FEW} connections, us"] = spread([few.microseconds for few, _ in found])
        figures[f"{kind}: {MANY} connections, us"] = spread([many.microseconds for _, many in found])
        goals.append(Goal(name, 1.15, False))
    return figures, goals


def _limits(world: World) -> str:
    """Return the settings that let one key have so many requests in progress, where the version has such a bound."""
    key = "max_in_flight_per_key"
    return f"[server_limits]\n{key} = 2000\n" if _documents(world, key) else ""


def _documents(world: World, text: str) -> bool:
    """Return whether the configuration of the version that is measured knows a key or value."""
    return text in ((world.tree or gateway.ROOT) / "docs" / "configuration.md").read_text()


async def measure_kept(world: World) -> Result:
    """Measure the processor time of a kept answer where it is the only one, and where there are 100,000."""
    goal, title = Goal(f"{KEPT:,} of 1 kept answer", 1.25, False), f"growth from 1 to {KEPT:,} kept answers"
    if not world.is_native:
        return Result("kept", title, (goal,), remark="not measured: the load generators in Python take too long")
    async with world.serve(settings=_ROOM) as one, world.serve(settings=_ROOM) as all_of_them:
        figures, remark = await _compare_kept(world, one, all_of_them, goal.figure)
    return Result("kept", title, (goal,), figures, remark)


async def _compare_kept(world: World, one: Gateway, all_of_them: Gateway, name: str) -> tuple[dict[str, Figure], str]:
    body = orjson.dumps(balance(blockHeight=world.old_block))
    few, many = Question(body, distinct=1), Question(body, distinct=KEPT)
    await world.ask(few, Pace(32, 0.3), one)
    before = resident_bytes(all_of_them.processes())
    await world.ask(many, Pace(32, 0.0, requests=KEPT), all_of_them)
    grown = (resident_bytes(all_of_them.processes()) - before) / _MEGABYTE
    pace = Pace(32, SECONDS)
    found = [(await world.ask(few, pace, one), await world.ask(many, pace, all_of_them)) for _ in range(ROUNDS)]
    asked = sum(asked.upstream for _, asked in found) / sum(asked.requests for _, asked in found)
    figures = {
        name: spread([many.microseconds / few.microseconds for few, many in found]),
        "1 kept answer, us": spread([few.microseconds for few, _ in found]),
        f"{KEPT:,} kept answers, us": spread([many.microseconds for _, many in found]),
        "memory that they take, MB": spread([grown]),
    }
    return figures, f"node requests a request, which should be none: {asked:.4f}"


async def measure_workers(world: World) -> Result:
    """Measure two workers beside one: fresh reads of near and far nodes, memory, and the rate where processors are."""
    ours = sorted(os.sched_getaffinity(0))
    has_room = world.apart is not None and len(ours) + 1 >= _LEAST_PROCESSORS
    places = {ours[0], *(world.apart or ())} if has_room else world.apart
    # Versions before decision 0044 had no quotas that several workers share.
    settings = '[quotas]\nmode = "per-process"\n' if _documents(world, "`per-process`") else ""
    near, far = (Question(orjson.dumps(body)) for body in (balance(), balance(FAR)))
    memory: dict[int, float] = {}
    found: list[dict[str, list[Round]]] = []
    async with AsyncExitStack() as stack:
        served: list[Gateway] = []
        for count in (1, 2, 3):
            serving = world.serve(settings=settings, workers=count, processors=places)
            served.append(await stack.enter_async_context(serving))
            await _settle(served[-1], count)
            await world.ask(near, Pace(64, SECONDS), served[-1])
            memory[count] = await _settle(served[-1], count)
        closed, paced = Pace(64, SECONDS), Pace(64, 2 * SECONDS, rate=500.0)
        for _ in range(ROUNDS):
            found.append(
                {
                    "near": [await world.ask(near, closed, one) for one in served[:2]],
                    "far": [await world.ask(far, paced, one) for one in served[:2]],
                }
            )
    figures = {
        "processor time, 2 of 1": _ratio(found, "near", MICROSECONDS),
        "processor time at 500/s, 2 of 1": _ratio(found, "far", MICROSECONDS),
        "node requests a question, 2 of 1": _ratio(found, "near", "upstream"),
        "node requests a question at 500/s, 2 of 1": _ratio(found, "far", "upstream"),
        "1 worker, us": spread([loads["near"][0].microseconds for loads in found]),
        "2 workers, us": spread([loads["near"][1].microseconds for loads in found]),
        "1 worker, PSS, MB": spread([memory[1]]),
        "further worker, PSS, MB": spread([memory[3] - memory[2]]),
    }
    if has_room:
        figures["a second, 2 of 1"] = _ratio(found, "near", RATE)
    goals = (
        Goal("processor time, 2 of 1", 1.1, False),
        Goal("node requests a question, 2 of 1", 1.3, False),
        Goal("node requests a question at 500/s, 2 of 1", 1.3, False),
        Goal("further worker, PSS, MB", 80, False),
        Goal("a second, 2 of 1", 1.8, True),
    )
    remark = "" if has_room else f"requests a second: not measured, there are fewer than {_LEAST_PROCESSORS} processors"
    return Result("workers", "2 workers beside 1, fresh balance, 64 connections", goals, figures, remark)


async def _settle(served: Gateway, workers: int) -> float:
    """Return the memory (PSS) of a gateway in MB once all its processes are there and it grows no more.

    Raises TimeoutError where that takes too long.
    """
    before = 0.0
    async with asyncio.timeout(_SETTLED_WITHIN):
        while True:
            processes = served.processes()
            found = proportional_bytes(processes) / _MEGABYTE
            if len(processes) >= workers and abs(found - before) < _STILL_MEGABYTES:
                return found
            before = found
            await asyncio.sleep(_STILL_SECONDS)


def _ratio(found: list[dict[str, list[Round]]], kind: str, name: str) -> Figure:
    """Return what a figure of two workers is of that of one."""
    ratios = []
    for loads in found:
        one, two = (
            {MICROSECONDS: load.microseconds, RATE: load.rate, "upstream": load.upstream / load.requests}
            for load in loads[kind]
        )
        ratios.append(two[name] / one[name])
    return spread(ratios)
