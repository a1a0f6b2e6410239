"""How many requests really leave: batches, joined calls, and endpoints that dislike batches."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from server.errors import DeadlineExceeded, RangeTooLarge, UpstreamUnavailable
from server.upstream import CallPolicy, Pool
from tests.faults import simulator as faults

if TYPE_CHECKING:
    from tests.faults.conftest import Holds, Tally

MakeFaulty = Callable[..., Any]
MakePool = Callable[..., Pool]


def soon(seconds: float = 5.0) -> float:
    return time.monotonic() + seconds


async def balance(pool: Pool, number: int, **policy: Any) -> bytes:
    params = [f"0x{number:040x}", "latest"]
    return (await pool.call("eth_getBalance", params, CallPolicy(**policy), deadline=soon())).result


async def ask_many(pool: Pool, count: int) -> None:
    results = await asyncio.gather(*(balance(pool, number) for number in range(count)))
    assert results == [b'"0x0"'] * count


async def test_fifty_reads_of_one_turn_leave_as_one_request(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node = await faulty()
    pool = make_pool(node.url)
    await ask_many(pool, 50)
    assert [len(asked.methods) for asked in node.asked] == [50]
    assert tally.requests == [("alpha", "call", 50)]


async def test_reads_that_waited_already_leave_with_the_others_of_their_moment(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    node = await faulty()
    pool = make_pool(node.url)
    # A read that no other can join goes straight to the batch, one that can be joined goes by a task of its own.
    straight = [balance(pool, number, joinable=False, held=True) for number in range(3)]
    await asyncio.gather(*straight, *(balance(pool, number) for number in range(3, 6)))
    assert [len(asked.methods) for asked in node.asked] == [6]


async def test_a_single_read_leaves_as_a_plain_request(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    pool = make_pool(node.url)
    await balance(pool, 1)
    assert [asked.is_batch for asked in node.asked] == [False]


async def test_batches_are_bounded_in_items_and_bytes(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    pool = make_pool(node.url)
    await ask_many(pool, 250)
    assert sorted(len(asked.methods) for asked in node.asked) == [50, 100, 100]
    node.asked.clear()
    long = "0x" + "00" * 50_000
    calls = [pool.call("web3_sha3", [long + f"{number:02x}"], deadline=soon()) for number in range(10)]
    await asyncio.gather(*calls)
    assert sorted(len(asked.methods) for asked in node.asked) == [2, 2, 2, 2, 2]


async def test_heavy_calls_never_share_a_request_with_cheap_ones(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    pool = make_pool(node.url)
    heavy = [balance(pool, number, heavy=True) for number in range(100, 103)]
    chosen = [balance(pool, number, caller_made=True) for number in range(200, 202)]
    await asyncio.gather(*heavy, *chosen, *(balance(pool, number) for number in range(10)))
    assert sorted(len(asked.methods) for asked in node.asked) == [1, 1, 1, 1, 1, 10]


@pytest.mark.alone("distinguishes half a second from one by the clock")
async def test_a_slow_heavy_call_does_not_hold_up_cheap_ones(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()

    async def slow_when_alone(request: faults.Request) -> None:
        await (faults.honest if request.asked.is_batch else faults.delay(1.0))(request)

    node.fault = slow_when_alone
    pool = make_pool(node.url)
    heavy = asyncio.create_task(balance(pool, 100, heavy=True))
    started = time.monotonic()
    await ask_many(pool, 10)
    assert time.monotonic() - started < 0.5
    assert await heavy == b'"0x0"'


@pytest.mark.parametrize(
    ("fault", "most"),
    [
        (faults.refuse_batches(), 1),
        (faults.refuse_batches("batch too large", over=10), 10),
        (faults.refuse_batches("maximum 7 calls in 1 batch", over=7), 7),
        (faults.refuse_batches("Batch of more than 3 requests are not allowed", over=3), 3),
    ],
    ids=["refused", "halved", "stated", "stated otherwise"],
)
async def test_an_endpoint_that_refuses_batches_is_learnt(
    fault: faults.Fault, most: int, faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node = await faulty()
    node.fault = fault
    pool = make_pool(node.url)
    await ask_many(pool, 40)
    node.asked.clear()
    await ask_many(pool, 40)
    sizes = [len(asked.methods) for asked in node.asked]
    assert sum(sizes) == 40
    assert max(sizes) <= most
    assert tally.states == []
    assert tally.failures == {}


async def test_an_endpoint_that_refuses_batches_by_status_is_served_singly(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    node = await faulty()

    async def singles_only(request: faults.Request) -> None:
        await (faults.status("400 Bad Request", b"no arrays") if request.asked.is_batch else faults.honest)(request)

    node.fault = singles_only
    pool = make_pool(node.url)
    await ask_many(pool, 5)
    await ask_many(pool, 5)
    assert [asked.is_batch for asked in node.asked] == [True] + [False] * 10


async def test_a_refused_batch_is_tried_again_after_ten_minutes(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.refuse_batches()
    skipped = 0.0
    pool = make_pool(node.url, clock=lambda: time.monotonic() + skipped)
    await ask_many(pool, 5)
    node.fault = faults.honest
    node.asked.clear()
    skipped = 601.0
    results = await asyncio.gather(*(pool.call("eth_getBalance", [f"0x{n:040x}", "latest"]) for n in range(5)))
    assert [reply.result for reply in results] == [b'"0x0"'] * 5
    assert [len(asked.methods) for asked in node.asked] == [5]


async def test_a_broken_node_is_not_mistaken_for_one_that_refuses_batches(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    node = await faulty()
    node.fault = faults.error(-32603, "internal error")
    pool = make_pool(node.url)
    results = await asyncio.gather(*(balance(pool, number) for number in range(5)), return_exceptions=True)
    assert all(isinstance(result, UpstreamUnavailable) for result in results)
    node.fault = faults.honest
    node.asked.clear()
    await ask_many(pool, 5)
    assert [len(asked.methods) for asked in node.asked] == [5]


async def test_a_batch_whose_answer_is_too_long_is_asked_in_parts(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node = await faulty()

    async def long_for_many(request: faults.Request) -> None:
        await (faults.huge(33 << 20) if len(request.asked.methods) > 2 else faults.honest)(request)

    node.fault = long_for_many
    pool = make_pool(node.url)
    await ask_many(pool, 8)
    assert tally.failures == {}


@pytest.mark.parametrize(
    ("code", "words"),
    [(-32003, "response too large"), (-32005, "MaxBatchResponseBodySize of 32768KB exceeded")],
    ids=["geth", "nethermind"],
)
async def test_what_the_answers_of_others_left_no_room_for_is_asked_again(
    code: int, words: str, faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node = await faulty()

    async def room_for_three(request: faults.Request) -> None:
        answer = await request.node_answer()
        for one in answer[3:] if isinstance(answer, list) else []:
            del one["result"]
            one["error"] = {"code": code, "message": words}
        faults.write_answer(request, json.dumps(answer).encode())

    node.fault = room_for_three
    pool = make_pool(node.url)
    await ask_many(pool, 20)
    assert tally.failures == {}
    assert tally.states == []


async def test_an_answer_that_is_too_long_by_itself_fails_alone(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node = await faulty()
    long = f"0x{3:040x}"

    async def no_room_for_one(request: faults.Request) -> None:
        answer = await request.node_answer()
        calls = json.loads(request.body)
        for call, one in zip(calls, answer, strict=True) if isinstance(calls, list) else [(calls, answer)]:
            if call["params"][0] == long:
                del one["result"]
                one["error"] = {"code": -32003, "message": "response too large"}
        faults.write_answer(request, json.dumps(answer).encode())

    node.fault = no_room_for_one
    pool = make_pool(node.url)
    results = await asyncio.gather(*(balance(pool, number) for number in range(8)), return_exceptions=True)
    assert [result for result in results if isinstance(result, bytes)] == [b'"0x0"'] * 7
    assert isinstance(results[3], RangeTooLarge)


async def test_asking_once_more_in_parts_gives_a_call_no_more_time(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()

    async def refuse_late_then_say_nothing(request: faults.Request) -> None:
        if request.asked.is_batch:
            await asyncio.sleep(0.5)
            await faults.error(-32600, "batch requests are not supported")(request)
        else:
            await faults.silence(request)

    node.fault = refuse_late_then_say_nothing
    pool = make_pool(node.url)
    started = time.monotonic()
    with pytest.raises((DeadlineExceeded, UpstreamUnavailable)):
        await pool.call_together([("eth_chainId", [])] * 4, CallPolicy(joinable=False), deadline=started + 1.0)
    assert time.monotonic() - started < 2.0


async def test_identical_reads_in_flight_are_one_read(faulty: MakeFaulty, make_pool: MakePool, tally: Tally) -> None:
    node = await faulty()
    node.fault = faults.delay(0.05)
    pool = make_pool(node.url)
    first = asyncio.create_task(balance(pool, 1))
    await asyncio.sleep(0.02)
    results = await asyncio.gather(first, *(balance(pool, 1) for _ in range(20)))
    assert results == [b'"0x0"'] * 21
    assert node.methods == ["eth_getBalance"]
    assert tally.shared == 20


async def test_a_joined_read_survives_its_first_callers_cancellation(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    asked, release = asyncio.Event(), asyncio.Event()

    async def wait_for_release(request: faults.Request) -> None:
        asked.set()
        await release.wait()
        await faults.honest(request)

    node.fault = wait_for_release
    pool = make_pool(node.url)
    first = asyncio.create_task(balance(pool, 1))
    await asked.wait()
    second = asyncio.create_task(balance(pool, 1))
    await asyncio.sleep(0.02)
    first.cancel()
    release.set()
    assert await second == b'"0x0"'
    with pytest.raises(asyncio.CancelledError):
        await first
    assert len(node.asked) == 1


async def test_a_read_that_nobody_waits_for_is_given_up(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.delay(0.1)
    pool = make_pool(node.url)
    only = asyncio.create_task(balance(pool, 1))
    await asyncio.sleep(0.02)
    only.cancel()
    with pytest.raises(asyncio.CancelledError):
        await only
    assert await balance(pool, 1) == b'"0x0"'
    assert len(node.asked) == 2


async def test_each_joined_caller_keeps_its_own_deadline(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.delay(0.3)
    pool = make_pool(node.url)
    patient = asyncio.create_task(pool.call("eth_blockNumber", [], deadline=soon()))
    await asyncio.sleep(0.02)
    with pytest.raises(DeadlineExceeded):
        await pool.call("eth_blockNumber", [], deadline=soon(0.1))
    assert (await patient).result == b'"0xa"'
    hasty = asyncio.create_task(pool.call("eth_blockNumber", [], deadline=soon(0.1)))
    await asyncio.sleep(0.02)
    assert (await pool.call("eth_blockNumber", [], deadline=soon())).result == b'"0xa"'
    with pytest.raises(DeadlineExceeded):
        await hasty


async def test_calls_that_must_not_be_joined_are_not(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    pool = make_pool(node.url)
    await asyncio.gather(*(balance(pool, 1, joinable=False) for _ in range(4)))
    assert node.methods == ["eth_getBalance"] * 4


async def test_every_joined_caller_gets_an_error_of_its_own(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.broken
    pool = make_pool(node.url)
    errors = await asyncio.gather(*(balance(pool, 1) for _ in range(3)), return_exceptions=True)
    assert len({id(error) for error in errors}) == 3
    assert len({str(error) for error in errors}) == 1


async def test_a_lone_caller_is_never_held(faulty: MakeFaulty, make_pool: MakePool, holds: Holds) -> None:
    node = await faulty()
    node.fault = faults.delay(0.03)
    pool = make_pool(node.url)
    for number in range(10):
        await balance(pool, number)
    assert holds.seconds == [0.0] * 10


async def test_reads_in_quick_succession_fold_at_a_distant_node(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally, holds: Holds
) -> None:
    """500 a second: how many requests they fold into is the benchmark's figure, by the clock of a quiet machine."""
    node = await faulty()
    node.fault = faults.delay(0.03)
    pool = make_pool(node.url)
    await balance(pool, 1)
    tasks = []
    chance = random.Random(7)
    started = time.monotonic()
    due = 0.0
    for number in range(500):
        due += chance.expovariate(500)
        wait = started + due - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(balance(pool, 1000 + number)))
    await asyncio.gather(*tasks)
    # The hold follows the node's median, so a window may be a little shorter than the gap after it.
    assert len(tally.requests) <= 501 - 0.9 * holds.joined
