"""What endpoints cannot do is learned from their answers, avoided for a while, and never a ban."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from server.errors import ArchiveRequired, NotSupported, UpstreamUnavailable
from server.rpc.pipeline.errors import facts_of
from server.upstream import CallPolicy, Pool
from server.upstream.breaker import FAILURES_TO_OPEN
from server.upstream.endpoint import LEARNED_SECONDS
from tests.faults import simulator as faults

if TYPE_CHECKING:
    from tests.faults.conftest import Clock, Tally

MakeFaulty = Callable[..., Any]
MakePool = Callable[..., Pool]
NOBODY = "0x" + "0" * 40


def pruned_below(block: int, message: str = "missing trie node 0xabc (path )") -> faults.Fault:
    """Refuse state below a block, as a pruned node does."""

    async def fault(request: faults.Request) -> None:
        answer = await request.node_answer()
        asked = faults.json.loads(request.body)
        for one, call in zip(
            answer if isinstance(answer, list) else [answer],
            asked if isinstance(asked, list) else [asked],
            strict=True,
        ):
            tag = call["params"][-1] if call["params"] else "latest"
            if isinstance(tag, str) and tag.startswith("0x") and int(tag, 16) < block:
                one.pop("result", None)
                one["error"] = {"code": -32000, "message": message}
        faults.write_answer(request, faults.json.dumps(answer).encode())

    return fault


async def at(pool: Pool, block: int, method: str = "eth_getBalance") -> str:
    reply = await pool.call(method, [NOBODY, hex(block)], CallPolicy(joinable=False, min_block=block))
    return reply.endpoint


async def test_a_pruned_favourite_is_not_asked_first_each_time_for_old_blocks(
    faulty: MakeFaulty, make_pool: MakePool, clock: Clock, tally: Tally
) -> None:
    pruned, archive = await faulty(), await faulty()
    pruned.fault = pruned_below(8)
    pool = make_pool(pruned.url, archive.url, weights=(1000, 1, 1), clock=clock)
    pool.observe_head("alpha", 1000)
    for number in range(4):
        await pool.call("eth_getBalance", [f"0x{number:040x}", "latest"], CallPolicy(joinable=False))
    before = len(pruned.asked)
    assert [await at(pool, block) for block in (5, 5, 4, 3, 5)] == ["beta"] * 5
    assert len(pruned.asked) == before + 1  # it refused once
    assert await at(pool, 9) == "alpha"  # what it has is still asked of it
    assert await at(pool, 5, "eth_getTransactionCount") == "beta"  # another method: it has to refuse again
    assert len(pruned.asked) == before + 3
    assert tally.states == []

    pruned.fault = faults.honest
    clock.ahead += LEARNED_SECONDS + 1
    assert await at(pool, 5) == "alpha"


async def test_if_it_is_all_there_is_a_pruned_endpoint_is_asked_all_the_same(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    pruned = await faulty()
    pruned.fault = pruned_below(8)
    pool = make_pool(pruned.url)
    pool.observe_head("alpha", 1000)
    for _ in range(2):
        with pytest.raises(ArchiveRequired):
            await at(pool, 5)
    assert len(pruned.asked) == 2
    pruned.fault = faults.honest
    assert await at(pool, 5) == "alpha"


async def test_missing_state_is_reported_with_the_oldest_block_known(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = pruned_below(8)
    pool = make_pool(node.url)
    pool.observe_head("alpha", 1000)
    with pytest.raises(ArchiveRequired) as caught:
        await at(pool, 2)
    assert "oldestBlock" not in facts_of(caught.value)
    await at(pool, 10)
    await at(pool, 9)
    with pytest.raises(ArchiveRequired, match="the oldest block answered lately is 9") as caught:
        await at(pool, 2)
    assert facts_of(caught.value)["oldestBlock"] == "9"


async def test_what_was_read_at_the_head_is_not_reported_as_the_oldest_block(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    node = await faulty()
    node.fault = pruned_below(5)
    pool = make_pool(node.url)
    for block in (5, 10, 9):  # before any head was known, then at it
        await at(pool, block)
        pool.observe_head("alpha", 10)
    with pytest.raises(ArchiveRequired) as caught:
        await at(pool, 2)
    assert "oldestBlock" not in facts_of(caught.value)
    assert "answered lately" not in caught.value.message
    await at(pool, 5)
    with pytest.raises(ArchiveRequired, match="the oldest block answered lately is 5"):
        await at(pool, 2)


async def test_missing_state_is_reported_with_the_oldest_block_that_the_node_names(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    node = await faulty()
    node.fault = pruned_below(8, "pruned history unavailable: requested 2, earliest available 8")
    pool = make_pool(node.url)
    pool.observe_head("alpha", 1000)
    await at(pool, 9)
    with pytest.raises(ArchiveRequired, match="the oldest block kept is 8") as caught:
        await at(pool, 2)
    assert facts_of(caught.value)["oldestBlock"] == "8"


async def test_a_method_that_is_switched_off_is_asked_elsewhere_first(
    faulty: MakeFaulty, make_pool: MakePool, clock: Clock, tally: Tally
) -> None:
    def refuse(one: dict[str, Any]) -> None:
        one.pop("result", None)
        one["error"] = {"code": -32601, "message": "the method does not exist/is not available"}

    without, full = await faulty(), await faulty()
    without.fault = faults.spoil("web3_clientVersion", refuse)
    pool = make_pool(without.url, full.url, weights=(1000, 1, 1), clock=clock)

    async def trace() -> str:
        return (await pool.call("web3_clientVersion", [], CallPolicy(heavy=True, joinable=False))).endpoint

    assert [await trace() for _ in range(5)] == ["beta"] * 5
    assert without.methods.count("web3_clientVersion") == 1
    assert (await pool.call("eth_blockNumber", [])).endpoint == "alpha"
    full.fault = faults.spoil("web3_clientVersion", refuse)
    with pytest.raises(NotSupported):
        await trace()
    without.fault = faults.honest
    clock.ahead += LEARNED_SECONDS + 1
    assert await trace() == "alpha"
    assert tally.states == []


@pytest.mark.parametrize("code", [-32603, -32099, -32000])
async def test_a_node_whose_unknown_errors_others_do_not_have_loses_its_favour(
    code: int, faulty: MakeFaulty, make_pool: MakePool, tally: Tally, clock: Clock
) -> None:
    odd, good = await faulty(), await faulty()
    odd.fault = faults.error(code, "the moon is in the wrong house")
    pool = make_pool(odd.url, good.url, weights=(1000, 1, 1), clock=clock)
    for number in range(3 * FAILURES_TO_OPEN):
        reply = await pool.call("eth_getBalance", [f"0x{number:040x}", "latest"], CallPolicy(joinable=False))
        assert reply.endpoint == "beta"
        clock.ahead += 6 if ("alpha", "open") not in tally.states else 0
    assert tally.states[0] == ("alpha", "open")
    assert len(odd.asked) <= FAILURES_TO_OPEN + 1

    clock.ahead += 40
    odd.fault = faults.honest
    await pool.call("eth_getBalance", [NOBODY, "latest"], CallPolicy(joinable=False))
    await asyncio.sleep(0.1)
    assert ("alpha", "closed") in tally.states


async def test_an_error_that_all_nodes_have_counts_against_none(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    nodes = [await faulty(), await faulty()]
    for node in nodes:
        node.fault = faults.error(-32603, "the moon is in the wrong house")
    pool = make_pool(*(node.url for node in nodes))
    for _ in range(2 * FAILURES_TO_OPEN):
        with pytest.raises(UpstreamUnavailable):
            await pool.call("eth_getBalance", [NOBODY, "latest"], CallPolicy(joinable=False))
    assert tally.states == []


@pytest.mark.parametrize("line", ["200 OK", "500 Internal Server Error"])
async def test_what_callers_make_nodes_stumble_over_counts_against_none(
    line: str, faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    nodes = [await faulty(), await faulty()]
    nodes[0].fault = faults.error(-32603, "panicked at src/evm.rs", line=line)
    pool = make_pool(*(node.url for node in nodes), weights=(1000, 1, 1))
    made_up = CallPolicy(heavy=True, caller_made=True, joinable=False)
    for _ in range(2 * FAILURES_TO_OPEN):
        await pool.call("eth_getBalance", [NOBODY, "latest"], made_up)
    assert tally.states == []
