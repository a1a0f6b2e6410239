"""Calls at a block that is some seconds of blocks older than the newest, beside those at the newest."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from server.chains.view import ReadView
from server.contracts.calls import CallGroup, ContractCall
from tests.operations import Operations
from tests.server.chains.evm.nodes import BOB, MULTICALL3, USDC, call_data, contracts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.devnet

# Ethereum makes a block in 12 s, so many blocks back is that many times 12 s.
BLOCK_SECONDS = 12.0


def call(address: str, signature: str, *arguments: object) -> ContractCall:
    return ContractCall(address, bytes.fromhex(call_data(signature, *arguments)[2:]))


CLOCK = CallGroup((call(MULTICALL3, "getCurrentBlockTimestamp()"), call(MULTICALL3, "getEthBalance(address)", BOB)))
OWN = CallGroup((call(USDC, "decimals()"),), is_known=False)


def numbers(outcomes: Sequence[Any]) -> list[int]:
    assert all(outcome.succeeded for outcome in outcomes)
    return [int.from_bytes(outcome.data, "big") for outcome in outcomes]


async def test_the_older_block_travels_with_the_newest_one(driver, ethereum, requests):
    """One request brings both; each is of its block, by the node's own word."""
    contracts, height = contracts_of(driver), await ethereum.height()
    await contracts.call_groups([CLOCK], ReadView())
    back = height - ethereum.blocks["sent"] + 1  # before BOB was paid
    view = ReadView()
    with requests([3]):
        now, past = await asyncio.gather(
            contracts.call_groups([OWN, CLOCK], view), contracts.call_groups_back([CLOCK], back * BLOCK_SECONDS, view)
        )
    assert view.block == height
    assert past is not None
    block, [then] = past
    assert block == height - back
    for number, clock in ((height, now[1]), (block, then)):
        header = await ethereum.block(hex(number))
        balance = int(await ethereum.call("eth_getBalance", BOB, hex(number)), 16)
        assert numbers(clock) == [int(header["timestamp"], 16), balance]
    # Other tests pay BOB some wei, and have BOB pay fees.
    assert 10**18 - 10**16 < numbers(now[1])[1] - numbers(then)[1] < 10**18 + 10**6


async def test_it_is_counted_from_the_block_that_the_caller_chose(driver, ethereum):
    height = await ethereum.height()
    view = ReadView(block=height - 2)
    found = await contracts_of(driver).call_groups_back([CLOCK], 3 * BLOCK_SECONDS, view)
    assert found[0] == height - 5
    assert view.block == height - 2


@pytest.mark.parametrize("seconds", [7 * 86_400.0, 10.0**9])
async def test_without_the_state_there_is_nothing_to_answer(driver, seconds):
    """The node began fewer blocks ago; a billion seconds are more blocks than there ever were."""
    contracts = contracts_of(driver)
    await contracts.call_groups([CLOCK], ReadView())
    assert await contracts.call_groups_back([CLOCK], seconds, ReadView()) is None


async def test_chains_of_unproved_history_have_no_older_state(chains, hyperliquid, requests):
    contracts = contracts_of(Operations(chains.get("hyperliquid")))
    with requests([]):
        assert await contracts.call_groups_back([CLOCK], 10.0, ReadView()) is None
