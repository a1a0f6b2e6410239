"""What contracts that answer megabytes cost the node: each call is made once."""

from __future__ import annotations

import pytest

from server.chains.capabilities.contracts import CallRequest, CallsContracts
from server.chains.view import ReadView
from server.contracts.calls import ContractCall
from server.errors import NotAToken, Reverted
from server.rpc.pipeline.errors import facts_of
from tests.server.chains.evm.nodes import ALICE, REVERT_BOMBER

pytestmark = pytest.mark.devnet

BOMB = CallRequest(to=REVERT_BOMBER, data="0x")


@pytest.mark.parametrize("what", ["simulate_call", "estimate_gas"])
async def test_a_callers_own_call_travels_once_between_two_looks_at_the_head(driver, requests, what):
    with requests([3]), pytest.raises(Reverted) as caught:
        await getattr(driver, what)(BOMB, ReadView())
    assert facts_of(caught.value)["dataLength"] == "1000000"
    assert facts_of(caught.value)["data"] == "0x" + "00" * 1024


async def test_at_a_block_it_is_one_call(driver, ethereum, requests):
    head = await ethereum.height()
    with requests([1]), pytest.raises(Reverted):
        await driver.simulate_call(BOMB, ReadView(block=head))


async def test_a_simulation_is_one_request(driver, requests):
    with requests([3]):
        simulated = await driver.simulate_transaction(BOMB, ReadView())
    assert (simulated.succeeded, simulated.data) == (False, bytes(1_000_000))


async def test_a_read_that_fits_into_one_execution_is_one_call(driver, requests):
    with requests([1]):
        [outcome] = await driver.capabilities[CallsContracts].call_contracts(
            [ContractCall(REVERT_BOMBER, b"call")], ReadView(), are_known=False
        )
    assert (outcome.succeeded, outcome.data) == (False, bytes(1_000_000))


async def test_reads_that_do_not_fit_are_made_once_each_at_one_block(driver, requests):
    """The execution runs out of memory; then the head, and balance and decimals alone, in one request."""
    with requests([1, 1, 2]), pytest.raises(NotAToken):
        await driver.read_token_balance(ALICE, REVERT_BOMBER, ReadView())
