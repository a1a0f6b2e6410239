"""Simulated transactions on real nodes: through each interface, with what each of them cannot report."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from eth_abi import encode

from devnet.evm.artifacts import original
from devnet.evm.marketplace import safe_transaction
from server.chains.capabilities.contracts import CallRequest, SimulatesTransactions
from server.chains.evm.calls import simulation
from server.chains.view import ReadView
from server.contracts.reverts import describe_revert
from server.errors import ArchiveRequired, NotFound, NotSupported, Reverted, UpstreamUnavailable
from server.upstream import open_session
from tests.operations import Operations
from tests.server.chains.evm.nodes import (
    ALICE,
    BOB,
    GAS_BURNER,
    NOBODY,
    OWNER,
    PROBER,
    PROXY,
    USDC,
    Answers,
    Anvil,
    call_data,
    driver_on,
    load,
)
from tests.vendors.nodes import run_vendor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.devnet


SIMULATE, TRACE = "eth_simulateV1", "debug_traceCall"
WALLET = "0x00000000000000000000000000000000000000E1"

# What a node is made to lack, and the interface that is then left.
INTERFACES: dict[str, dict[str, Any]] = {
    "simulate": {},
    "trace": {SIMULATE: None},
    "call": {SIMULATE: None, TRACE: None},
}


@asynccontextmanager
async def lacking(
    node: Anvil, session: Any, tally: Any, results: dict[str, Any]
) -> AsyncIterator[tuple[Operations, Answers]]:
    """A driver on a node whose answers to some methods are these (None: it lacks the method)."""
    front = Asked(node.url, session, results)
    await front.start()
    async with driver_on(tally, local=front.url) as driver:
        yield driver, front
    await front.stop()


class Asked(Answers):
    """Keeps what is asked."""

    def __init__(self, target: str, session: Any, results: dict[str, Any]) -> None:
        super().__init__(target, session, results)
        self.asked: list[str] = []

    async def _one(self, item: dict[str, Any]) -> Any:
        self.asked.append(item["method"])
        return await super()._one(item)


@pytest_asyncio.fixture(params=INTERFACES, loop_scope="session")
async def interface(request: pytest.FixtureRequest, ethereum: Anvil, session: Any, tally: Any) -> AsyncIterator[Any]:
    async with lacking(ethereum, session, tally, INTERFACES[request.param]) as (driver, _):
        yield request.param, driver


def transfer(amount: int, sender: str = ALICE, token: str = USDC) -> CallRequest:
    return CallRequest(to=token, data=call_data("transfer(address,uint256)", BOB, amount), sender=sender)


async def test_a_success_is_reported_as_far_as_the_node_can(interface, ethereum):
    name, driver = interface
    call = transfer(5)
    truth = int(await ethereum.call("eth_estimateGas", {"from": ALICE, "to": USDC, "data": call.data}), 16)
    reply = await driver.simulate_transaction(call, ReadView())
    assert (reply.succeeded, reply.data, reply.reason) == (True, (1).to_bytes(32), None)
    assert reply.block == await ethereum.height()
    assert reply.gas == truth
    if name == "call":
        assert reply.logs is None
    else:
        (log,) = reply.logs
        assert log.address == USDC
        assert log.topics[1:] == (f"0x{int(ALICE, 16):064x}", f"0x{int(BOB, 16):064x}")
        assert int(log.data, 16) == 5


async def test_nothing_is_sent(interface, ethereum):
    _, driver = interface
    before = await ethereum.height()
    for _ in range(2):
        await driver.simulate_transaction(transfer(5), ReadView())
    assert await ethereum.height() == before


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (transfer(5, NOBODY), "execution reverted: transfer amount exceeds balance"),
        (
            CallRequest(to=PROBER, data=call_data("fail_with_panic()")),
            "execution reverted: panic 0x11 (arithmetic overflow or underflow)",
        ),
        (
            CallRequest(to=PROBER, data=call_data("fail_with_code(uint256)", 77)),
            describe_revert(bytes.fromhex(call_data("Failed(uint256)", 77)[2:])),
        ),
        (CallRequest(to=PROBER, data="0xdeadbeef"), "execution reverted without a reason"),
    ],
)
async def test_a_revert_is_an_outcome_with_its_reason(interface, ethereum, call, reason):
    name, driver = interface
    reply = await driver.simulate_transaction(call, ReadView())
    assert reply.block == await ethereum.height()
    assert (reply.succeeded, reply.reason, reply.logs) == (False, reason, ())
    assert (reply.gas is None) == (name == "call")
    assert reply.gas is None or reply.gas > 21_000


async def test_running_out_of_gas_is_an_outcome(interface):
    _, driver = interface
    reply = await driver.simulate_transaction(CallRequest(to=GAS_BURNER, data="0x"), ReadView())
    assert (reply.succeeded, reply.logs) == (False, ())
    assert reply.reason == "the call runs out of gas"


async def test_a_failure_that_no_interface_explains_is_reported_as_such(ethereum, session, tally):
    unexplained = [{"calls": [{"status": "0x0", "gasUsed": "0x5208", "returnData": "0x"}]}]
    async with lacking(ethereum, session, tally, {SIMULATE: unexplained, "eth_call": "nothing"}) as (driver, _):
        reply = await driver.simulate_transaction(transfer(1), ReadView())
        assert (reply.succeeded, reply.reason) == (False, "the call fails without a reason")


async def test_a_sender_that_cannot_pay_is_refused(interface):
    _, driver = interface
    with pytest.raises(Reverted, match="cannot pay"):
        await driver.simulate_transaction(CallRequest(to=ALICE, data="0x", sender=NOBODY, value=2**200), ReadView())


async def test_value_arrives_and_heights_are_kept(interface, ethereum):
    _, driver = interface
    call = CallRequest(to=PROBER, data=call_data("deposit()"), sender=ALICE, value=10**18)
    reply = await driver.simulate_transaction(call, ReadView())
    assert int.from_bytes(reply.data) == 10**18
    built = ethereum.blocks["built"]
    assert (await driver.simulate_transaction(call, ReadView(block=built))).block == built
    with pytest.raises(NotFound) as caught:
        await driver.simulate_transaction(call, ReadView(block=built + 1000))
    assert caught.value.field == "height"
    with pytest.raises(ArchiveRequired):
        await driver.simulate_transaction(call, ReadView(block=19_000_000))


async def test_one_request_at_the_newest_block(driver, requests):
    with requests([3]):
        await driver.simulate_transaction(transfer(1), ReadView())


@pytest.mark.parametrize(
    ("left", "asked"),
    [
        ("simulate", [SIMULATE]),
        ("trace", [SIMULATE, TRACE]),
        ("call", [SIMULATE, TRACE, "eth_call", "eth_estimateGas"]),
    ],
)
async def test_the_interface_that_tells_most_is_asked_first(ethereum, session, tally, left, asked):
    async with lacking(ethereum, session, tally, INTERFACES[left]) as (driver, front):
        await driver.simulate_transaction(transfer(1), ReadView())
        found = [
            method for method in front.asked if method not in ("eth_blockNumber", "eth_getBlockByNumber", "eth_chainId")
        ]
        assert list(dict.fromkeys(found)) == asked


async def test_logs_of_calls_inside_calls_are_in_the_order_of_the_chain(ethereum, session, tally):
    """A Safe that adds an owner: the log of the inner call comes before that of the outer one."""
    await ethereum.place(WALLET, original("old_safe_proxy"), encode(["address"], [WALLET[:-1] + "2"]))
    await ethereum.place(WALLET[:-1] + "2", original("old_safe"))
    stranger = "0x" + "00" * 20
    signature = "setup(address[],uint256,address,bytes,address,address,uint256,address)"
    await ethereum.call("anvil_setStorageAt", WALLET, "0x0", "0x" + "00" * 12 + WALLET[2:-1] + "2")
    await ethereum.send(WALLET, call_data(signature, [OWNER], 1, stranger, b"", stranger, stranger, 0, stranger))
    added = bytes.fromhex(call_data("addOwnerWithThreshold(address,uint256)", BOB, 1)[2:])
    call = CallRequest(to=WALLET, data="0x" + safe_transaction(WALLET, added).hex(), sender=OWNER)
    replies = []
    for results in (INTERFACES["simulate"], INTERFACES["trace"]):
        async with lacking(ethereum, session, tally, results) as (driver, _):
            replies.append(await driver.simulate_transaction(call, ReadView()))
    assert replies[0] == replies[1]
    receipt = await ethereum.send(WALLET, call.data)
    assert int(receipt["gasUsed"], 16) == replies[0].gas
    assert [(log["topics"], log["data"]) for log in receipt["logs"]] == [
        (list(log.topics), log.data) for log in replies[0].logs
    ]
    assert len(receipt["logs"]) == 2


async def test_logs_of_a_delegated_call_bear_the_address_of_the_caller(interface):
    name, driver = interface
    if name != "call":
        reply = await driver.simulate_transaction(transfer(1, BOB, PROXY), ReadView())
        assert [log.address for log in reply.logs] == [PROXY]


async def test_what_a_node_lacks_is_learnt_and_forgotten(ethereum, session, tally, monkeypatch):
    async with lacking(ethereum, session, tally, INTERFACES["call"]) as (driver, front):
        await driver.simulate_transaction(transfer(1), ReadView())
        assert {SIMULATE, TRACE} <= set(front.asked)
        front.asked.clear()
        await driver.simulate_transaction(transfer(2), ReadView())
        assert not {SIMULATE, TRACE} & set(front.asked)
        front.results.clear()
        simulator = driver.of(SimulatesTransactions)
        later = simulator._clock() + simulation.LEARNED_SECONDS + 1
        monkeypatch.setattr(simulator, "_clock", lambda: later)
        reply = await driver.simulate_transaction(transfer(3), ReadView())
        assert reply.logs is not None


@pytest.mark.parametrize("strange", [[], [{"calls": []}], {"structLogs": [], "gas": 1}, "0x", None, 7])
async def test_an_answer_of_another_shape_is_no_answer(ethereum, session, tally, strange):
    results = {SIMULATE: strange, TRACE: strange} if strange is not None else {SIMULATE: {"x": 1}, TRACE: [None]}
    async with lacking(ethereum, session, tally, results) as (driver, _):
        reply = await driver.simulate_transaction(transfer(1), ReadView())
        assert (reply.succeeded, reply.logs) == (True, None)


async def test_a_call_that_no_interface_runs_teaches_nothing(ethereum, session, tally):
    """What the nodes refuse altogether proves nothing about the interfaces: the next call asks for them again."""
    results = {SIMULATE: None, TRACE: None, "eth_call": "nothing"}
    async with lacking(ethereum, session, tally, results) as (driver, front):
        with pytest.raises(UpstreamUnavailable):
            await driver.simulate_transaction(transfer(1), ReadView())
        front.results.clear()
        assert (await driver.simulate_transaction(transfer(2), ReadView())).logs is not None


async def test_one_endpoint_that_has_it_is_enough(ethereum, session, tally):
    front = Asked(ethereum.url, session, INTERFACES["call"])
    await front.start()
    async with open_session() as http:
        chains = await load(http, tally, lacking=front.url, able=ethereum.url)
        for amount in range(1, 6):
            reply = await Operations(chains.get("ethereum")).simulate_transaction(transfer(amount), ReadView())
            assert (reply.succeeded, len(reply.logs)) == (True, 1)
        await chains.close()
    await front.stop()


async def test_where_history_is_unproved(chains, hyperliquid):
    """The nodes ignore the block of a call: the newest state is simulated on, and no other is pretended."""
    node, _ = hyperliquid
    driver = Operations(chains.get("hyperliquid"))
    reply = await driver.simulate_transaction(transfer(1), ReadView())
    assert (reply.succeeded, reply.block, len(reply.logs)) == (True, await node.height(), 1)
    with pytest.raises(NotSupported, match="latest state"):
        await driver.simulate_transaction(transfer(1), ReadView(block=await node.height() - 1))


@pytest.mark.parametrize("vendor", ["hardhat", "ganache"])
async def test_nodes_of_other_vendors(vendor, session, tally):
    """Neither has `eth_simulateV1`, nor a `debug_traceCall` that reports calls: what plain calls show is answered."""
    creation = "0x" + (original("erc20") + encode(["string", "string"], ["Vendor", "VND"])).hex()
    async with run_vendor(vendor, session) as node, open_session() as http:
        sender, other = (await node.call("eth_accounts"))[:2]
        sent = {"from": sender, "data": creation, "gas": hex(4_000_000)}
        token = (await node.mined(await node.call("eth_sendTransaction", sent)))["contractAddress"]
        chains = await load(http, tally, vendor=node.url)
        driver = Operations(chains.get("ethereum"))
        approval = CallRequest(to=token, data=call_data("approve(address,uint256)", other, 5), sender=sender)
        reply = await driver.simulate_transaction(approval, ReadView())
        assert (reply.succeeded, int.from_bytes(reply.data), reply.logs, reply.reason) == (True, 1, None, None)
        estimate = await node.call("eth_estimateGas", {"from": sender, "to": token, "data": approval.data})
        assert reply.gas == int(estimate, 16)
        assert reply.block == await node.height()
        failing = CallRequest(to=token, data=call_data("transfer(address,uint256)", other, 1), sender=sender)
        reply = await driver.simulate_transaction(failing, ReadView())
        assert (reply.succeeded, reply.gas, reply.logs) == (False, None, ())
        assert reply.reason == "execution reverted: ERC20: transfer amount exceeds balance"
        assert reply.block == await node.height()
        tally.requests.clear()
        await driver.simulate_transaction(approval, ReadView())
        # The call between its two looks, then the estimate at that block: the other interfaces are not asked again.
        assert sum(tally.requests) == 4
        await chains.close()
