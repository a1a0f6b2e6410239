"""Nodes that refuse folded reads, for their size, their gas or altogether: readers get their answers all the same."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from server.chains.evm.chain import EvmChain
from server.chains.evm.reads.multicall import Call, eth_balance_call
from server.chains.evm.reads.planner import ReadPlanner
from server.chains.facts import load_facts
from server.chains.view import ReadView
from tests.faults import simulator as faults
from tests.server.chains.evm.nodes import ALICE, USDC, Anvil, build_world, call_data

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from server.upstream import Pool
    from tests.faults.conftest import Holds, Tally

pytestmark = pytest.mark.devnet

CHAIN = EvmChain.of(load_facts()["ethereum"])
READS = 60


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def world() -> AsyncIterator[Anvil]:
    """A node with Multicall3 and tokens."""
    async with aiohttp.ClientSession() as session:
        node = await Anvil.start(session, "--chain-id", "1", "--number", "20000000")
        await build_world(node)
        yield node
        node.stop()


def calls() -> list[Call]:
    """Reads with an answer each of their own."""
    decimals = Call(bytes.fromhex(USDC[2:]), bytes.fromhex(call_data("decimals()")[2:]))
    accounts = [(0x7000 + index).to_bytes(20, "big") for index in range(READS - 2)]
    balances = [eth_balance_call(CHAIN.multicall, account) for account in (*accounts, bytes.fromhex(ALICE[2:]))]
    return [decimals, *balances]


def refuse(matches: Callable[[dict[str, Any]], bool], code: int, message: str) -> faults.Fault:
    """Refuse the calls that match, whatever else is in the request; everything else is the node's own answer."""

    async def fault(request: faults.Request) -> None:
        asked = json.loads(request.body)
        answer = await request.node_answer()
        pairs = zip(asked, answer, strict=True) if isinstance(asked, list) else [(asked, answer)]
        for call, one in pairs:
            if matches(call):
                one.pop("result", None)
                one["error"] = {"code": code, "message": message}
        faults.write_answer(request, json.dumps(answer).encode())

    return fault


def is_longer_than(reads: int) -> Callable[[dict[str, Any]], bool]:
    def matches(call: dict[str, Any]) -> bool:
        return call["method"] == "eth_call" and len(call["params"][0].get("data", "")) > 2 * (784 + 230 * reads)

    return matches


def is_multicall(call: dict[str, Any]) -> bool:
    return call["method"] == "eth_call" and call["params"][0].get("data", "").startswith("0x82ad56cb")


TOO_MUCH = [
    (-32000, "out of gas"),
    (-32000, "execution timeout"),
    (-32003, "response too large"),
    (-32000, "gas required exceeds allowance (50000000)"),
    (-32600, "request entity too large"),
]


async def read_both_ways(pool: Pool) -> None:
    planner = ReadPlanner(CHAIN, pool)
    wanted = calls()
    view = ReadView()
    alone = await planner.read_alone(view, wanted)
    assert int.from_bytes(alone[0].data, "big") == 6
    assert int.from_bytes(alone[-1].data, "big") > 0
    assert all(outcome.success for outcome in alone)
    assert view.block is not None
    shared = await asyncio.gather(*(planner.read_shared(ReadView(), [call]) for call in wanted))
    assert [outcomes[0] for outcomes in shared] == alone
    await planner.close()


@pytest.mark.parametrize(("code", "message"), TOO_MUCH)
@pytest.mark.parametrize("most", [1, 7, 31])
async def test_executions_that_are_too_much_for_a_node_are_halved(
    code: int, message: str, most: int, world: Anvil, faulty: Any, make_pool: Callable[..., Pool], tally: Tally
) -> None:
    node = await faulty(world.url)
    node.fault = refuse(is_longer_than(most), code, message)
    await read_both_ways(make_pool(node.url))
    assert tally.states == []
    assert len(node.asked) < 40  # halves of one turn leave together, so the requests grow with the depth only


@pytest.mark.parametrize(
    ("code", "message"), [(-32601, "method not supported"), (-32602, "Invalid params"), (3, "execution reverted")]
)
async def test_a_node_that_refuses_folded_reads_is_read_one_by_one(
    code: int, message: str, world: Anvil, faulty: Any, make_pool: Callable[..., Pool], tally: Tally
) -> None:
    node = await faulty(world.url)
    node.fault = refuse(is_multicall, code, message)
    await read_both_ways(make_pool(node.url))
    assert tally.states == []


async def test_a_node_that_runs_no_multicall_is_not_asked_to_each_time(
    world: Anvil, faulty: Any, make_pool: Callable[..., Pool]
) -> None:
    node = await faulty(world.url)
    node.fault = refuse(is_multicall, -32601, "method not supported")
    planner = ReadPlanner(CHAIN, make_pool(node.url))
    for _ in range(3):
        assert (await planner.read_alone(ReadView(), calls()[:1]))[0].success
    bodies = [method for method in node.methods if method == "eth_call"]
    assert len(bodies) == 4  # once in vain, then three reads


NOTHING = faults.spoil("eth_call", lambda one: one.update(result="0x"))


@pytest.mark.parametrize("rest", [0, 1, 2])
async def test_an_endpoint_whose_calls_return_nothing_is_contradicted_by_the_others(
    rest: int, world: Anvil, faulty: Any, make_pool: Callable[..., Pool]
) -> None:
    fronts = [await faulty(world.url) for _ in range(3)]
    fronts[0].fault = fronts[rest].fault = NOTHING
    planner = ReadPlanner(CHAIN, make_pool(*(front.url for front in fronts), weights=(1000, 2, 1)))
    wanted = calls()[:2]
    for read in (planner.read_alone, planner.read_shared, planner.read_alone):
        for front in fronts:
            front.asked.clear()
        outcomes = await read(ReadView(), wanted)
        assert int.from_bytes(outcomes[0].data, "big") == 6
    if rest == 0:
        # One endpoint's word does not stop the chain's reads from being folded.
        assert sum(front.methods.count("eth_call") for front in fronts) <= 2
    await planner.close()


async def test_one_by_one_too_nothing_is_believed_of_all_endpoints_alone(
    world: Anvil, faulty: Any, make_pool: Callable[..., Pool]
) -> None:
    fronts = [await faulty(world.url) for _ in range(3)]
    fronts[0].fault = NOTHING
    planner = ReadPlanner(CHAIN, make_pool(*(front.url for front in fronts), weights=(1000, 2, 1)))
    no_code = Call(bytes.fromhex("77" * 20), b"")
    decimals = calls()[0]._replace(sender=bytes.fromhex(ALICE[2:]))
    read, empty = await planner.read_alone(ReadView(), [decimals, no_code])
    assert int.from_bytes(read.data, "big") == 6
    assert (empty.success, empty.data) == (True, b"")
    await planner.close()


async def test_half_of_the_folds_of_a_batch_may_fail(world: Anvil, faulty: Any, make_pool: Callable[..., Pool]) -> None:
    half, good = await faulty(world.url), await faulty(world.url)
    half.fault = faults.half_batch
    await read_both_ways(make_pool(half.url, good.url))


async def test_reads_in_quick_succession_share_requests_to_a_far_node_and_lone_ones_do_not_wait(
    world: Anvil, faulty: Any, make_pool: Callable[..., Pool], holds: Holds
) -> None:
    node = await faulty(world.url)
    node.fault = faults.delay(0.05)
    planner = ReadPlanner(CHAIN, make_pool(node.url))
    wanted = calls()
    for call in wanted[:5]:
        await planner.read_shared(ReadView(), [call])
    assert len(node.asked) == 5
    assert holds.seconds == [0.0] * 5

    node.asked.clear()
    holds.seconds.clear()
    reading = []
    for call in wanted:
        reading.append(asyncio.create_task(planner.read_shared(ReadView(), [call])))
        await asyncio.sleep(0.002)
    outcomes = await asyncio.gather(*reading)
    assert all(one.success for (one,) in outcomes)
    assert len(node.asked) <= len(wanted) - holds.joined
    assert all(methods.methods == ["eth_call"] for methods in node.asked)  # folded, not only batched
    await planner.close()
