"""Callers' own calls: results, reverts with their reasons, gas."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from runtime.settings import Settings
from server.chains.capabilities.contracts import CallRequest
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import ArchiveRequired, InvalidArgument, NotFound, NotSupported, Reverted, UpstreamDisagrees
from server.rpc.pipeline.errors import facts_of
from server.upstream import open_session
from tests.operations import Operations
from tests.server.chains.evm.nodes import (
    ALICE,
    BOB,
    GAS_BURNER,
    NOBODY,
    OWNER,
    PROBER,
    REVERT_BOMBER,
    USDC,
    MovesOn,
    call_data,
)

pytestmark = pytest.mark.devnet


def prober(signature: str, *arguments: object, **options) -> CallRequest:
    return CallRequest(to=PROBER, data=call_data(signature, *arguments), **options)


async def test_a_call_returns_raw_data_and_its_block_in_one_request(driver, ethereum, requests):
    with requests([3]):
        result = await driver.simulate_call(prober("answer()"), ReadView())
    assert result.data == (42).to_bytes(32, "big")
    assert result.block == await ethereum.height()


async def test_the_call_runs_at_the_block_that_the_answer_names(driver, ethereum):
    for block in (None, ethereum.blocks["built"]):
        result = await driver.simulate_call(prober("block_number()"), ReadView(block=block))
        assert int.from_bytes(result.data, "big") == result.block
        assert block in (None, result.block)


async def test_sender_and_value_arrive(driver):
    result = await driver.simulate_call(prober("deposit()", sender=ALICE.lower(), value=10**18), ReadView())
    assert int.from_bytes(result.data, "big") == 10**18
    transfer = CallRequest(to=USDC, data=call_data("transfer(address,uint256)", BOB, 1), sender=ALICE)
    assert int.from_bytes((await driver.simulate_call(transfer, ReadView())).data, "big") == 1


async def test_nothing_is_submitted(driver, ethereum):
    before = await ethereum.height()
    await driver.simulate_call(prober("say(uint256,string)", 7, "hello"), ReadView())
    number = await ethereum.call("eth_call", {"to": PROBER, "data": call_data("number()")}, "latest")
    assert (int(number, 16), await ethereum.height()) == (0, before)


async def test_an_account_without_code_returns_nothing(driver):
    assert (await driver.simulate_call(CallRequest(to=NOBODY, data="0x"), ReadView())).data == b""


@pytest.mark.parametrize(
    ("call", "message", "selector"),
    [
        (prober("fail_with_reason(string)", "out of luck"), "execution reverted: out of luck", "0x08c379a0"),
        (
            prober("fail_with_panic()"),
            "execution reverted: panic 0x11 (arithmetic overflow or underflow)",
            "0x4e487b71",
        ),
        (prober("fail_silently()"), "execution reverted without a reason", None),
        (prober("no_such_function()"), "execution reverted without a reason", None),
    ],
)
async def test_reverts_have_their_reason(driver, call, message, selector):
    for ask in (driver.simulate_call, driver.estimate_gas):
        with pytest.raises(Reverted) as caught:
            await ask(call, ReadView())
        assert caught.value.message == message
        assert facts_of(caught.value).get("selector") == selector


async def test_a_custom_error_has_selector_and_data(driver):
    with pytest.raises(Reverted) as caught:
        await driver.simulate_call(prober("fail_with_code(uint256)", 77), ReadView())
    selector = call_data("Failed(uint256)", 77)[:10]
    assert caught.value.message == f"execution reverted with custom error {selector} and data 0x{77:064x}"
    assert facts_of(caught.value) == {"selector": selector, "data": call_data("Failed(uint256)", 77)}


async def test_a_revert_bomb_is_cut_to_size(driver):
    with pytest.raises(Reverted) as caught:
        await driver.simulate_call(CallRequest(to=REVERT_BOMBER, data="0x"), ReadView())
    assert len(facts_of(caught.value)["data"]) == 2 + 2 * 1024
    assert facts_of(caught.value)["dataLength"] == "1000000"


async def test_running_out_of_gas_is_an_answer(driver):
    with pytest.raises(Reverted, match="runs out of gas"):
        await driver.simulate_call(CallRequest(to=GAS_BURNER, data="0x"), ReadView())


async def test_a_sender_that_cannot_pay_is_reported_so(driver):
    call = CallRequest(to=ALICE, data="0x", sender=NOBODY, value=2**200)
    with pytest.raises(Reverted, match="cannot pay"):
        await driver.simulate_call(call, ReadView())


async def test_gas_of_a_transfer_and_of_a_call(driver, ethereum, requests):
    with requests([3]):
        transfer = await driver.estimate_gas(CallRequest(to=BOB, sender=ALICE, value=1), ReadView())
    assert transfer.gas == 21_000
    assert transfer.block == await ethereum.height()
    call = prober("say(uint256,string)", 1, "x", sender=ALICE)
    expected = int(await ethereum.call("eth_estimateGas", {"from": ALICE, "to": PROBER, "data": call.data}), 16)
    assert (await driver.estimate_gas(call, ReadView())).gas == expected


async def test_blocks_beyond_the_head_or_too_old(driver, ethereum):
    with pytest.raises(NotFound) as caught:
        await driver.simulate_call(prober("answer()"), ReadView(block=await ethereum.height() + 5))
    assert caught.value.field == "block"
    with pytest.raises(ArchiveRequired):
        await driver.simulate_call(prober("answer()"), ReadView(block=19_000_000))


async def test_where_history_is_unproved(chains: Chains, hyperliquid):
    node, _ = hyperliquid
    driver = Operations(chains.get("hyperliquid"))
    result = await driver.simulate_call(prober("block_number()"), ReadView())
    assert int.from_bytes(result.data, "big") == result.block == await node.height()
    with pytest.raises(NotSupported, match="latest state"):
        await driver.simulate_call(prober("answer()"), ReadView(block=await node.height() - 1))


@pytest.mark.parametrize(("moves", "sent"), [(0, [3]), (1, [3, 1]), (2, [3, 1]), (3, [3, 1])])
async def test_a_head_that_moves_under_the_call_costs_a_second_request(session, ethereum, tally, moves, sent):
    async with moving(ethereum, session, tally, moves) as driver:
        tally.requests.clear()
        result = await driver.simulate_call(prober("block_number()"), ReadView())
        assert int.from_bytes(result.data, "big") == result.block
        assert tally.requests == sent


async def test_an_estimate_is_of_the_block_that_it_names(session, ethereum, tally):
    async with moving(ethereum, session, tally, 1) as driver:
        tally.requests.clear()
        estimate = await driver.estimate_gas(CallRequest(to=BOB, sender=ALICE, value=1), ReadView())
        assert (estimate.gas, estimate.block) == (21_000, await ethereum.height())
        assert tally.requests == [3, 1]


async def test_unproved_history_waits_for_a_quiet_moment(session, hyperliquid, tally):
    node, _ = hyperliquid
    async with moving(node, session, tally, 3, "hyperliquid") as driver:
        tally.requests.clear()
        result = await driver.simulate_call(prober("block_number()"), ReadView())
        assert int.from_bytes(result.data, "big") == result.block == await node.height()
        assert tally.requests == [3, 3]
    async with moving(node, session, tally, 1000, "hyperliquid") as driver:
        with pytest.raises(UpstreamDisagrees):
            await driver.simulate_call(prober("block_number()"), ReadView())


@asynccontextmanager
async def moving(node, session, tally, moves, slug="ethereum"):
    """A driver on a front that makes a block after each of the first `moves` calls."""
    front = MovesOn(node.url, session, moves)
    await front.start()
    endpoints = {slug: {"endpoints": [{"label": "local", "url": front.url}]}}
    settings = Settings.model_validate({"profile": "devnet", "chains": endpoints})
    async with open_session() as http:
        chains = Chains.load(settings, http, observer=tally)
        yield Operations(chains.get(slug))
        await chains.close()
    await front.stop()


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (CallRequest(to="0x1", data="0x"), "to"),
        (CallRequest(to=OWNER, data="0x", sender="cosmos1abc"), "from"),
        (CallRequest(to=OWNER, data="0x", value=2**256), "value"),
    ],
)
async def test_bad_calls_are_refused_without_a_node(driver, requests, call, field):
    for ask in (driver.simulate_call, driver.estimate_gas):
        with requests([]), pytest.raises(InvalidArgument) as caught:
            await ask(call, ReadView())
        assert caught.value.field == field
