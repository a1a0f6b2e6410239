"""Calls that travel together: one request, one endpoint, one answer, or the next endpoint for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from server.errors import Reverted, UpstreamUnavailable
from server.upstream import CallPolicy, Pool
from tests.faults import simulator as faults

if TYPE_CHECKING:
    from tests.faults.conftest import Tally

MakeFaulty = Callable[..., Any]
MakePool = Callable[..., Pool]

METHODS = ["eth_blockNumber", "eth_chainId", "eth_blockNumber"]
MADE_UP = CallPolicy(heavy=True, caller_made=True)
# Creation code that reverts with nothing.
REVERTING = {"data": "0x60006000fd"}


def soon() -> float:
    return time.monotonic() + 5.0


async def ask(pool: Pool, policy: CallPolicy = MADE_UP) -> list[bytes]:
    replies = await pool.call_together([(method, []) for method in METHODS], policy, deadline=soon())
    assert len({reply.endpoint for reply in replies}) == 1
    return [reply.result for reply in replies]


@pytest.mark.parametrize("policy", [MADE_UP, CallPolicy(), CallPolicy(joinable=False)])
async def test_a_bundle_is_one_request(
    policy: CallPolicy, faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node = await faulty()
    assert await ask(make_pool(node.url), policy) == [b'"0xa"', b'"0x7a69"', b'"0xa"']
    assert [asked.methods for asked in node.asked] == [METHODS]
    assert tally.requests == [("alpha", "heavy", 3)]


async def test_answers_in_another_order_find_their_calls(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.shuffled
    assert await ask(make_pool(node.url)) == [b'"0xa"', b'"0x7a69"', b'"0xa"']


async def test_an_endpoint_that_refuses_batches_gets_the_calls_one_by_one_in_order(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    node = await faulty()
    node.fault = faults.refuse_batches()
    pool = make_pool(node.url)
    assert await ask(pool) == [b'"0xa"', b'"0x7a69"', b'"0xa"']
    assert [asked.methods for asked in node.asked] == [METHODS, *([method] for method in METHODS)]
    node.asked.clear()
    assert await ask(pool) == [b'"0xa"', b'"0x7a69"', b'"0xa"']
    assert [asked.methods for asked in node.asked] == [[method] for method in METHODS]


@pytest.mark.parametrize("fault", [faults.half_batch, faults.broken, faults.cut_json, faults.wrong_id, faults.twice])
async def test_what_one_endpoint_does_not_answer_whole_the_next_one_answers_whole(
    fault: faults.Fault, faulty: MakeFaulty, make_pool: MakePool
) -> None:
    bad, good = await faulty(), await faulty()
    bad.fault = fault
    pool = make_pool(bad.url, good.url)
    assert await ask(pool) == [b'"0xa"', b'"0x7a69"', b'"0xa"']
    assert [asked.methods for asked in bad.asked] == [METHODS]
    assert [asked.methods for asked in good.asked] == [METHODS]


async def test_a_revert_inside_a_bundle_is_an_answer(faulty: MakeFaulty, make_pool: MakePool, tally: Tally) -> None:
    node, other = await faulty(), await faulty()
    pool = make_pool(node.url, other.url)
    calls: list[tuple[str, list[object]]] = [
        ("eth_blockNumber", []),
        ("eth_call", [REVERTING, "latest"]),
        ("eth_blockNumber", []),
    ]
    with pytest.raises(Reverted):
        await pool.call_together(calls, MADE_UP, deadline=soon())
    assert tally.failures == {}
    assert len(node.asked) + len(other.asked) == 1


async def test_a_revert_counts_though_the_rest_is_missing(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.half_batch
    calls: list[tuple[str, list[object]]] = [("eth_call", [REVERTING, "latest"]), ("eth_blockNumber", [])]
    with pytest.raises(Reverted):
        await make_pool(node.url).call_together(calls, MADE_UP, deadline=soon())


async def test_a_bundle_that_nobody_answers_whole_fails_as_one(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.half_batch
    with pytest.raises(UpstreamUnavailable, match="left out of the answer"):
        await ask(make_pool(node.url))
