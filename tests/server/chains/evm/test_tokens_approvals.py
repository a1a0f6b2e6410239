"""Approvals: how many requests they take, and tokens that are not there."""

from __future__ import annotations

import pytest

from server.catalog.approvals import load_known_approvals
from server.chains.view import ReadView
from tests.server.chains.evm.nodes import ALICE, BOB, NOBODY, USDC, USDT, call_data

pytestmark = pytest.mark.devnet

AGGREGATOR = "0x111111125421cA6dc452d289314280a0f8842A65"
ROUTER = "0xE592427A0AEce92De3Edee1F18E0157C05861564"


async def test_thirty_pairs_are_one_request(driver, ethereum, requests):
    await ethereum.send(USDC, call_data("approve(address,uint256)", AGGREGATOR, 2**255), sender=BOB)
    await ethereum.send(USDC, call_data("approve(address,uint256)", ROUTER, 2**255 - 1), sender=BOB)
    await ethereum.send(USDT, call_data("approve(address,uint256)", ROUTER, 1), sender=BOB)
    with requests([1]):
        found = await driver.read_approvals(BOB, ReadView())
    assert found.block == await ethereum.height()
    rows = [(row.symbol, row.spender, row.raw, row.decimals, row.is_unlimited) for row in found.rows]
    assert rows == [
        ("USDC", ROUTER, 2**255 - 1, 6, False),
        ("USDC", AGGREGATOR, 2**255, 6, True),
        ("USDT", ROUTER, 1, 6, False),
    ]
    table = load_known_approvals()["ethereum"]
    assert len(table.tokens) * len(table.spenders) == 30


async def test_approvals_at_a_block(driver, ethereum):
    block = await ethereum.height()
    await ethereum.send(USDC, call_data("approve(address,uint256)", AGGREGATOR, 77), sender=ALICE)
    assert (await driver.read_approvals(ALICE, ReadView(block=block))).rows == ()
    [row] = (await driver.read_approvals(ALICE, ReadView())).rows
    assert (row.raw, row.symbol, row.token) == (77, "USDC", USDC)


async def test_tokens_that_are_not_there_have_no_allowance(driver, requests):
    with requests([1]):
        assert (await driver.read_approvals(NOBODY, ReadView())).rows == ()


async def test_a_revoke_transaction_asks_no_node(driver, requests):
    with requests([]):
        call = driver.revoke_approval(ALICE.lower(), USDC.lower(), ROUTER.lower())
    assert (call.to, call.sender) == (USDC, ALICE)
    assert "0x" + call.data.hex() == call_data("approve(address,uint256)", ROUTER, 0)
