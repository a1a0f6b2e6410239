"""Native balances: exact, folded, each with its block."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from server.chains.view import ReadView
from server.errors import ArchiveRequired, InvalidArgument, NotFound, NotSupported
from server.rpc.pipeline.errors import facts_of
from tests.operations import Operations
from tests.server.chains.evm.nodes import ALICE, BOB, NOBODY, OWNER

if TYPE_CHECKING:
    from server.chains.registry import Chains

pytestmark = pytest.mark.devnet


async def test_a_balance_is_one_request_and_names_the_block_of_the_same_call(driver, ethereum, requests):
    view = ReadView()
    with requests([1]):
        balance = await driver.read_balance(BOB.lower(), view)
    assert balance.address == BOB
    assert balance.raw == int(await ethereum.call("eth_getBalance", BOB, hex(balance.block)), 16)
    assert balance.block == view.block == await ethereum.height()
    assert view.endpoint == "local"


async def test_fifty_balances_of_fifty_callers_are_one_request_with_one_call(driver, ethereum, requests):
    addresses = [f"0x{index:040x}" for index in range(0x2000, 0x2000 + 48)] + [ALICE, OWNER]
    with requests([1]):
        balances = await asyncio.gather(*(driver.read_balance(address, ReadView()) for address in addresses))
    for address, balance in zip(addresses, balances, strict=True):
        assert balance.raw == int(await ethereum.call("eth_getBalance", address, "latest"), 16)


async def test_latest_and_pinned_reads_of_one_turn_leave_in_one_request(driver, ethereum, requests):
    built = ethereum.blocks["built"]
    with requests([2]):
        now, before = await asyncio.gather(
            driver.read_balance(ALICE, ReadView()), driver.read_balance(ALICE, ReadView(block=built))
        )
    assert before.block == built
    assert before.raw == int(await ethereum.call("eth_getBalance", ALICE, hex(built)), 16)
    assert before.raw > now.raw


async def test_arbitrum_names_the_chains_own_block_not_the_one_that_contracts_see(chains: Chains, arbitrum, requests):
    driver = Operations(chains.get("arbitrum"))
    balance = await driver.read_balance(OWNER, ReadView())
    assert balance.block == await arbitrum.height()
    pinned = await driver.read_balance(OWNER, ReadView(block=balance.block - 2))
    assert pinned.block == balance.block - 2


async def test_where_multicall_is_missing_balances_are_read_one_by_one(chains: Chains, bare, requests):
    driver = Operations(chains.get("base"))
    head = await bare.height()
    with requests([1, 1, 2]):
        first, second = await asyncio.gather(
            driver.read_balance(OWNER, ReadView()), driver.read_balance(NOBODY, ReadView())
        )
    assert (first.block, first.raw) == (head, 10_000 * 10**18)
    assert (second.block, second.raw) == (head, 0)


async def test_below_the_deploy_block_balances_are_pinned_and_single(chains: Chains, bare, requests):
    driver = Operations(chains.get("base"))
    with requests([2]):
        first, second = await asyncio.gather(
            driver.read_balance(OWNER, ReadView(block=102)), driver.read_balance(NOBODY, ReadView(block=102))
        )
    assert (first.block, second.block, second.raw) == (102, 102, 0)


async def test_a_block_beyond_the_head_is_not_found(driver, ethereum):
    head = await ethereum.height()
    with pytest.raises(NotFound, match="does not exist yet") as caught:
        await driver.read_balance(ALICE, ReadView(block=head + 1000))
    assert caught.value.field == "blockHeight"
    assert facts_of(caught.value) == {"head": str(head)}


async def test_a_block_before_the_kept_states_needs_an_archive(driver):
    with pytest.raises(ArchiveRequired) as caught:
        await driver.read_balance(ALICE, ReadView(block=19_000_000))
    assert caught.value.field == "blockHeight"


async def test_a_node_that_answers_every_height_with_the_latest_state_is_found_out(chains: Chains, hyperliquid):
    node, _ = hyperliquid
    driver = Operations(chains.get("hyperliquid"))
    head = await node.height()
    with pytest.raises(NotSupported, match="only with the latest state") as caught:
        await driver.read_balance(ALICE, ReadView(block=head - 2))
    assert caught.value.field == "blockHeight"
    assert (await driver.read_balance(ALICE, ReadView(block=head))).block == head
    assert (await driver.read_balance(ALICE, ReadView())).block == head


@pytest.mark.parametrize(
    "address",
    ["", "0x", "vitalik.eth", "0x" + "1" * 39, "0x" + "1" * 41, "0X" + "1" * 40, ALICE[:-1] + "c", "1" * 4096],
)
async def test_what_is_no_address_is_refused_without_asking_a_node(driver, requests, address):
    with requests([]), pytest.raises(InvalidArgument) as caught:
        await driver.read_balance(address, ReadView())
    assert caught.value.field == "address"


async def test_reads_of_one_view_share_its_block_even_if_started_together(driver, ethereum):
    view = ReadView()
    first = asyncio.create_task(driver.read_balance(ALICE, view))
    second = asyncio.create_task(driver.read_balance(BOB, view))
    await ethereum.call("anvil_mine", "0x1")
    balances = await asyncio.gather(first, second)
    assert {balance.block for balance in balances} == {view.block}


async def test_a_cancelled_caller_takes_nobody_with_it(driver, ethereum):
    gone = asyncio.create_task(driver.read_balance(ALICE, ReadView()))
    staying = asyncio.create_task(driver.read_balance(BOB, ReadView()))
    await asyncio.sleep(0)
    gone.cancel()
    assert (await staying).raw == int(await ethereum.call("eth_getBalance", BOB, "latest"), 16)
    with pytest.raises(asyncio.CancelledError):
        await gone
