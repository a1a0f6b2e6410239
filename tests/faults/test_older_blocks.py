"""Older state beside the newest, over nodes without an archive, that lie about heights, or fail: none, or an error."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from devnet.evm.artifacts import multicall3
from runtime.settings import Settings
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.contracts.calls import CallGroup, ContractCall
from server.errors import GatewayError, UpstreamUnavailable
from server.upstream import open_session
from tests.faults.simulator import FaultyNode, write_answer
from tests.operations import Operations
from tests.server.chains.evm.nodes import MULTICALL3, Anvil, contracts_of
from tests.tallies import EndpointTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.faults.simulator import Fault, Request

pytestmark = pytest.mark.devnet

CLOCK = CallGroup((ContractCall(MULTICALL3, bytes.fromhex("0f28c97d")),))  # getCurrentBlockTimestamp
# Beyond what nodes may only not have yet.
SECONDS = 30 * 12.0
PRUNED = {"code": -32000, "message": "missing trie node 0ab1 (path ) state 0x12 is not available"}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def node() -> AsyncIterator[Anvil]:
    async with aiohttp.ClientSession() as session:
        started = await Anvil.start(session, "--chain-id", "1", "--number", "20000000", "--timestamp", "1700000000")
        await started.place(MULTICALL3, multicall3())
        await started.call("anvil_mine", "0x28", "0xc")
        yield started
        started.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def fronts(node: Anvil) -> AsyncIterator[tuple[FaultyNode, FaultyNode]]:
    """Two fronts of one node, the favourite first."""
    pair = FaultyNode(node.url), FaultyNode(node.url)
    for front in pair:
        await front.start()
    yield pair
    for front in pair:
        await front.close()


@pytest_asyncio.fixture(loop_scope="session")
async def asked(fronts: tuple[FaultyNode, FaultyNode]) -> AsyncIterator[tuple[Any, EndpointTally]]:
    """How contracts are called through both fronts, which have proved their chain and reported their head."""
    tally = EndpointTally()
    rows = [
        {"label": label, "url": front.url, "weight": weight}
        for label, front, weight in zip(("alpha", "beta"), fronts, (1000, 1), strict=True)
    ]
    settings = Settings.model_validate({"profile": "devnet", "chains": {"ethereum": {"endpoints": rows}}})
    async with open_session() as http:
        chains = Chains.load(settings, http, observer=tally)
        driver: Any = Operations(chains.get("ethereum"))
        await driver.pool.probe("eth_chainId", [])
        contracts = contracts_of(driver)
        await contracts.call_groups([CLOCK], ReadView())
        del tally.requests[:]
        yield contracts, tally
        await chains.close()


async def ask(contracts: Any) -> Any:
    """Return the newest time and what the older block holds, or its failure."""
    view = ReadView()
    found = await asyncio.gather(
        contracts.call_groups([CLOCK], view),
        contracts.call_groups_back([CLOCK], SECONDS, view),
        return_exceptions=True,
    )
    assert not isinstance(found[0], BaseException)
    return int.from_bytes(found[0][0][0].data, "big"), found[1]


def of_old_calls(change: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]) -> Fault:
    """Spoil the answers to calls at a block by number; the others are the node's."""

    async def fault(request: Request) -> None:
        parsed, answer = json.loads(request.body), await request.node_answer()
        calls, answers = (parsed, answer) if isinstance(parsed, list) else ([parsed], [answer])
        by_id = {one["id"]: one for one in answers}
        for call in calls:
            if call["method"] == "eth_call" and call["params"][1] != "latest":
                by_id[call["id"]] = change(call, by_id[call["id"]])
        written = [by_id[call["id"]] for call in calls]
        write_answer(request, json.dumps(written if isinstance(parsed, list) else written[0]).encode())

    return fault


def pruned(call: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call["id"], "error": PRUNED}


def broken(call: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32603, "message": "internal error"}}


async def test_sound_nodes_answer_both_in_one_request(asked: Any) -> None:
    contracts, tally = asked
    now, past = await ask(contracts)
    assert past is not None
    assert now - int.from_bytes(past[1][0][0].data, "big") == SECONDS
    assert tally.requests == ["alpha"]


async def test_the_archive_may_be_behind_another_endpoint(asked: Any, fronts: tuple[FaultyNode, FaultyNode]) -> None:
    contracts, tally = asked
    fronts[0].fault = of_old_calls(pruned)
    now, past = await ask(contracts)
    assert past is not None
    assert now - int.from_bytes(past[1][0][0].data, "big") == SECONDS
    assert tally.requests == ["alpha", "beta"]


async def test_without_any_archive_the_newest_is_answered_alone(
    asked: Any, fronts: tuple[FaultyNode, FaultyNode]
) -> None:
    contracts, tally = asked
    for front in fronts:
        front.fault = of_old_calls(pruned)
    now, past = await ask(contracts)
    assert now > 1_700_000_000
    assert past is None
    assert sorted(tally.requests) == ["alpha", "beta"]
    # For a minute that is known.
    del tally.requests[:]
    assert (await ask(contracts))[1] is None
    assert tally.requests == ["alpha"]


async def test_nodes_that_answer_with_the_newest_state_have_no_older_one(
    asked: Any, fronts: tuple[FaultyNode, FaultyNode], node: Anvil
) -> None:
    """Each execution names its block: what is of another one is no answer, however many answer so."""
    contracts, _ = asked

    async def forget_heights(request: Request) -> None:
        parsed = json.loads(request.body)
        for call in parsed if isinstance(parsed, list) else [parsed]:
            if call["method"] == "eth_call":
                call["params"][1] = "latest"
        write_answer(request, await request.forward(json.dumps(parsed).encode()))

    for front in fronts:
        front.fault = forget_heights
    assert (await ask(contracts))[1] is None


async def test_nodes_that_fail_are_no_missing_archive(asked: Any, fronts: tuple[FaultyNode, FaultyNode]) -> None:
    contracts, _ = asked
    for front in fronts:
        front.fault = of_old_calls(broken)
    failure = (await ask(contracts))[1]
    assert isinstance(failure, GatewayError)
    assert isinstance(failure, UpstreamUnavailable), failure


@pytest.mark.parametrize("front", [0, 1])
async def test_one_node_that_fails_is_passed_over(
    asked: Any, fronts: tuple[FaultyNode, FaultyNode], front: int
) -> None:
    contracts, _ = asked
    fronts[front].fault = of_old_calls(broken)
    assert (await ask(contracts))[1] is not None
