"""A chain whose nodes may answer for another block than they were asked for: what has no proof of its block is refused.

Also where the read fails, and where it is asked in a sender's name and so in no execution that returns its block.
"""

from __future__ import annotations

from typing import Any

import pytest

from runtime.settings import Settings
from server.chains.capabilities.contracts import CallRequest, CallsContracts, SimulatesTransactions
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.contracts.calls import ContractCall
from server.errors import NotSupported, Reverted, UpstreamDisagrees, UpstreamUnavailable
from server.upstream import open_session
from tests.operations import Operations
from tests.server.chains.evm.nodes import ALICE, BOB, PROBER, USDC, MovesOn, call_data

pytestmark = pytest.mark.devnet

FAILING = CallRequest(to=PROBER, data=call_data("fail_with_panic()"))
NAMED = ContractCall(USDC, bytes.fromhex(call_data("balanceOf(address)", ALICE)[2:]), sender=ALICE)
NAMED_FAILING = ContractCall(PROBER, bytes.fromhex(call_data("fail_with_panic()")[2:]), sender=ALICE)


@pytest.fixture
def driver(chains: Chains) -> Operations:
    return Operations(chains.get("hyperliquid"))


async def test_a_revert_of_another_block_is_not_passed_off_as_one_of_the_block_asked_for(driver, hyperliquid):
    head = await hyperliquid[0].height()
    with pytest.raises(NotSupported, match="latest state") as caught:
        await driver.simulate_call(FAILING, ReadView(block=head - 1))
    assert caught.value.field
    with pytest.raises(NotSupported, match="latest state"):
        await driver.simulate_transaction(FAILING, ReadView(block=head - 1))
    for view in (ReadView(), ReadView(block=head)):
        with pytest.raises(Reverted):
            await driver.simulate_call(FAILING, view)


async def test_calls_in_a_senders_name_are_of_the_block_that_they_name(driver, hyperliquid):
    node, _ = hyperliquid
    head = await node.height()
    for calls in ([NAMED], [NAMED_FAILING], [NAMED, NAMED_FAILING]):
        with pytest.raises(NotSupported, match="latest state"):
            await driver.capabilities[CallsContracts].call_contracts(calls, ReadView(block=head - 1), are_known=False)
        for view in (ReadView(), ReadView(block=head)):
            outcomes = await driver.capabilities[CallsContracts].call_contracts(calls, view, are_known=False)
            assert view.block == head
            assert [outcome.succeeded for outcome in outcomes] == [call is NAMED for call in calls]
    balance = int(await node.call("eth_call", {"to": USDC, "data": "0x" + NAMED.data.hex()}, "latest"), 16)
    assert int.from_bytes(outcomes[0].data, "big") == balance


async def test_a_chain_that_moves_on_meanwhile_is_read_again(session, hyperliquid, tally):
    node, _ = hyperliquid
    for moves, is_read in ((2, True), (1000, False)):
        front = MovesOn(node.url, session, moves)
        await front.start()
        async with open_session() as http:
            endpoints = {"hyperliquid": {"endpoints": [{"label": "local", "url": front.url}]}}
            loaded = Chains.load(Settings.model_validate({"profile": "devnet", "chains": endpoints}), http)
            caller = loaded.capability("hyperliquid", CallsContracts)
            view = ReadView()
            if is_read:
                assert (await caller.call_contracts([NAMED], view, are_known=False))[0].succeeded
                assert view.block == await node.height()
            else:
                with pytest.raises((UpstreamDisagrees, UpstreamUnavailable)):
                    await caller.call_contracts([NAMED], view, are_known=False)
            await loaded.close()
        await front.stop()


async def test_a_failed_simulation_names_its_block(chains, ethereum, hyperliquid, session, tally):
    """Also where the nodes have no interface for simulations but plain calls."""
    for slug, node in (("ethereum", ethereum), ("hyperliquid", hyperliquid[0])):
        driver: Any = Operations(chains.get(slug))
        driver.of(SimulatesTransactions)._lacking = dict.fromkeys(("eth_simulateV1", "debug_traceCall"), float("inf"))
        reply = await driver.simulate_transaction(FAILING, ReadView())
        assert (reply.succeeded, reply.block) == (False, await node.height())
    reply = await Operations(chains.get("ethereum")).simulate_transaction(
        CallRequest(to=USDC, data=call_data("transfer(address,uint256)", BOB, 2**200), sender=ALICE), ReadView()
    )
    assert (reply.succeeded, reply.block) == (False, await ethereum.height())
