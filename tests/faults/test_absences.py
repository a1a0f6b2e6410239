"""What one endpoint does not have is asked of others before it is nowhere."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from waypost.v1 import block_pb2

from runtime.operations import load_operations
from server.errors import NotFound
from server.upstream import CallPolicy, HeadQuery, Pool
from tests.faults import simulator as faults
from tests.faults.test_whole_gateway import gateway_on

if TYPE_CHECKING:
    from pathlib import Path

    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway
    from tests.faults.conftest import Tally

pytestmark = pytest.mark.devnet

MakeFaulty = Callable[..., Any]
MakePool = Callable[..., Pool]

HEAD = HeadQuery("eth_blockNumber", [], lambda result: int(result.strip(b'"'), 16))
DOUBTING = CallPolicy(null_elsewhere=True)
BLOCK = "eth_getBlockByNumber"
BY_NUMBER, BY_HASH = (
    next(one for one in load_operations() if one.name == name) for name in ("getBlockByNumber", "getBlockByHash")
)
LOOK_UPS = (
    BLOCK,
    "eth_getBlockByHash",
    "eth_getTransactionByHash",
    "eth_getTransactionReceipt",
    "debug_traceTransaction",
    "trace_transaction",
)


def lacks(*methods: str) -> faults.Fault:
    """Answer `null` to these methods."""

    async def fault(request: faults.Request) -> None:
        answer = await request.node_answer()
        for one, name in zip(answer if isinstance(answer, list) else [answer], request.asked.methods, strict=True):
            if name in methods:
                one.pop("error", None)
                one["result"] = None
        faults.write_answer(request, json.dumps(answer).encode())

    return fault


def refuses(method: str, code: int, message: str) -> faults.Fault:
    """Answer one method with an error."""

    def change(one: dict[str, Any]) -> None:
        one.pop("result", None)
        one["error"] = {"code": code, "message": message}

    return faults.spoil(method, change)


async def look_up(pool: Pool, number: int, seconds: float = 10.0, **policy: Any) -> Any:
    chosen = CallPolicy(null_elsewhere=True, **policy)
    return await pool.call(BLOCK, [hex(number), False], chosen, deadline=time.monotonic() + seconds)


@pytest.mark.parametrize("good", range(3))
async def test_what_one_endpoint_of_three_has_is_found(good: int, faulty: MakeFaulty, make_pool: MakePool) -> None:
    nodes = [await faulty() for _ in range(3)]
    for place, node in enumerate(nodes):
        node.fault = faults.honest if place == good else lacks(BLOCK)
    pool = make_pool(*(node.url for node in nodes))
    for number in range(10):
        reply = await look_up(pool, number)
        assert json.loads(reply.result)["number"] == hex(number)
    assert all(node.methods.count(BLOCK) <= 10 for node in nodes)


@pytest.mark.parametrize(("endpoints", "asked"), [(1, 1), (2, 2), (3, 3), (5, 5), (7, 5)])
async def test_up_to_five_endpoints_are_asked_once_each(
    endpoints: int, asked: int, faulty: MakeFaulty, make_pool: MakePool
) -> None:
    nodes = [await faulty() for _ in range(endpoints)]
    pool = make_pool(*(node.url for node in nodes))
    reply = await look_up(pool, 0xFFFFFF)
    assert (reply.result, reply.absences) == (b"null", asked)
    assert sorted(node.methods.count(BLOCK) for node in nodes) == [0] * (endpoints - asked) + [1] * asked
    # An error that states it is as good as a null.
    for node in nodes:
        node.asked.clear()
        node.fault = refuses(BLOCK, -32001, "resource not found")
    with pytest.raises(NotFound) as caught:
        await look_up(pool, 0xFFFFFE)
    assert len(caught.value.refusals) == asked
    assert sum(node.methods.count(BLOCK) for node in nodes) == asked


async def test_an_error_of_one_and_a_null_of_another_do_not_hide_what_the_third_has(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    nodes = [await faulty() for _ in range(3)]
    for last in range(3):
        good, null, refusing = (nodes[(last + place) % 3] for place in range(3))
        good.fault, null.fault = faults.honest, lacks(BLOCK)
        refusing.fault = refuses(BLOCK, -32001, "resource not found")
        reply = await look_up(make_pool(*(node.url for node in nodes)), 5)
        assert json.loads(reply.result)["number"] == "0x5"


async def test_endpoints_behind_the_block_are_not_asked(faulty: MakeFaulty, make_pool: MakePool) -> None:
    nodes = [await faulty() for _ in range(3)]
    pool = make_pool(*(node.url for node in nodes))
    for label, block in (("alpha", 5_000), ("beta", 100), ("gamma", 5_000)):
        pool.observe_head(label, block)
    reply = await look_up(pool, 4_000, min_block=4_000)
    assert reply.absences == 2
    assert [node.methods.count(BLOCK) for node in nodes] == [1, 0, 1]


async def test_an_endpoint_that_stumbles_is_asked_once_more(faulty: MakeFaulty, make_pool: MakePool) -> None:
    nodes = [await faulty() for _ in range(3)]
    for node in nodes[:2]:
        node.fault = lacks(BLOCK)
    nodes[2].fault = faults.first(1, faults.broken)
    pool = make_pool(*(node.url for node in nodes), weights=(1000, 1000, 1))
    reply = await look_up(pool, 5)
    assert reply.endpoint == "gamma"
    assert nodes[2].methods.count(BLOCK) == 2


@pytest.mark.parametrize("policy", [{}, {"caller_made": True}])
async def test_an_endpoint_that_stumbled_before_is_asked_once_more(
    policy: dict[str, bool], faulty: MakeFaulty, make_pool: MakePool
) -> None:
    nodes = [await faulty() for _ in range(3)]
    nodes[0].fault = faults.first(1, faults.broken)
    for node in nodes[1:]:
        node.fault = lacks(BLOCK)
    pool = make_pool(*(node.url for node in nodes))
    reply = await look_up(pool, 5, **policy)
    assert reply.endpoint == "alpha"
    assert [node.methods.count(BLOCK) for node in nodes] == [2, 1, 1]


async def test_a_slow_endpoint_is_waited_for(faulty: MakeFaulty, make_pool: MakePool) -> None:
    nodes = [await faulty() for _ in range(3)]
    pool = make_pool(*(node.url for node in nodes), weights=(1000, 1000, 1))
    for number in range(30):
        await look_up(pool, number % 10)
    for node in nodes[:2]:
        node.fault = lacks(BLOCK)
    nodes[2].fault = faults.delay(2.0)
    assert (await look_up(pool, 5)).endpoint == "gamma"


async def test_a_silent_endpoint_does_not_keep_the_answer(faulty: MakeFaulty, make_pool: MakePool) -> None:
    nodes = [await faulty() for _ in range(3)]
    pool = make_pool(*(node.url for node in nodes), weights=(1000, 1000, 1))
    for number in range(10):
        await look_up(pool, number)
    for node in nodes[:2]:
        node.fault = lacks(BLOCK)
    nodes[2].fault = faults.silence
    started = time.monotonic()
    reply = await look_up(pool, 5, 3.0)
    assert (reply.result, reply.absences) == (b"null", 2)
    assert time.monotonic() - started < 3.0


# --- A whole gateway, over both faces ---------------------------------------------------------------------------------


async def ask_everything(gateway: RunningGateway, known: dict[str, Any]) -> dict[str, Any]:
    """Return what becomes of every kind of look-up."""
    number, block_hash, tx = known["number"], known["hash"], known["tx"]
    calls = {
        "block": ("getBlockByNumber", [{"chain": "ethereum", "block": number}]),
        "hash": ("getBlockByHash", [{"chain": "ethereum", "hash": block_hash}]),
        "transactions": ("getBlockTransactions", {"chain": "ethereum", "blockNumber": number}),
        "transaction": ("getTransactionByHash", [{"chain": "ethereum", "hash": tx}]),
        "receipt": ("getReceipt", {"chain": "ethereum", "hash": tx}),
        "trace": ("traceTransaction", {"chain": "ethereum", "hash": tx}),
        "rpc block": ("chainRpc", {"chain": "ethereum", "method": BLOCK, "params": [hex(number), False]}),
        "rpc transaction": (
            "chainRpc",
            {"chain": "ethereum", "method": "eth_getTransactionByHash", "params": [tx]},
        ),
    }
    return {name: await gateway.ask(method, params) for name, (method, params) in calls.items()}


async def find_transaction(gateway: RunningGateway) -> dict[str, Any]:
    """Return a block of the devnet with a transaction in it."""
    head = (await gateway.ask("getBlockHeight", {"chain": "ethereum"}))["result"]["data"]["height"]
    for number in range(head, 0, -1):
        got = await gateway.ask("chainRpc", {"chain": "ethereum", "method": BLOCK, "params": [hex(number), False]})
        block = got["result"]["data"]["result"]
        if block["transactions"]:
            return {"number": number, "hash": block["hash"], "tx": block["transactions"][0]}
    raise AssertionError("the devnet has no transaction")


@pytest.mark.parametrize("good", range(3))
async def test_two_of_three_endpoints_without_it_cost_no_caller_a_block_or_transaction(
    good: int, devnet: Devnet, faulty: MakeFaulty, tmp_path: Path
) -> None:
    nodes = [await faulty(devnet.endpoints["ethereum"]) for _ in range(3)]
    async with gateway_on(tmp_path, *(node.url for node in nodes)) as gateway:
        known = await find_transaction(gateway)
    for place, node in enumerate(nodes):
        node.fault = faults.honest if place == good else lacks(*LOOK_UPS)
    # A gateway that keeps nothing of what it read before.
    async with gateway_on(tmp_path, *(node.url for node in nodes)) as gateway:
        answers = await ask_everything(gateway, known)
        assert {name: answer["error"] for name, answer in answers.items() if "error" in answer} == {}
        assert answers["rpc block"]["result"]["data"]["result"]["hash"] == known["hash"]
        assert answers["rpc transaction"]["result"]["data"]["result"]["hash"] == known["tx"]
        items = [block_pb2.GetBlockByNumberItem(chain="ethereum", block=known["number"])]
        got: Any = await gateway.ask_grpc(BY_NUMBER, block_pb2.GetBlockByNumberRequest(items=items))
        assert got.results[0].value.evm.hash == known["hash"]


@pytest.mark.parametrize("endpoints", [1, 3])
async def test_what_none_has_is_answered_with_how_many_were_asked(
    endpoints: int, devnet: Devnet, faulty: MakeFaulty, tmp_path: Path
) -> None:
    nodes = [await faulty(devnet.endpoints["ethereum"]) for _ in range(endpoints)]
    words = "(1 endpoint was asked)" if endpoints == 1 else f"({endpoints} endpoints were asked)"
    # Beyond the head of everyone: what an endpoint lacks that has not reached it proves nothing.
    by_number = {"block", "transactions"}
    unknown = {"number": 40_000_000, "hash": "0x" + "ab" * 32, "tx": "0x" + "cd" * 32}
    async with gateway_on(tmp_path, *(node.url for node in nodes)) as gateway:
        await gateway.ask("getBlockHeight", {"chain": "ethereum"})
        for node in nodes:
            node.asked.clear()
        answers = await ask_everything(gateway, unknown)
        for name in ("rpc block", "rpc transaction"):
            assert answers.pop(name)["result"]["data"]["result"] is None  # the node's own answer
        for name, answer in answers.items():
            error = answer["error"]
            assert (error["code"], error["data"]["reason"]) == (404, "NOT_FOUND"), name
            assert error["message"].endswith("(1 endpoint was asked)" if name in by_number else words), name
            assert error["data"]["endpointsAsked"] == ("1" if name in by_number else str(endpoints)), name
        counts = [{method: node.methods.count(method) for method in LOOK_UPS} for node in nodes]
        assert sum(count.pop(BLOCK) for count in counts) == 3
        # This node answers it with what is no trace, so the transaction is what is looked up.
        assert sum(count.pop("debug_traceTransaction") for count in counts) == 1
        assert all(count == counts[0] for count in counts), counts
        assert counts[0] == {
            "eth_getBlockByHash": 1,
            "eth_getTransactionByHash": 4,
            "eth_getTransactionReceipt": 1,
            "trace_transaction": 0,
        }
        items = [block_pb2.GetBlockByNumberItem(chain="ethereum", block=40_000_001)]
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await gateway.ask_grpc(BY_NUMBER, block_pb2.GetBlockByNumberRequest(items=items))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        assert info_of(caught.value).metadata["endpointsAsked"] == "1"
        hashes = [block_pb2.GetBlockByHashItem(chain="ethereum", hash="0x" + "ef" * 32)]
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await gateway.ask_grpc(BY_HASH, block_pb2.GetBlockByHashRequest(items=hashes))
        assert info_of(caught.value).metadata["endpointsAsked"] == str(endpoints)


def info_of(error: grpc.aio.AioRpcError) -> error_details_pb2.ErrorInfo:
    """Return the ErrorInfo of a failed call."""
    [raw] = [value for key, value in error.trailing_metadata() or () if key == "grpc-status-details-bin"]
    info = error_details_pb2.ErrorInfo()
    for detail in status_pb2.Status.FromString(raw).details:
        if detail.Is(info.DESCRIPTOR):
            detail.Unpack(info)
    return info


async def test_look_ups_at_the_same_time_are_one(faulty: MakeFaulty, make_pool: MakePool, tally: Tally) -> None:
    nodes = [await faulty() for _ in range(3)]
    pool = make_pool(*(node.url for node in nodes))
    replies = await asyncio.gather(*(look_up(pool, 0xFFFFFF) for _ in range(20)))
    assert {reply.absences for reply in replies} == {3}
    assert [node.methods.count(BLOCK) for node in nodes] == [1, 1, 1]
