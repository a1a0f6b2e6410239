"""Slow endpoints, fresh blocks and forks: what hedging, waiting and comparing do about them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from server.errors import ArchiveRequired, NotFound, UpstreamUnavailable
from server.upstream import CallPolicy, Header, HeadQuery, Pool
from server.upstream.attempt import CALLS_PER_HEDGE
from server.upstream.polling import COMPARED_EVERY
from tests.faults import simulator as faults

if TYPE_CHECKING:
    from tests.faults.conftest import Clock, Tally

MakeFaulty = Callable[..., Any]
MakePool = Callable[..., Pool]


async def read_header(ask: Any, block: int) -> Header:
    found = json.loads(await ask("eth_getBlockByNumber", [hex(block), False]))
    if found is None:
        raise ValueError("no such block")
    return Header(int(found["number"], 16), found["hash"], int(found["timestamp"], 16), block - 1, found["parentHash"])


HEAD = HeadQuery("eth_blockNumber", [], lambda result: int(result.strip(b'"'), 16), header=read_header)


async def ask(pool: Pool, number: int = 0, **policy: Any) -> str:
    reply = await pool.call("eth_getBalance", [f"0x{number:040x}", "latest"], CallPolicy(joinable=False, **policy))
    assert reply.result == b'"0x0"'
    return reply.endpoint


async def warm(pool: Pool, times: int = 40) -> str:
    """Ask until the favourite's percentiles mean something, and return its label."""
    for number in range(times):
        label = await ask(pool, number)
    return label


@pytest.mark.alone("distinguishes 0.4 seconds from 0.6 by the clock")
async def test_with_hedging_one_slow_answer_costs_its_caller_no_wait(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    nodes = {"alpha": await faulty(), "beta": await faulty()}
    pool = make_pool(*(node.url for node in nodes.values()), hedge=True)
    favourite = await warm(pool)
    nodes[favourite].fault = faults.first(1, faults.delay(0.6))
    tally.hedges.clear()
    started = time.monotonic()
    other = await ask(pool, 77)
    assert time.monotonic() - started < 0.4
    assert other != favourite
    assert tally.hedges == [other]
    await asyncio.sleep(0.6)
    assert tally.states == []  # the slow one was let finish: no failure


async def test_hedging_is_off_unless_asked_for(faulty: MakeFaulty, make_pool: MakePool, tally: Tally) -> None:
    nodes = {"alpha": await faulty(), "beta": await faulty()}
    pool = make_pool(*(node.url for node in nodes.values()))
    favourite = await warm(pool)
    nodes[favourite].fault = faults.first(1, faults.delay(0.4))
    assert await ask(pool, 77) == favourite
    assert tally.hedges == []


@pytest.mark.parametrize("policy", [{"heavy": True}, {"caller_made": True}])
async def test_heavy_and_made_up_calls_are_never_hedged(
    policy: dict[str, bool], faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    nodes = {"alpha": await faulty(), "beta": await faulty()}
    pool = make_pool(*(node.url for node in nodes.values()), hedge=True)
    favourite = await warm(pool)
    nodes[favourite].fault = faults.first(1, faults.delay(0.4))
    tally.hedges.clear()
    assert await ask(pool, 77, **policy) == favourite
    assert tally.hedges == []


async def test_an_endpoint_that_became_slow_is_not_hedged_for_ever(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    nodes = {"alpha": await faulty(), "beta": await faulty()}
    pool = make_pool(*(node.url for node in nodes.values()), hedge=True)
    await warm(pool)
    for node in nodes.values():
        node.fault = faults.delay(0.03)
    tally.hedges.clear()
    for number in range(3 * CALLS_PER_HEDGE):
        await ask(pool, 1000 + number)
    assert len(tally.hedges) <= 3 + 5  # what they earned, and what was saved before


async def test_a_null_does_not_win_a_race(faulty: MakeFaulty, make_pool: MakePool, tally: Tally) -> None:
    nodes = {"alpha": await faulty(), "beta": await faulty()}
    pool = make_pool(*(node.url for node in nodes.values()), hedge=True)
    favourite = await warm(pool)
    other = next(label for label in nodes if label != favourite)
    nodes[favourite].fault = faults.first(1, faults.delay(0.3))
    nodes[other].fault = faults.spoil("eth_getBlockByNumber", lambda one: one.update(result=None))
    tally.hedges.clear()
    reply = await pool.call("eth_getBlockByNumber", ["0x5", False], CallPolicy(null_elsewhere=True))
    assert tally.hedges == [other]
    assert reply.endpoint == favourite
    assert json.loads(reply.result)["number"] == "0x5"


async def test_two_failures_of_a_race_are_reported_like_any_others(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    nodes = {"alpha": await faulty(), "beta": await faulty()}
    pool = make_pool(*(node.url for node in nodes.values()), hedge=True)
    await warm(pool)
    slow_500 = faults.status("500 Internal Server Error", b"oops")

    async def late(request: faults.Request) -> None:
        await asyncio.sleep(0.2)
        await slow_500(request)

    for node in nodes.values():
        node.fault = late
    with pytest.raises(Exception, match=r"alpha: HTTP 500.*beta: HTTP 500|beta: HTTP 500.*alpha: HTTP 500"):
        await ask(pool, 77)


def missing_until(node: Any, method: str, spoilt: dict[str, Any]) -> Callable[[], None]:
    """Let the node answer `method` with `spoilt` until the returned function is called."""
    honest = False

    def spoil(one: dict[str, Any]) -> None:
        if not honest:
            one.pop("result", None)
            one.update(spoilt)

    def relent() -> None:
        nonlocal honest
        honest = True

    node.fault = faults.spoil(method, spoil)
    return relent


@pytest.mark.parametrize(
    ("method", "params", "spoilt"),
    [
        ("eth_getBlockByNumber", ["0xa", False], {"result": None}),
        ("eth_getBalance", ["0x" + "0" * 40, "0xa"], {"error": {"code": -32000, "message": "header not found"}}),
        ("eth_getBalance", ["0x" + "0" * 40, "0xa"], {"error": {"code": -32001, "message": "block not found: 0xa"}}),
    ],
)
async def test_what_a_fresh_block_lacks_is_waited_for(
    method: str, params: list[Any], spoilt: dict[str, Any], faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    nodes = [await faulty(), await faulty()]
    pool = make_pool(*(node.url for node in nodes), block_time=1.0)
    pool.observe_head("alpha", 10)
    for node in nodes:
        relent = missing_until(node, method, spoilt)
        asyncio.get_running_loop().call_later(0.7, relent)
    policy = CallPolicy(null_elsewhere=True, min_block=10)
    reply = await pool.call(method, params, policy, deadline=time.monotonic() + 5)
    assert reply.result != b"null"
    assert tally.states == []
    asked = sum(node.methods.count(method) for node in nodes)
    assert asked <= 6  # two rounds in vain, paced by half a block time, and the one that answered


@pytest.mark.alone("distinguishes 0.4 seconds from half a block time by the clock")
async def test_a_block_beyond_the_head_is_not_waited_for(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    pool = make_pool(node.url, block_time=1.0)
    pool.observe_head("alpha", 10)
    started = time.monotonic()
    policy = CallPolicy(null_elsewhere=True, min_block=11)
    reply = await pool.call("eth_getBlockByNumber", ["0xb", False], policy)
    assert reply.result == b"null"
    assert len(node.asked) == 1
    assert time.monotonic() - started < 0.4


@pytest.mark.alone("distinguishes 0.4 seconds from half a block time by the clock")
async def test_old_state_is_not_waited_for(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.error(-32000, "missing trie node 0xabc (path )")
    pool = make_pool(node.url, block_time=1.0)
    pool.observe_head("alpha", 1000)
    started = time.monotonic()
    with pytest.raises(ArchiveRequired):
        await pool.call("eth_getBalance", ["0x" + "0" * 40, "0x5"], CallPolicy(min_block=5))
    assert time.monotonic() - started < 0.4


@pytest.mark.alone("counts the attempts that fit into a quarter of a second")
async def test_waiting_ends_with_its_budget(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.error(-32001, "block not found: 0xa")
    pool = make_pool(node.url, block_time=0.25)
    pool.observe_head("alpha", 10)
    started = time.monotonic()
    with pytest.raises(NotFound):
        await pool.call("eth_getBalance", ["0x" + "0" * 40, "0xa"], CallPolicy(min_block=10))
    assert 0.3 < time.monotonic() - started < 1.5
    assert len(node.asked) == 4


async def test_two_endpoints_that_disagree_on_a_block_are_reported_by_label(
    faulty: MakeFaulty, make_pool: MakePool, clock: Clock, tally: Tally
) -> None:
    nodes = [await faulty() for _ in range(3)]
    forked = "0x" + "ab" * 32
    nodes[1].fault = faults.spoil("eth_getBlockByNumber", lambda one: one["result"].update(hash=forked))
    pool = make_pool(*(node.url for node in nodes), head=HEAD, block_time=4.0, clock=clock)
    await ask(pool)
    await asyncio.sleep(0.2)
    pool._poller._pause = 0.05  # type: ignore[union-attr]  # the poller sleeps in real time, the clock is the test's
    await pool._poller.close()  # type: ignore[union-attr]
    clock.ahead += COMPARED_EVERY + 1
    for number in range(6):
        await ask(pool, number)
        await asyncio.sleep(0.1)
    assert tally.disagreements == [("beta", 7)]
    assert all(node.methods.count("eth_getBlockByNumber") == 1 for node in nodes)
    assert tally.states == [("beta", "excluded")]


async def test_endpoints_that_agree_are_not_reported(faulty: MakeFaulty, make_pool: MakePool, tally: Tally) -> None:
    pool = make_pool((await faulty()).url, (await faulty()).url)
    for label in ("alpha", "beta"):
        pool.forks.observe(label, 7, "0xaa")
    assert tally.disagreements == []


async def test_a_block_that_was_replaced_in_between_is_no_disagreement(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally, clock: Clock
) -> None:
    pool = make_pool((await faulty()).url, (await faulty()).url, clock=clock)
    pool.forks.observe("alpha", 7, "0xaa")
    clock.ahead += 60
    pool.forks.observe("beta", 7, "0xbb")
    assert tally.disagreements == []
    pool.forks.observe("alpha", 7, "0xaa")
    assert sorted(tally.disagreements) == [("alpha", 7), ("beta", 7)]  # of two, it is not known which is right


async def late(pool: Pool, number: int, seconds: float) -> str:
    """Ask with a deadline, and return which endpoint answered."""
    until = time.monotonic() + seconds
    params = [f"0x{number:040x}", "latest"]
    return (await pool.call("eth_getBalance", params, CallPolicy(joinable=False), deadline=until)).endpoint


async def test_a_single_endpoint_that_became_slow_is_waited_for_until_the_deadline(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    node = await faulty()
    pool = make_pool(node.url)
    await warm(pool)
    node.fault = faults.delay(1.5)  # more than an attempt at an endpoint that was quick so far
    node.asked.clear()
    assert await late(pool, 77, 5) == "alpha"
    assert len(node.asked) == 2


async def test_even_a_resting_single_endpoint_is_waited_for_until_the_deadline(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node = await faulty()
    pool = make_pool(node.url)
    await warm(pool)
    node.fault = faults.broken
    for number in range(3):
        with pytest.raises(UpstreamUnavailable):
            await ask(pool, number)
    assert tally.states == [("alpha", "open")]
    node.fault = faults.delay(1.5)
    assert await late(pool, 77, 5) == "alpha"


async def test_a_silent_endpoint_leaves_a_slow_one_the_time_to_answer(faulty: MakeFaulty, make_pool: MakePool) -> None:
    nodes = {"alpha": await faulty(), "beta": await faulty()}
    pool = make_pool(*(node.url for node in nodes.values()))
    silent, slow = "alpha", "beta"
    for label in (slow, silent):
        for number in range(40):
            await ask(pool, number, prefer=label)
    nodes[silent].fault = faults.silence
    nodes[slow].fault = faults.delay(1.6)
    assert await late(pool, 77, 7) == slow
