"""Endpoints that hang are found out, left alone and taken back; slow ones are waited for."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from server.errors import DeadlineExceeded, GatewayError, UpstreamUnavailable
from server.upstream import CallPolicy, HeadQuery, Pool
from server.upstream.probing import DEMAND_SECONDS, HUNG_SECONDS, LEAVING_SECONDS, PROBE_AFTER_SECONDS
from tests.faults import simulator as faults
from tests.faults.conftest import CHAIN_ID, wait_for_node
from tests.pausing import pause

if TYPE_CHECKING:
    from tests.faults.conftest import Clock, Tally

MakeFaulty = Callable[..., Any]
MakePool = Callable[..., Pool]

HEAD = HeadQuery("eth_blockNumber", [], lambda result: int(result.strip(b'"'), 16))
HUNG = f"hangs: not a byte within {HUNG_SECONDS:g} s"
LOGS = ("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "0x5"}])
# What a loaded machine may add to a time that is not waited for.
SLACK = 2.0


async def ask(pool: Pool, number: int = 0, seconds: float = 15.0, **policy: Any) -> str:
    call = pool.call(
        "eth_getBalance",
        [f"0x{number:040x}", "latest"],
        CallPolicy(joinable=False, **policy),
        deadline=time.monotonic() + seconds,
    )
    return (await call).endpoint


async def open_used(faulty: MakeFaulty, make_pool: MakePool, **options: Any) -> tuple[faults.FaultyNode, Pool]:
    """Return an endpoint that has answered a read, and a pool of it alone."""
    node: faults.FaultyNode = await faulty()
    pool = make_pool(node.url, head=HEAD, **options)
    await ask(pool)
    return node, pool


async def timed(coroutine: Any) -> tuple[Any, float]:
    started = time.monotonic()
    try:
        outcome = await coroutine
    except GatewayError as error:
        outcome = error
    return outcome, time.monotonic() - started


async def test_a_frozen_only_node_costs_one_wait_then_calls_fail_fast_and_it_comes_back(
    anvil: Any, make_pool: MakePool, tally: Tally
) -> None:
    process, url = anvil("--chain-id", str(CHAIN_ID))
    await wait_for_node(url)
    pool = make_pool(url, head=HEAD)
    assert await ask(pool) == "alpha"
    pause(process.pid)
    outcome, seconds = await timed(ask(pool, 1))
    assert isinstance(outcome, DeadlineExceeded)
    assert outcome.message == f"ethereum did not answer in time: alpha: {HUNG}"
    assert seconds < HUNG_SECONDS + 1.0 + SLACK  # of the 15 that the caller would have waited
    assert tally.states == [("alpha", "hung")]
    for number in range(20):
        outcome, seconds = await timed(ask(pool, 2 + number))
        assert isinstance(outcome, UpstreamUnavailable)
        assert outcome.message == f"no endpoint of ethereum answered: alpha: {HUNG}"
        assert outcome.retry_after_ms == 1000
        assert seconds < 0.5
    for heavy in ({"heavy": True}, {"caller_made": True}):
        outcome, seconds = await timed(ask(pool, 50, 30.0, **heavy))
        assert isinstance(outcome, UpstreamUnavailable)
        assert seconds < 0.5
    os.kill(process.pid, signal.SIGCONT)
    until = time.monotonic() + 3.0 + SLACK
    while isinstance(outcome, GatewayError) and time.monotonic() < until:
        await asyncio.sleep(0.1)
        outcome, _ = await timed(ask(pool, 99))
    assert outcome == "alpha"
    assert tally.states == [("alpha", "hung"), ("alpha", "answers")]


async def test_a_hung_endpoint_is_sent_a_probe_a_second_and_nothing_without_callers(
    faulty: MakeFaulty, make_pool: MakePool, clock: Clock
) -> None:
    node, pool = await open_used(faulty, make_pool, clock=clock)
    node.fault = faults.silence
    outcome, _ = await timed(ask(pool, 1))
    assert isinstance(outcome, GatewayError)
    node.asked.clear()
    for number in range(31):
        outcome, seconds = await timed(ask(pool, 2 + number))
        assert isinstance(outcome, UpstreamUnavailable)
        await asyncio.sleep(0.1)
    assert set(node.methods) == {"eth_blockNumber"}  # not one of the 31 reads
    assert 2 <= len(node.asked) <= 5
    clock.ahead += DEMAND_SECONDS
    await asyncio.sleep(1.2)
    node.asked.clear()
    await asyncio.sleep(1.5)
    assert node.asked == []
    # A caller asks again: it is given a second, because it may have come back long ago.
    outcome, seconds = await timed(ask(pool, 98, 60.0))
    assert isinstance(outcome, UpstreamUnavailable)
    assert 0.8 < seconds < 1.0 + SLACK
    clock.ahead += DEMAND_SECONDS
    await asyncio.sleep(1.2)
    node.fault = faults.honest
    assert await ask(pool, 99, 60.0) == "alpha"


async def test_callers_too_hasty_to_find_out_are_helped_by_a_probe(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node, pool = await open_used(faulty, make_pool)
    node.fault = faults.silence
    node.asked.clear()
    until, number = time.monotonic() + HUNG_SECONDS + 2.5 + SLACK, 0
    while not tally.states and time.monotonic() < until:
        number += 1
        outcome, _ = await timed(ask(pool, number, 1.5))
        assert isinstance(outcome, GatewayError)
    assert tally.states == [("alpha", "hung")]
    assert node.methods.count("eth_blockNumber") <= 2  # one to find out, and one since


async def test_one_frozen_node_of_two_is_left_to_probes_and_costs_no_caller_an_error(
    anvil: Any, node: str, make_pool: MakePool, tally: Tally
) -> None:
    process, url = anvil("--chain-id", str(CHAIN_ID))
    await wait_for_node(url)
    async with aiohttp.ClientSession() as session:
        # As far as the other one: an endpoint that lags is no favourite.
        await session.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "anvil_mine", "params": ["0xa"]})
    pool = make_pool(url, node, head=HEAD, weights=(1000, 1, 1))
    for number in range(10):
        favourite = await ask(pool, number)
    assert favourite == "alpha"
    pause(process.pid)
    started, slow = time.monotonic(), 0
    while time.monotonic() - started < HUNG_SECONDS + 2.0 + SLACK:
        label, seconds = await timed(ask(pool, 100))
        assert label == "beta"
        slow += seconds > 0.9
        await asyncio.sleep(0.05)
    assert slow <= 3
    assert ("alpha", "hung") in tally.states
    assert {purpose for label, purpose, _ in tally.requests[-10:] if label == "alpha"} <= {"probe"}
    os.kill(process.pid, signal.SIGCONT)


async def test_a_heavy_read_leaves_an_endpoint_that_keeps_a_probe_waiting(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    nodes = [await faulty(), await faulty()]
    pool = make_pool(*(node.url for node in nodes), head=HEAD)
    for label in ("alpha", "beta"):
        await ask(pool, prefer=label)
    nodes[0].fault = faults.silence
    for node in nodes:
        node.asked.clear()
    policy = CallPolicy(heavy=True, caller_made=True, prefer="alpha")
    reply, seconds = await timed(pool.call(*LOGS, policy, deadline=time.monotonic() + 30))
    assert reply.endpoint == "beta"
    assert seconds >= LEAVING_SECONDS
    assert seconds < LEAVING_SECONDS + 0.5 + SLACK  # of the 15 that it would have stayed
    assert nodes[0].methods.count("eth_getLogs") == 1
    assert nodes[0].methods.count("eth_blockNumber") >= 1
    assert nodes[1].methods.count("eth_getLogs") == 1
    # Later calls go there at once.
    again, seconds = await timed(pool.call(*LOGS, CallPolicy(heavy=True), deadline=time.monotonic() + 30))
    assert again.endpoint == "beta"
    assert seconds < 1.0


async def test_a_heavy_read_leaves_two_seconds_after_its_probe_left(faulty: MakeFaulty, make_pool: MakePool) -> None:
    """By the times at which requests arrive, and not by how long the machine takes: the probe goes soon."""
    nodes = [await faulty(), await faulty()]
    pool = make_pool(*(node.url for node in nodes), head=HEAD)
    for label in ("alpha", "beta"):
        await ask(pool, prefer=label)
    arrived: dict[str, float] = {}

    def note(fault: faults.Fault) -> faults.Fault:
        async def noted(request: faults.Request) -> None:
            label = "beta" if fault is faults.honest else "alpha"
            arrived.setdefault(f"{label} {request.asked.methods[0]}", time.monotonic())
            await fault(request)

        return noted

    nodes[0].fault, nodes[1].fault = note(faults.silence), note(faults.honest)
    await pool.call(*LOGS, CallPolicy(heavy=True, prefer="alpha"), deadline=time.monotonic() + 30)
    probed = arrived["alpha eth_blockNumber"] - arrived["alpha eth_getLogs"]
    left = arrived["beta eth_getLogs"] - arrived["alpha eth_blockNumber"]
    assert probed < PROBE_AFTER_SECONDS
    assert LEAVING_SECONDS - 0.2 <= left < LEAVING_SECONDS + 0.25 + SLACK


@pytest.mark.parametrize("others", ["none", "one that refuses", "one that hangs as well"])
async def test_a_heavy_read_with_nowhere_to_go_ends_when_its_endpoint_hangs(
    others: str, faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    nodes = [await faulty(), *([] if others == "none" else [await faulty()])]
    pool = make_pool(*(node.url for node in nodes), head=HEAD)
    for label in ("alpha", "beta")[: len(nodes)]:
        await ask(pool, prefer=label)
    nodes[0].fault = faults.silence
    if others == "one that refuses":
        await nodes[1].stop()
        for number in range(6):
            await asyncio.gather(timed(ask(pool, number, prefer="beta", seconds=1.0)))
    elif others != "none":
        nodes[1].fault = faults.silence
    policy = CallPolicy(heavy=True, caller_made=True, prefer="alpha")
    outcome, seconds = await timed(pool.call(*LOGS, policy, deadline=time.monotonic() + 60))
    assert isinstance(outcome, GatewayError)
    assert ("alpha", "hung") in tally.states
    assert HUNG in outcome.message
    # Two that hang are found out one after the other, the second while the first is still asked.
    assert (
        seconds < (HUNG_SECONDS if others != "one that hangs as well" else HUNG_SECONDS + LEAVING_SECONDS) + 1.0 + SLACK
    )


async def test_a_heavy_read_stays_where_light_reads_are_answered(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    nodes = [await faulty(), await faulty()]
    pool = make_pool(*(node.url for node in nodes), head=HEAD)
    await ask(pool)

    async def slow_at_logs(request: faults.Request) -> None:
        await asyncio.sleep(6.5 if "eth_getLogs" in request.asked.methods else 0)
        await faults.honest(request)

    nodes[0].fault = slow_at_logs
    policy = CallPolicy(heavy=True, caller_made=True, prefer="alpha")
    reply, seconds = await timed(pool.call(*LOGS, policy, deadline=time.monotonic() + 30))
    assert reply.endpoint == "alpha"
    assert seconds > 6
    assert tally.states == []


@pytest.mark.parametrize("seconds", [2.0, 4.0])
async def test_a_slow_only_endpoint_is_waited_for_by_every_caller(
    seconds: float, faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node = await faulty()
    pool = make_pool(node.url, head=HEAD)
    for number in range(20):
        await ask(pool, number)
    node.fault = faults.delay(seconds)
    calls = []
    for number in range(120):
        calls.append(asyncio.create_task(timed(ask(pool, 1000 + number, 30.0, heavy=number % 4 == 0))))
        await asyncio.sleep(0.03)
    outcomes = [outcome for outcome, _ in await asyncio.gather(*calls)]
    assert [outcome for outcome in outcomes if outcome != "alpha"] == []
    assert tally.states == []  # slow is not hung
    assert pool.is_sound


async def test_two_slow_endpoints_are_waited_for(faulty: MakeFaulty, make_pool: MakePool, tally: Tally) -> None:
    nodes = [await faulty(), await faulty()]
    pool = make_pool(*(node.url for node in nodes), head=HEAD)
    for number in range(40):
        await ask(pool, number)
    for node in nodes:
        node.fault = faults.delay(2.0)
    calls = []
    for number in range(60):
        calls.append(asyncio.create_task(timed(ask(pool, 1000 + number, 30.0))))
        await asyncio.sleep(0.03)
    assert {outcome for outcome, _ in await asyncio.gather(*calls)} <= {"alpha", "beta"}
    assert tally.states == []


async def test_a_gateway_that_did_not_listen_blames_no_endpoint(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node, pool = await open_used(faulty, make_pool)
    node.fault = faults.delay(1.5)
    asked = asyncio.create_task(ask(pool, 1, 30.0))
    await asyncio.sleep(0.2)
    time.sleep(HUNG_SECONDS + 1)  # noqa: ASYNC251 - the loop itself is held up
    assert await asked == "alpha"
    assert tally.states == []


async def test_a_refusing_endpoint_is_no_hung_one(faulty: MakeFaulty, make_pool: MakePool, tally: Tally) -> None:
    node, pool = await open_used(faulty, make_pool)
    await node.stop()
    for number in range(10):
        outcome, _ = await timed(ask(pool, number))
        assert isinstance(outcome, UpstreamUnavailable)
        assert outcome.message == "no endpoint of ethereum answered: alpha: connection refused"
    assert tally.states == [("alpha", "open")]
