"""Calls that real nodes refuse, and blocks beyond their heads: hardhat's words, and anvil's precompiled contracts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from devnet.evm.artifacts import multicall3
from server.chains.capabilities.contracts import CallRequest, CallsContracts
from server.chains.view import ReadView
from server.contracts.calls import CallGroup, ContractCall
from server.errors import NotAToken, NotFound, Reverted
from server.rpc.pipeline.errors import facts_of
from tests.server.chains.evm.nodes import ALICE, MULTICALL3, Anvil, call_data, driver_on
from tests.vendors.nodes import run_vendor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.tallies import CallTally

pytestmark = pytest.mark.devnet

# Runtime code: gives up without a word; gives up if it is called with anything; does nothing.
SILENT, PICKY, MUTE = (f"0x{number:040x}" for number in (0xFA, 0xFB, 0xFC))
CODES = {SILENT: "0x5f5ffd", PICKY: "0x36600657005b5f5ffd", MUTE: "0x00"}
FAILS = "Transaction reverted without a reason string"
# The twentieth-byte of precompiled contracts that take no call of a token for their own.
PRECOMPILES = [*range(0x05, 0x12)]


def at(number: int) -> str:
    return f"0x{number:040x}"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hardhat() -> AsyncIterator[Anvil]:
    """A node of hardhat with Multicall3 and contracts that give up, at block 109."""
    async with aiohttp.ClientSession() as session, run_vendor("hardhat", session) as node:
        for address, code in CODES.items():
            await node.call("hardhat_setCode", address, code)
        await node.call("hardhat_setCode", MULTICALL3, "0x" + multicall3().hex())
        runtime = await node.call("eth_call", {"to": MULTICALL3, "data": "0x"}, "latest")
        await node.call("hardhat_setCode", MULTICALL3, runtime)
        await node.call("hardhat_mine", hex(109 - await node.height()))
        assert await node.height() == 109
        yield node


@pytest_asyncio.fixture(loop_scope="session")
async def on_hardhat(hardhat: Anvil, tally: CallTally) -> AsyncIterator[Any]:
    async with driver_on(tally, hardhat=hardhat.url) as opened:
        yield opened


async def said(node: Anvil, method: str, *params: object) -> dict[str, Any]:
    """Return the error that the node itself answers."""
    async with node.session.post(
        node.url, json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    ) as response:
        error: dict[str, Any] = (await response.json())["error"]
        return error


async def test_hardhat_gives_up_without_a_reason(on_hardhat: Any, hardhat: Anvil, tally: CallTally) -> None:
    error = await said(hardhat, "eth_call", {"to": SILENT, "data": "0x12"}, "latest")
    assert (error["code"], error["data"]["data"]) == (-32603, "0x")
    assert FAILS in error["message"]
    request = CallRequest(to=SILENT, data="0x12")
    for read in (
        lambda: on_hardhat.simulate_call(request, ReadView()),
        lambda: on_hardhat.estimate_gas(request, ReadView()),
        lambda: on_hardhat.pass_call("eth_call", json.dumps([{"to": SILENT}, "latest"]).encode(), ReadView()),
        lambda: on_hardhat.pass_call("eth_estimateGas", json.dumps([{"to": SILENT}]).encode(), ReadView()),
    ):
        tally.requests.clear()
        with pytest.raises(Reverted) as caught:
            await read()
        assert caught.value.message == "execution reverted without a reason"
        assert facts_of(caught.value) == {"data": "0x"}
        assert len(tally.requests) == 1
    reply = await on_hardhat.simulate_transaction(request, ReadView())
    assert (reply.succeeded, reply.reason) == (False, "execution reverted without a reason")


async def test_hardhat_tells_one_block_alike_in_every_execution(
    on_hardhat: Any, hardhat: Anvil, tally: CallTally
) -> None:
    number = ContractCall(MULTICALL3, bytes.fromhex(call_data("getBlockNumber()")[2:]))
    view = ReadView()
    tally.requests.clear()
    groups = [CallGroup((number,) * count, is_known=False) for count in (1, 2, 3)]
    outcomes = await on_hardhat.capabilities[CallsContracts].call_groups(groups, view)
    assert {int.from_bytes(one.data, "big") for group in outcomes for one in group} == {view.block} == {109}
    assert tally.requests == [3]


async def test_hardhat_reads_of_contracts_that_give_up(on_hardhat: Any, tally: CallTally) -> None:
    owner = ContractCall(SILENT, bytes.fromhex("6352211e") + bytes(32))
    [outcome] = await on_hardhat.capabilities[CallsContracts].call_contracts([owner], ReadView(), are_known=False)
    assert (outcome.succeeded, outcome.data) == (False, b"")
    for read in (on_hardhat.read_token_balance(ALICE, SILENT, ReadView()), on_hardhat.read_token(SILENT, ReadView())):
        with pytest.raises(NotAToken):
            await read


@pytest.mark.parametrize("number", PRECOMPILES)
async def test_precompiled_contracts_of_hardhat(on_hardhat: Any, tally: CallTally, number: int) -> None:
    await check_precompile(on_hardhat, tally, number)


@pytest.mark.parametrize("number", PRECOMPILES)
async def test_precompiled_contracts_of_anvil(driver: Any, tally: CallTally, number: int) -> None:
    await check_precompile(driver, tally, number)


async def check_precompile(driver: Any, tally: CallTally, number: int) -> None:
    data = call_data("balanceOf(address)", ALICE)
    request = CallRequest(to=at(number), data=data)
    for read in (
        lambda: driver.simulate_call(request, ReadView()),
        lambda: driver.estimate_gas(request, ReadView()),
        lambda: driver.pass_call(
            "eth_call", json.dumps([{"to": at(number), "data": data}, "latest"]).encode(), ReadView()
        ),
    ):
        tally.requests.clear()
        with pytest.raises(Reverted):
            await read()
        assert len(tally.requests) == 1
    with pytest.raises(NotAToken):
        await driver.read_token_balance(ALICE, at(number), ReadView())
    with pytest.raises(NotAToken):
        await driver.read_token(at(number), ReadView())


async def test_beyond_the_head_of_hardhat(on_hardhat: Any, hardhat: Anvil, tally: CallTally) -> None:
    error = await said(hardhat, "eth_getBalance", ALICE, hex(209))
    assert error["message"] == "Received invalid block tag 209. Latest block number is 109"
    call = CallRequest(to=MUTE, data="0x")
    for read in (
        lambda: on_hardhat.read_balance(ALICE, ReadView(209)),
        lambda: on_hardhat.read_token(MUTE, ReadView(209)),
        lambda: on_hardhat.read_code(ALICE, ReadView(209)),
        lambda: on_hardhat.simulate_call(call, ReadView(209)),
        lambda: on_hardhat.simulate_transaction(call, ReadView(209)),
    ):
        with pytest.raises(NotFound) as caught:
            await read()
        assert caught.value.message == "block 209 of ethereum does not exist yet: the newest block is 109"
        assert facts_of(caught.value) == {"head": "109"}
    with pytest.raises(NotFound) as caught:
        await on_hardhat.pass_call("eth_getBalance", json.dumps([ALICE, hex(209)]).encode(), ReadView())
    assert facts_of(caught.value) == {"head": "109"}
    assert "the newest is 109" in caught.value.message
