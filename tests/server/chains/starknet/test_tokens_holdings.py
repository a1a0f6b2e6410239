"""Holdings on the local Starknet chain: all of one block, in two requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devnet import known_starknet as known
from server.chains.capabilities.accounts import Holding, KnownAsset
from server.chains.view import ReadView
from server.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.operations import Operations

pytestmark = pytest.mark.devnet

USDC = KnownAsset("0x0" + known.USDC[2:], 6)
ETH = KnownAsset("0x0" + known.ETH[2:], 18)
SNAKE = KnownAsset(known.SNAKE_TOKEN, 18)
OLD = KnownAsset(known.OLD_TOKEN, 0)
NO_CONTRACT = KnownAsset("0x068f5c6a61780768455de69077e07e89787839bf8166decfbf92b645209c0fb8", 6)
NO_TOKEN = KnownAsset(known.ALICE, 18)
BOB_STRK = known.STRK_SENT + known.STRK_SENT_LATER


async def test_known_tokens_are_read_at_the_block_of_the_coin(driver: Operations, requests: Callable):
    assets = [USDC, NO_CONTRACT, ETH, NO_TOKEN]
    # The seeded block: other tests send Bob more.
    found = await driver.read_holdings(known.BOB, assets, ReadView(known.HEIGHT))
    assert (found.account, found.block) == (known.BOB, known.HEIGHT)
    assert found.rows == (
        Holding(None, BOB_STRK, 18),
        Holding(USDC.address, known.USDC_SENT, 6),
        Holding(ETH.address, known.ETH_SENT, 18),
    )
    # An account is a contract, and no token: what it does not tell is not taken for nothing.
    assert found.unread == (NO_TOKEN.address,)
    view = ReadView()
    with requests([3, 2]):
        newest = await driver.read_holdings(known.BOB, [USDC, ETH], view)
    assert newest.block == view.block == await driver.read_height(ReadView())
    strk = await driver.read_balance(known.BOB, ReadView(view.block))
    usdc = await driver.read_token_balance(known.BOB, known.USDC, ReadView(view.block))
    assert [row.raw for row in newest.rows] == [strk.raw, usdc.raw, known.ETH_SENT]
    assert newest.unread == ()


async def test_the_first_time_decimals_are_asked_for_in_the_same_requests(driver: Operations, requests: Callable):
    with requests([3, 4]):
        await driver.read_holdings(known.BOB, [USDC, ETH], ReadView())
    with requests([3, 4]):
        await driver.read_holdings(known.BOB, [USDC, ETH, NO_CONTRACT], ReadView())
    # What is no token is asked in both writings, every time.
    with requests([3, 4, 1]):
        await driver.read_holdings(known.BOB, [USDC, ETH, NO_TOKEN], ReadView())


async def test_contracts_old_and_new(driver: Operations):
    found = await driver.read_holdings(known.ALICE, [SNAKE, OLD], ReadView())
    rows = {row.address: row for row in found.rows}
    assert rows[SNAKE.address].raw == known.SNAKE_SUPPLY
    assert rows[OLD.address].raw == known.OLD_SUPPLY


async def test_an_account_that_holds_nothing_has_no_rows(driver: Operations):
    found = await driver.read_holdings("0x5", [USDC, ETH], ReadView())
    assert found.rows == ()
    assert found.block == await driver.read_height(ReadView())


def test_an_evm_address_is_an_account_only_when_the_caller_says_so(driver: Operations):
    evm = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
    assert not driver.is_holder(evm)
    assert driver.check_holder(evm) == evm
    assert driver.is_holder(known.ALICE)
    assert driver.is_holder("0x" + known.ALICE[2:].rjust(64, "0"))
    assert not driver.is_holder("0x" + "f" * 64)
    with pytest.raises(InvalidArgument):
        driver.check_holder("0x" + "f" * 65)
