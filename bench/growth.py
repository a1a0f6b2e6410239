"""How the cost of a request grows: with connections, with kept answers, with workers; and memory."""

from __future__ import annotations

import asyncio
import os
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
    served = await world.serve(settings=settings)
    figures: dict[str, Figure] = {}
    goals = []
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
    remark = "with server_limits.max_in_flight_per_key = 2000" if settings else ""
    return Result("connections", f"growth from {FEW} to {MANY} connections", tuple(goals), figures, remark)


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
    one, all_of_them = await world.serve(settings=_ROOM), await world.serve(settings=_ROOM)
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
        goal.figure: spread([many.microseconds / few.microseconds for few, many in found]),
        "1 kept answer, us": spread([few.microseconds for few, _ in found]),
        f"{KEPT:,} kept answers, us": spread([many.microseconds for _, many in found]),
        "memory that they take, MB": spread([grown]),
    }
    remark = f"node requests a request, which should be none: {asked:.4f}"
    return Result("kept", title, (goal,), figures, remark)


async def measure_workers(world: World) -> Result:
    """Measure two workers beside one: fresh reads of near and far nodes, memory, and the rate where processors are."""
    has_room = len(os.sched_getaffinity(0)) + 1 >= _LEAST_PROCESSORS and world.apart is not None
    places = set(sorted(os.sched_getaffinity(0))[:1]) | (world.apart or set()) if has_room else world.apart
    served: dict[int, Gateway] = {}
    memory: dict[int, float] = {}
    near, far = (Question(orjson.dumps(body)) for body in (balance(), balance(FAR)))
    closed, paced = Pace(64, SECONDS), Pace(64, SECONDS * 2, rate=500.0)
    # Versions before decision 0044 had no quotas that several workers share.
    apart = '[quotas]\nmode = "per-process"\n' if _documents(world, "`per-process`") else ""
    for count in (1, 2, 3):
        served[count] = await world.serve(settings=apart, workers=count, processors=places)
        await world.ask(near, Pace(64, 0.5), served[count])
        memory[count] = proportional_bytes(served[count].processes()) / _MEGABYTE
    found: list[dict[str, list[Round]]] = []
    for _ in range(ROUNDS):
        found.append(
            {
                "near": [await world.ask(near, closed, served[count]) for count in (1, 2)],
                "far": [await world.ask(far, paced, served[count]) for count in (1, 2)],
            }
        )

    def ratio(kind: str, name: str) -> Figure:
        return spread([_of(loads[kind][1], name) / _of(loads[kind][0], name) for loads in found])

    figures = {
        "processor time, 2 of 1": ratio("near", MICROSECONDS),
        "processor time at 500/s, 2 of 1": ratio("far", MICROSECONDS),
        "node requests a question, 2 of 1": ratio("near", "upstream"),
        "node requests a question at 500/s, 2 of 1": ratio("far", "upstream"),
        "1 worker, us": spread([loads["near"][0].microseconds for loads in found]),
        "2 workers, us": spread([loads["near"][1].microseconds for loads in found]),
        "1 worker, PSS, MB": spread([memory[1]]),
        "further worker, PSS, MB": spread([memory[3] - memory[2]]),
    }
    if has_room:
        figures["a second, 2 of 1"] = ratio("near", RATE)
    goals = (
        Goal("processor time, 2 of 1", 1.1, False),
        Goal("node requests a question, 2 of 1", 1.3, False),
        Goal("node requests a question at 500/s, 2 of 1", 1.3, False),
        Goal("further worker, PSS, MB", 80, False),
        Goal("a second, 2 of 1", 1.8, True),
    )
    remark = "" if has_room else f"requests a second: not measured, there are fewer than {_LEAST_PROCESSORS} processors"
    return Result("workers", "2 workers beside 1, fresh balance, 64 connections", goals, figures, remark)


def _of(load: Round, name: str) -> float:
    figures = {MICROSECONDS: load.microseconds, RATE: load.rate, "upstream": load.upstream / load.requests}
    return figures[name]
