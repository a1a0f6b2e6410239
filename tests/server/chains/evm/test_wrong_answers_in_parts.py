"""One endpoint whose answers cannot be right, where a call is made of several: the others are asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runtime.settings import Settings
from server.chains.capabilities.contracts import CallRequest, CallsContracts
from server.chains.evm.factory import EvmFactory
from server.chains.facts import load_facts
from server.chains.registry import Chains
from server.chains.shared.factory import ask_finalized
from server.chains.view import ReadView
from server.contracts.calls import ContractCall
from server.errors import UpstreamDisagrees, UpstreamUnavailable
from server.upstream import open_session
from tests.operations import Operations
from tests.server.chains.evm.changed import Changed, nodes
from tests.server.chains.evm.nodes import ALICE, BOB, USDC, call_data
from tests.server.chains.evm.test_wrong_answers import AnotherBlock

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server.chains.evm.changed import Change

pytestmark = pytest.mark.devnet

TRANSFER = CallRequest(to=USDC, data=call_data("transfer(address,uint256)", BOB, 0), sender=ALICE)
BALANCE = CallRequest(to=USDC, data=call_data("balanceOf(address)", ALICE))
NAMED = ContractCall(USDC, bytes.fromhex(call_data("balanceOf(address)", ALICE)[2:]), sender=ALICE)


async def favourite(driver: Any, fronts: dict[str, Changed]) -> Changed:
    return fronts[(await driver.pool.call("eth_chainId", [])).endpoint]


@pytest.mark.parametrize("said", ["0xzz", "0x1234", 7, {}, "0x" + "ff" * 64])
async def test_code_is_read_where_the_proof_of_its_block_is_garbled(said, ethereum, session, tally):
    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        truth = await driver.read_code(USDC, ReadView())
        liar = await favourite(driver, fronts)
        liar.changes = {"eth_call": lambda _: said}
        for front in fronts.values():
            front.asked.clear()
        assert await driver.read_code(USDC, ReadView()) == truth
        [other] = [front for front in fronts.values() if front is not liar]
        assert (liar.asked.count("eth_call"), other.asked.count("eth_call")) == (1, 1)
        # Without any proof the code is read at a block that is known.
        for front in fronts.values():
            front.changes = {"eth_call": lambda _: said}
        assert await driver.read_code(USDC, ReadView()) == truth


@pytest.mark.parametrize("said", [{}, "0x", {"number": 7}])
async def test_the_newest_final_block_is_asked_elsewhere(said, ethereum, session, tally):
    # Until it is as deep as two epochs the node reports none.
    await ethereum.call("anvil_mine", "0x41")
    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        [plan] = EvmFactory(load_facts()["ethereum"]).plans()
        truth = await ask_finalized(driver.pool, plan.finalized)
        (await favourite(driver, fronts)).changes = {"eth_getBlockByNumber": lambda _: said}
        assert await ask_finalized(driver.pool, plan.finalized) == truth
        for front in fronts.values():
            front.changes = {"eth_getBlockByNumber": lambda _: said}
        with pytest.raises(UpstreamUnavailable, match="cannot be its answer"):
            await ask_finalized(driver.pool, plan.finalized)


async def test_state_of_another_block_is_not_believed_though_two_of_three_tell_it(ethereum, session, tally):
    head = await ethereum.height()
    async with nodes(tally, ethereum, session, alpha={}, beta={}, gamma={}) as (driver, fronts):
        for number, good in enumerate(fronts.values()):
            for front in fronts.values():
                front.__class__ = Changed if front is good else AnotherBlock
            # Not read before: what is kept would be no test.
            account = "0x" + str(number).rjust(40, "9")
            assert (await driver.read_token_balance(account, USDC, ReadView(block=head))).block == head
        for front in fronts.values():
            front.__class__ = AnotherBlock
        with pytest.raises(UpstreamDisagrees):
            await driver.read_token_balance(BOB, USDC, ReadView(block=head))


def shorten(result: str) -> str:
    """A fold of the block's number and one balance, the balance of no bytes: its length and its word end the answer."""
    assert int(result[-128:-64], 16) == 32
    return result[:-128] + "0" * 128


async def test_a_balance_of_no_bytes_is_asked_elsewhere(ethereum, session, tally):
    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        truth = await driver.read_balance(ALICE, ReadView())
        (await favourite(driver, fronts)).changes = {"eth_call": shorten}
        tally.requests.clear()
        assert await driver.read_balance(ALICE, ReadView()) == truth
        assert tally.requests == [1, 1]
        for front in fronts.values():
            front.changes = {"eth_call": shorten}
        assert await driver.read_balance(ALICE, ReadView()) == truth  # by itself


async def test_a_trace_that_one_endpoint_gives_up_is_asked_of_another(ethereum, session, tally):
    sent = await ethereum.send(USDC, TRANSFER.data, sender=ALICE)
    give_up: dict[str, Change | None] = {
        "debug_traceTransaction": lambda _: {"error": "execution timeout"},
        "trace_transaction": lambda _: {"error": "execution timeout"},
    }
    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        truth = await driver.read_trace(sent["transactionHash"], ReadView())
        (await favourite(driver, fronts)).changes = give_up
        for front in fronts.values():
            front.asked.clear()
        assert await driver.read_trace(sent["transactionHash"], ReadView()) == truth
        assert [front.asked.count("debug_traceTransaction") for front in fronts.values()] == [1, 1]
        for front in fronts.values():
            front.changes = give_up
            front.asked.clear()
        with pytest.raises(UpstreamUnavailable, match="gave the trace up"):
            await driver.read_trace(sent["transactionHash"], ReadView())
        assert [front.asked.count("debug_traceTransaction") for front in fronts.values()] == [1, 1]


@pytest.mark.parametrize("said", [[], {}, "0x", [{"calls": []}]])
async def test_a_simulation_is_made_elsewhere_where_it_is_garbled(said, ethereum, session, tally):
    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        truth = await driver.simulate_transaction(TRANSFER, ReadView())
        assert truth.logs
        (await favourite(driver, fronts)).changes = {"eth_simulateV1": lambda _: said}
        for _ in range(2):
            assert await driver.simulate_transaction(TRANSFER, ReadView()) == truth
        assert not any("debug_traceCall" in front.asked for front in fronts.values())


@pytest.mark.parametrize("said", ["latest", 7, None])
async def test_the_head_for_the_bounds_of_a_range_is_asked_elsewhere(said, ethereum, session, tally):
    query = json.dumps([{"fromBlock": hex(await ethereum.height()), "toBlock": "latest"}]).encode()
    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        truth = await driver.pass_call("eth_getLogs", query, ReadView())
        (await favourite(driver, fronts)).changes = {"eth_blockNumber": lambda _: said}
        driver.pool.heads.head = lambda: None
        assert await driver.pass_call("eth_getLogs", query, ReadView()) == truth
        for front in fronts.values():
            front.changes = {"eth_blockNumber": lambda _: said}
        with pytest.raises(UpstreamUnavailable):
            await driver.pass_call("eth_getLogs", query, ReadView())


@pytest.mark.parametrize("said", ["0xzz", "0x", "0x1234", 7, {}])
@pytest.mark.parametrize("what", ["a call", "a call in a name", "code"])
async def test_where_history_is_unproved_a_garbled_look_is_taken_elsewhere(said, what, hyperliquid, session, tally):
    reads: dict[str, Callable[[Any], Any]] = {
        "a call": lambda driver: driver.simulate_call(BALANCE, ReadView()),
        "a call in a name": lambda driver: driver.capabilities[CallsContracts].call_contracts(
            [NAMED], ReadView(), are_known=False
        ),
        "code": lambda driver: driver.read_code(USDC, ReadView()),
    }
    fronts = {label: Changed(hyperliquid[0].url, session, {}) for label in ("alpha", "beta")}
    for front in fronts.values():
        await front.start()
    try:
        async with open_session() as http:
            endpoints = [{"label": label, "url": front.url} for label, front in fronts.items()]
            chains = {"hyperliquid": {"endpoints": endpoints}}
            loaded = Chains.load(Settings.model_validate({"profile": "devnet", "chains": chains}), http)
            driver: Any = Operations(loaded.get("hyperliquid"))
            await driver.pool.probe("eth_chainId", [])
            truth = await reads[what](driver)
            for liar in fronts.values():
                for front in fronts.values():
                    front.changes = {"eth_call": lambda _: said} if front is liar else {}
                assert await reads[what](driver) == truth
            for front in fronts.values():
                front.changes = {"eth_call": lambda _: said}
            with pytest.raises(UpstreamUnavailable):
                await reads[what](driver)
            await loaded.close()
    finally:
        for front in fronts.values():
            await front.stop()
