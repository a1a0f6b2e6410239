"""Call traces from real nodes, and from nodes whose tracing is missing, misleading or switched off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from aiohttp import web
from eth_abi import encode
from waypost.v1 import transaction_pb2

from server.chains.capabilities.blocks import TracesTransactions
from server.chains.evm.calls import trace
from server.chains.view import ReadView
from server.errors import InvalidArgument, NotFound, NotSupported, Pending, UpstreamUnavailable
from server.upstream import open_session
from tests.operations import Operations
from tests.server.chains.evm.calls.test_trace import STEPS
from tests.server.chains.evm.log_nodes import LimitedNode
from tests.server.chains.evm.nodes import ALICE, BOB, PROXY, WETH, Anvil, build_world, call_data, driver_on, load
from tests.vendors.nodes import run_vendor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.devnet

UNKNOWN = "0x" + "ab" * 32
DIVER = "0x00000000000000000000000000000000000000d1"
# Calls itself with one less until its argument is 0.
DIVE = bytes.fromhex("60003580156022576001900360005260006000602060006000305af1505b00")
NO_METHOD = {"error": {"code": -32601, "message": "the method does not exist/is not available"}}
ONE_STEP = {"result": STEPS}


class Front(LimitedNode):
    """Stands before a real node and gives `answers[method]` instead of its answer; `methods` are those asked."""

    def __init__(self, target: str, session: Any) -> None:
        super().__init__(target, session)
        self.answers: dict[str, dict[str, Any]] = {}
        self.methods: list[str] = []

    async def _send(self, request: web.Request) -> web.Response:
        body = await request.json()
        if isinstance(body, dict):
            self.methods.append(body["method"])
            if body["method"] in self.answers:
                return web.json_response({"jsonrpc": "2.0", "id": body["id"]} | self.answers[body["method"]])
        return await super()._send(request)

    @property
    def traces(self) -> list[str]:
        return [method for method in self.methods if "trace" in method]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def node(session) -> AsyncIterator[Anvil]:
    anvil = await Anvil.start(
        session, "--chain-id", "1", "--number", "20000000", "--gas-limit", "2000000000", "--hardfork", "prague"
    )
    await build_world(anvil)
    await anvil.place(DIVER, DIVE, is_runtime=True)
    yield anvil
    anvil.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def fronts(node, session) -> AsyncIterator[list[Front]]:
    found = [Front(node.url, session), Front(node.url, session)]
    for front in found:
        await front.start()
    yield found
    for front in found:
        await front.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def driver(fronts, tally):
    async with driver_on(tally, first=fronts[0].url) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def two(fronts, tally):
    async with driver_on(tally, first=fronts[0].url, second=fronts[1].url) as opened:
        yield opened


async def proxied(node: Anvil) -> str:
    receipt = await node.send(PROXY, call_data("transfer(address,uint256)", ALICE, 1), sender=BOB)
    return receipt["transactionHash"]


def shape(answer) -> list[tuple]:
    frames = answer.trace
    return [
        (one.type, one.parent if one.HasField("parent") else None, one.from_address, one.to, one.value, one.input)
        for one in frames
    ]


async def test_a_trace_is_the_nodes_flattened(driver, node, tally):
    wanted = await proxied(node)
    truth = await node.call("debug_traceTransaction", wanted, {"tracer": "callTracer"})
    tally.requests.clear()
    answer = await driver.read_trace(wanted, ReadView())
    assert tally.requests == [1]
    assert answer.tracer == transaction_pb2.TRACER_CALL_TRACER
    outer, inner = answer.trace
    assert (outer.type, outer.from_address, outer.to, outer.input) == ("CALL", BOB, PROXY, truth["input"])
    assert not outer.HasField("parent")
    assert (inner.type, inner.parent, inner.from_address) == ("DELEGATECALL", 0, PROXY)
    assert inner.HasField("parent")
    assert (outer.gas, outer.gas_used) == (str(int(truth["gas"], 16)), str(int(truth["gasUsed"], 16)))
    assert inner.output == truth["calls"][0]["output"]
    assert not outer.HasField("error")


async def test_value_and_failure_are_reported(driver, node):
    deposit = await node.send(WETH, call_data("deposit()"), sender=ALICE, value=12345)
    [frame] = (await driver.read_trace(deposit["transactionHash"], ReadView())).trace
    assert (frame.value, frame.output) == ("12345", "0x")
    call = call_data("transfer(address,uint256)", BOB, 2**200)
    failed = await node.call("eth_sendTransaction", {"from": ALICE, "to": PROXY, "data": call, "gas": "0x30000"})
    frames = (await driver.read_trace(failed, ReadView())).trace
    assert all(frame.HasField("error") for frame in frames)


async def test_the_other_interface_gives_the_same_tree(driver, node, fronts):
    wanted = await proxied(node)
    first = await driver.read_trace(wanted, ReadView())
    fronts[0].answers["debug_traceTransaction"] = NO_METHOD
    second = await driver.read_trace(wanted, ReadView())
    assert (first.tracer, second.tracer) == (
        transaction_pb2.TRACER_CALL_TRACER,
        transaction_pb2.TRACER_TRACE_TRANSACTION,
    )
    assert shape(first) == shape(second)
    assert first.trace[1].output == second.trace[1].output


async def test_what_an_endpoint_lacks_is_learnt_and_forgotten(driver, node, fronts, monkeypatch):
    wanted = await proxied(node)
    fronts[0].answers["debug_traceTransaction"] = NO_METHOD
    await driver.read_trace(wanted, ReadView())
    await driver.read_trace(wanted, ReadView())
    assert fronts[0].traces == ["debug_traceTransaction", "trace_transaction", "trace_transaction"]
    monkeypatch.setattr(driver.of(TracesTransactions), "_clock", lambda: trace.time.monotonic() + trace.LEARNED_SECONDS)
    fronts[0].answers.clear()
    assert (await driver.read_trace(wanted, ReadView())).tracer == transaction_pb2.TRACER_CALL_TRACER


async def test_an_answer_of_another_shape_counts_as_unsupported(driver, node, fronts):
    fronts[0].answers["debug_traceTransaction"] = ONE_STEP
    answer = await driver.read_trace(await proxied(node), ReadView())
    assert answer.tracer == transaction_pb2.TRACER_TRACE_TRANSACTION


async def test_an_endpoint_that_can_is_found_beside_one_that_misleads(two, node, fronts):
    wanted = await proxied(node)
    fronts[0].answers["debug_traceTransaction"] = ONE_STEP
    for _ in range(3):
        assert (await two.read_trace(wanted, ReadView())).tracer == transaction_pb2.TRACER_CALL_TRACER
    assert len(fronts[0].traces) <= 1
    assert len(fronts[1].traces) == 3


async def test_where_nobody_traces_it_says_so(driver, node, fronts):
    wanted = await proxied(node)
    fronts[0].answers |= {"debug_traceTransaction": ONE_STEP, "trace_transaction": NO_METHOD}
    for _ in range(2):
        with pytest.raises(NotSupported, match="debug or trace"):
            await driver.read_trace(wanted, ReadView())
    assert fronts[0].traces == ["debug_traceTransaction", "trace_transaction"]


async def test_a_trace_that_the_node_gave_up_is_no_trace(driver, node, fronts):
    wanted = await proxied(node)
    fronts[0].answers["debug_traceTransaction"] = {"result": {"error": "execution timeout"}}
    fronts[0].answers["trace_transaction"] = {"error": {"code": -32000, "message": "execution timeout"}}
    with pytest.raises(UpstreamUnavailable):
        await driver.read_trace(wanted, ReadView())


async def test_unknown_and_pending_transactions_differ(driver, node):
    """This node answers both with another shape, which must not be taken for what it can do."""
    for _ in range(2):
        with pytest.raises(NotFound):
            await driver.read_trace(UNKNOWN, ReadView())
    await node.call("evm_setAutomine", False)
    held = await node.call("eth_sendTransaction", {"from": ALICE, "to": BOB, "value": "0x1"})
    with pytest.raises(Pending):
        await driver.read_trace(held, ReadView())
    await node.call("evm_setAutomine", True)
    await node.call("anvil_mine", "0x1")
    assert (await driver.read_trace(held, ReadView())).tracer == transaction_pb2.TRACER_CALL_TRACER


@pytest.mark.parametrize("text", ["", "0x12", "ab" * 32, "0x" + "zz" * 32, "0x" + "ab" * 3000])
async def test_what_is_no_hash_is_refused_without_a_node(driver, tally, text):
    with pytest.raises(InvalidArgument) as caught:
        await driver.read_trace(text, ReadView())
    assert caught.value.field == "hash"
    assert tally.requests == []


async def test_hundreds_of_levels_arrive(driver, node):
    """More levels than parsers nest: each is two levels of JSON."""
    dive = await node.send(DIVER, "0x" + encode(["uint256"], [700]).hex(), gas=hex(1_500_000_000))
    answer = await driver.read_trace(dive["transactionHash"], ReadView())
    assert len(answer.trace) > 600
    assert [frame.parent for frame in answer.trace[1:]] == list(range(len(answer.trace) - 1))


@pytest.mark.parametrize("name", ["ganache", "hardhat"])
async def test_other_vendors_nodes_do_not_trace_calls_and_are_not_believed(session, tally, name):
    """ganache answers steps instead of calls, hardhat refuses the tracer; both know receipts and transactions."""
    async with run_vendor(name, session) as vendor, open_session() as http:
        sender, receiver, *_ = await vendor.call("eth_accounts")
        wanted = await vendor.call("eth_sendTransaction", {"from": sender, "to": receiver, "value": "0x5"})
        chains = await load(http, tally, vendor=vendor.url)
        driver = Operations(chains.get("ethereum"))
        with pytest.raises(NotSupported):
            await driver.read_trace(wanted, ReadView())
        receipt = (await driver.read_receipt(wanted, ReadView())).evm
        truth = await vendor.call("eth_getTransactionReceipt", wanted)
        assert (receipt.status, receipt.gas_used, receipt.block_hash) == (1, "21000", truth["blockHash"])
        assert (await driver.read_transaction(wanted, ReadView())).evm.transaction.value == "5"
        with pytest.raises(NotFound):
            await driver.read_receipt(UNKNOWN, ReadView())
        await chains.close()
