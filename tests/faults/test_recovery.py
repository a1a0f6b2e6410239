"""Endpoints that fail are left alone for a while and come back by themselves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from server.errors import DeadlineExceeded, UpstreamUnavailable
from server.upstream import CallPolicy, HeadQuery, IdentityCheck, Pool
from server.upstream.pool import VERIFY_SECONDS
from tests.faults import simulator as faults

if TYPE_CHECKING:
    from tests.faults.conftest import Clock, Tally

MakeFaulty = Callable[..., Any]
MakePool = Callable[..., Pool]

BALANCE = ("eth_getBalance", ["0x" + "0" * 40, "latest"])


async def ask(pool: Pool, **policy: Any) -> str:
    reply = await pool.call(*BALANCE, CallPolicy(joinable=False, **policy))
    assert reply.result == b'"0x0"'
    return reply.endpoint


async def settle() -> None:
    """Let what was started in the background come to its end."""
    await asyncio.sleep(0.1)


async def test_a_broken_endpoint_is_left_alone_then_probed_and_used_again(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally, clock: Clock
) -> None:
    sick, good = await faulty(), await faulty()
    pool = make_pool(sick.url, good.url, clock=clock)
    sick.fault = faults.broken
    for failures in range(1, 6):
        for _ in range(10):
            assert await ask(pool) == "beta"
        assert len(sick.asked) == failures  # one caller pays for finding out, the next ones do not
        clock.ahead += 5
    assert tally.states == [("alpha", "open")]
    clock.ahead -= 5
    asked = len(sick.asked)
    await ask(pool)
    assert len(sick.asked) == asked  # nothing is sent while it rests

    clock.ahead += 2
    await ask(pool)
    await settle()
    assert len(sick.asked) == asked + 1  # one probe, in the background
    assert tally.requests[-1][1] == "probe" or tally.requests[-2][1] == "probe"

    sick.fault = faults.honest
    clock.ahead += 60
    await ask(pool)
    await settle()
    assert tally.states == [("alpha", "open"), ("alpha", "closed")]
    await good.stop()
    assert await ask(pool) == "alpha"


async def test_when_all_endpoints_rest_callers_still_get_through(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node = await faulty()
    node.fault = faults.broken
    pool = make_pool(node.url)
    for _ in range(10):
        with pytest.raises(UpstreamUnavailable):
            await ask(pool)
    assert ("alpha", "open") in tally.states
    node.fault = faults.honest
    assert await ask(pool) == "alpha"


async def test_a_resting_endpoint_is_not_flooded(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.broken
    pool = make_pool(node.url)
    for _ in range(6):
        with pytest.raises(UpstreamUnavailable):
            await ask(pool)
    node.fault = faults.delay(0.3)
    node.asked.clear()
    results = await asyncio.gather(*(ask(pool, heavy=True) for _ in range(50)), return_exceptions=True)
    assert len(node.asked) <= 16
    assert results.count("alpha") >= 8
    refusals = [result for result in results if isinstance(result, UpstreamUnavailable)]
    assert refusals
    assert all("resting after failures" in error.message for error in refusals)


async def test_a_throttling_endpoint_is_slowed_alone_for_as_long_as_it_asked(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally, clock: Clock
) -> None:
    limited, good = await faulty(), await faulty()
    limited.fault = faults.too_many
    pool = make_pool(limited.url, good.url, clock=clock)
    for _ in range(20):
        assert await ask(pool) == "beta"
    assert len(limited.asked) == 1
    assert tally.states == [("alpha", "limited")]
    limited.fault = faults.honest
    clock.ahead += 6
    await ask(pool)
    assert len(limited.asked) == 1
    clock.ahead += 2
    assert await ask(pool) == "alpha"


async def test_when_every_endpoint_throttles_the_caller_is_reported_when_to_come_back(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    node = await faulty()
    node.fault = faults.too_many
    pool = make_pool(node.url)
    with pytest.raises(UpstreamUnavailable) as caught:
        await ask(pool)
    assert caught.value.retry_after_ms is not None
    assert 6000 < caught.value.retry_after_ms <= 7000


@pytest.mark.alone("distinguishes one second from two by the clock")
async def test_a_short_throttle_of_the_only_endpoint_is_waited_for(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.first(1, faults.status("429 Too Many Requests", b"", {"Retry-After": "1"}))
    pool = make_pool(node.url)
    started = time.monotonic()
    assert await ask(pool) == "alpha"
    assert 0.9 < time.monotonic() - started < 2


async def test_slowness_that_the_caller_chose_does_not_count_against_the_node(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node = await faulty()
    pool = make_pool(node.url)
    await ask(pool)
    node.fault = faults.silence
    calls = [
        pool.call(*BALANCE, CallPolicy(joinable=False, caller_made=True), deadline=time.monotonic() + 1.1)
        for _ in range(10)
    ]
    errors = await asyncio.gather(*calls, return_exceptions=True)
    assert len({str(error) for error in errors}) == 1
    assert tally.states == []
    node.fault = faults.honest
    assert await ask(pool) == "alpha"


async def test_impatient_callers_do_not_count_against_the_node(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node = await faulty()
    node.fault = faults.delay(0.2)
    pool = make_pool(node.url)
    for _ in range(8):
        with pytest.raises(Exception, match="deadline"):
            await pool.call(*BALANCE, CallPolicy(joinable=False), deadline=time.monotonic() + 0.02)
    assert tally.states == []


def check_chain(wanted: int) -> IdentityCheck:
    def judge(result: bytes) -> str | None:
        found = int(result.strip(b'"'), 16)
        return None if found == wanted else f"serves chain id {found} instead of {wanted}"

    return IdentityCheck("eth_chainId", [], judge)


async def test_an_endpoint_of_the_wrong_chain_is_excluded_and_said_so(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally, clock: Clock
) -> None:
    wrong, good = await faulty(), await faulty()
    wrong.fault = faults.spoil("eth_chainId", lambda one: one.update(result="0x5"))
    pool = make_pool(wrong.url, good.url, clock=clock, verify=check_chain(31337))
    for _ in range(5):
        assert await ask(pool) == "beta"
    assert wrong.methods == ["eth_chainId"]  # no read was ever sent to it
    assert good.methods.count("eth_chainId") == 1
    assert tally.states == [("alpha", "excluded")]

    wrong.fault = faults.honest
    clock.ahead += 61
    await ask(pool)
    await settle()
    assert tally.states == [("alpha", "excluded"), ("alpha", "admitted")]
    await good.stop()
    assert await ask(pool) == "alpha"


async def test_if_no_endpoint_is_of_the_chain_the_error_says_which_serves_what(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    wrong = await faulty()
    pool = make_pool(wrong.url, verify=check_chain(1))
    for _ in range(2):
        with pytest.raises(UpstreamUnavailable, match="alpha: serves chain id 31337 instead of 1"):
            await ask(pool)
    (row,) = await pool.probe("eth_blockNumber", [])
    assert row.error is not None
    assert "serves chain id 31337 instead of 1" in row.error.message


async def test_callers_that_arrive_together_wait_for_one_check(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    pool = make_pool(node.url, verify=check_chain(31337))
    calls = [pool.call("eth_getBalance", [f"0x{number:040x}", "latest"]) for number in range(50)]
    await asyncio.gather(*calls)
    # The question rides along with the batch once more: see `Identity`.
    assert [len(asked.methods) for asked in node.asked] == [1, 51]
    assert node.methods.count("eth_chainId") == 2
    assert node.methods[0] == "eth_chainId"


@pytest.mark.parametrize("joinable", [True, False])
async def test_an_endpoint_that_does_not_tell_its_chain_costs_no_more_than_the_deadline(
    joinable: bool, faulty: MakeFaulty, make_pool: MakePool
) -> None:
    node = await faulty()
    node.fault = faults.silence
    pool = make_pool(node.url, verify=check_chain(31337))
    started = time.monotonic()
    with pytest.raises((DeadlineExceeded, UpstreamUnavailable)):
        await pool.call(*BALANCE, CallPolicy(joinable=joinable), deadline=started + 0.3)
    assert time.monotonic() - started < VERIFY_SECONDS - 1.0


async def test_an_endpoint_that_does_not_tell_its_chain_leaves_the_others_time(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    silent, good = await faulty(), await faulty()
    silent.fault = faults.silence
    pool = make_pool(silent.url, good.url, verify=check_chain(31337))
    reply = await pool.call(*BALANCE, deadline=time.monotonic() + VERIFY_SECONDS - 0.5)
    assert reply.endpoint == "beta"
    assert set(silent.methods) == {"eth_chainId"}  # the check, and the probe that finds out whether it hangs


HEAD = HeadQuery("eth_blockNumber", [], lambda result: int(result.strip(b'"'), 16))


def stale(by: int) -> faults.Fault:
    return faults.spoil("eth_blockNumber", lambda one: one.update(result=hex(int(one["result"], 16) - by)))


async def test_a_lagging_endpoint_is_passed_over(faulty: MakeFaulty, make_pool: MakePool, tally: Tally) -> None:
    nodes = [await faulty() for _ in range(3)]
    nodes[0].fault = stale(5)
    pool = make_pool(*(node.url for node in nodes), head=HEAD)
    await ask(pool)
    await settle()
    assert pool.heads.head() == 10
    assert pool.heads.of("alpha") == 5
    assert tally.head == 10
    assert {await ask(pool) for _ in range(10)} <= {"beta", "gamma"}
    # Asked for a block that it has, the lagging one is as good as any.
    assert await ask(pool, min_block=3, prefer="alpha") == "alpha"
    assert await ask(pool, min_block=9, prefer="alpha") in ("beta", "gamma")
    # And if it is all there is, it is used.
    await nodes[1].stop()
    await nodes[2].stop()
    assert await ask(pool) == "alpha"


async def test_heads_are_polled_only_while_the_chain_is_asked(
    faulty: MakeFaulty, make_pool: MakePool, clock: Clock
) -> None:
    nodes = [await faulty(), await faulty()]
    pool = make_pool(*(node.url for node in nodes), head=HEAD, block_time=1.0, clock=clock)
    await settle()
    assert [len(node.asked) for node in nodes] == [0, 0]
    await ask(pool)
    await settle()
    assert [node.methods.count("eth_blockNumber") for node in nodes] == [1, 1]
    clock.ahead += 61
    await asyncio.sleep(1.2)
    before = [len(node.asked) for node in nodes]
    await asyncio.sleep(1.2)
    assert [len(node.asked) for node in nodes] == before


async def test_a_pool_of_one_is_never_polled(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    pool = make_pool(node.url, head=HEAD)
    await ask(pool)
    await settle()
    assert node.methods == ["eth_getBalance"]


async def test_an_impatient_item_of_a_batch_does_not_count_against_the_node(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node = await faulty()
    node.fault = faults.delay(0.2)
    pool = make_pool(node.url)
    for _ in range(6):
        now = time.monotonic()
        patient = pool.call("eth_blockNumber", [], deadline=now + 5)
        hasty = pool.call("eth_chainId", [], deadline=now + 0.05)
        results = await asyncio.gather(patient, hasty, return_exceptions=True)
        assert not isinstance(results[0], BaseException)
        assert isinstance(results[1], DeadlineExceeded)
    assert tally.states == []


async def test_closing_tells_the_callers_instead_of_cancelling_them(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.silence
    pool = make_pool(node.url)
    waiting = [asyncio.create_task(pool.call("eth_blockNumber", [])) for _ in range(3)]
    await settle()
    await pool.close()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(result) for result in results] == [UpstreamUnavailable] * 3


async def test_a_silent_endpoint_does_not_delay_what_the_others_say_of_the_head(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    nodes = [await faulty() for _ in range(3)]
    pool = make_pool(*(node.url for node in nodes), head=HEAD)
    nodes[2].fault = faults.silence
    await ask(pool)
    await settle()
    assert pool.heads.head() == 10
    assert pool.heads.of("gamma") is None
