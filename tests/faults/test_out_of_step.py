"""Endpoints that lag, or report blocks that do not exist: from the first read on, and in the middle of traffic."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from server.chains.view import BlockAnswer, majority_height, read_newest
from server.errors import UpstreamDisagrees
from server.upstream import CallPolicy, HeadQuery, Pool
from server.upstream.polling import FIRST_LOOK_SECONDS
from server.upstream.probing import PROBE_SECONDS
from tests.faults import simulator as faults

if TYPE_CHECKING:
    from tests.faults.conftest import Clock, Tally

MakeFaulty = Callable[..., Any]
MakePool = Callable[..., Pool]

HEAD = HeadQuery("eth_blockNumber", [], lambda result: int(result.strip(b'"'), 16))
TRUE_HEAD = 10


def shifted(by: int) -> faults.Fault:
    return faults.spoil("eth_blockNumber", lambda one: one.update(result=hex(max(int(one["result"], 16) + by, 1))))


async def height(pool: Pool, avoid: frozenset[str] = frozenset()) -> BlockAnswer[None]:
    reply = await pool.call("eth_blockNumber", [], CallPolicy(joinable=False, avoid=avoid))
    return BlockAnswer(None, reply.endpoint, int(reply.result.strip(b'"'), 16))


async def ask(pool: Pool) -> str:
    return (await pool.call("eth_getBalance", [f"0x{0:040x}", "latest"], CallPolicy(joinable=False))).endpoint


async def get_to_know(pool: Pool) -> None:
    """Measure every endpoint and read its head, which nodes report in their own time otherwise."""
    for row in await pool.probe("eth_blockNumber", []):
        assert row.result is not None
        pool.observe_head(row.endpoint, int(row.result.strip(b'"'), 16))
    await ask(pool)


@pytest.mark.parametrize("by", [-5, 10**6], ids=["lags", "lies"])
@pytest.mark.parametrize("position", range(3))
async def test_the_first_read_of_all_is_not_taken_from_an_endpoint_out_of_step(
    by: int, position: int, faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    nodes = [await faulty() for _ in range(3)]
    nodes[position].fault = shifted(by)
    pool = make_pool(*(node.url for node in nodes), head=HEAD)
    answers = await asyncio.gather(*(height(pool) for _ in range(10)))
    assert {answer.block for answer in answers} == {TRUE_HEAD}
    bad = pool.labels[position]
    assert bad not in {await ask(pool) for _ in range(10)}
    assert pool.heads.head() == TRUE_HEAD
    assert tally.states == []  # it answers: nothing counts against it


@pytest.mark.parametrize("by", [-5, 10**6], ids=["lags", "lies"])
async def test_an_endpoint_that_falls_out_of_step_is_noticed_by_its_answer(
    by: int, faulty: MakeFaulty, make_pool: MakePool
) -> None:
    nodes = {label: await faulty() for label in ("alpha", "beta", "gamma")}
    pool = make_pool(*(node.url for node in nodes.values()), head=HEAD, weights=(1000, 1, 1))
    await get_to_know(pool)
    favourite = await ask(pool)
    nodes[favourite].fault = shifted(by)
    assert (await height(pool)).block != TRUE_HEAD
    for _ in range(5):
        answer = await read_newest(pool, lambda avoid: height(pool, avoid))
        assert answer.block == TRUE_HEAD
    assert await ask(pool) != favourite


async def test_a_lagging_endpoint_answers_where_nobody_else_does_and_a_liar_does_not(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    for by, is_believed in ((-5, True), (10**6, False)):
        nodes = [await faulty() for _ in range(3)]
        pool = make_pool(*(node.url for node in nodes), head=HEAD)
        assert (await height(pool)).block == TRUE_HEAD
        await get_to_know(pool)
        nodes[0].fault = shifted(by)
        for node in nodes[1:]:
            node.fault = faults.error(-32603, "internal")
        if is_believed:
            assert (await read_newest(pool, lambda avoid, pool=pool: height(pool, avoid))).block == TRUE_HEAD + by
        else:
            with pytest.raises(UpstreamDisagrees, match="alpha"):
                await read_newest(pool, lambda avoid, pool=pool: height(pool, avoid))


async def test_after_a_quiet_time_endpoints_are_looked_at_again(
    faulty: MakeFaulty, make_pool: MakePool, clock: Clock
) -> None:
    nodes = [await faulty() for _ in range(3)]
    pool = make_pool(*(node.url for node in nodes), head=HEAD, block_time=1.0, clock=clock)
    assert (await height(pool)).block == TRUE_HEAD
    clock.ahead += 100
    await asyncio.sleep(1.2)
    nodes[0].fault = shifted(-7)
    assert {(await height(pool)).block for _ in range(3)} == {TRUE_HEAD}


async def test_a_silent_endpoint_delays_the_first_reads_by_a_second_at_most(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    nodes = [await faulty() for _ in range(2)]
    nodes[0].fault = faults.spoil("nothing", lambda one: None)
    pool = make_pool(nodes[0].url, nodes[1].url, head=HEAD)

    async def mute(request: faults.Request) -> None:
        if "eth_blockNumber" in request.asked.methods:
            await asyncio.sleep(3600)
        await faults.honest(request)

    nodes[1].fault = mute
    started = time.monotonic()
    await ask(pool)
    assert FIRST_LOOK_SECONDS * 0.9 < time.monotonic() - started < PROBE_SECONDS
    started = time.monotonic()
    await ask(pool)
    assert time.monotonic() - started < FIRST_LOOK_SECONDS * 0.9


async def test_reads_of_a_block_do_not_wait_for_a_look(faulty: MakeFaulty, make_pool: MakePool) -> None:
    nodes = [await faulty() for _ in range(2)]
    for node in nodes:
        node.fault = faults.spoil("nothing", lambda one: None)
    pool = make_pool(*(node.url for node in nodes), head=HEAD)
    pool.observe_head("alpha", TRUE_HEAD)

    async def mute(request: faults.Request) -> None:
        if "eth_blockNumber" in request.asked.methods:
            await asyncio.sleep(3600)
        await faults.honest(request)

    for node in nodes:
        node.fault = mute
    started = time.monotonic()
    await pool.call("eth_getBalance", [f"0x{0:040x}", "0x5"], CallPolicy(min_block=5))
    assert time.monotonic() - started < FIRST_LOOK_SECONDS * 0.9


def test_the_height_of_most() -> None:
    assert majority_height([7]) == 7
    assert majority_height([7, 5]) == 5
    assert majority_height([10**9, 7, 5]) == 7
    assert majority_height([7, 7, 5, 10**9]) == 7
