"""The price of a receipt that does not state it comes out of its transaction, and never out of another block's."""

from __future__ import annotations

from typing import Any

import pytest

from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
from tests.server.chains.evm.changed import nodes
from tests.server.chains.evm.nodes import ALICE, BOB

pytestmark = pytest.mark.devnet

RECEIPT, TRANSACTION = "eth_getTransactionReceipt", "eth_getTransactionByHash"
MAX_FEE, TIP = 10**12, 3 * 10**9


def without_price(receipt: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in receipt.items() if name != "effectiveGasPrice"}


def pending(transaction: dict[str, Any]) -> dict[str, Any]:
    """As geth writes a transaction that waits: the price is the most that it would pay."""
    no_block = dict.fromkeys(("blockNumber", "blockHash", "transactionIndex"))
    return transaction | no_block | {"gasPrice": transaction["maxFeePerGas"]}


def of_another_fork(transaction: dict[str, Any]) -> dict[str, Any]:
    return transaction | {"blockHash": "0x" + "fa" * 32, "gasPrice": hex(7)}


@pytest.fixture
async def sent(ethereum: Any) -> dict[str, Any]:
    truth: dict[str, Any] = await ethereum.send(
        BOB, value=1, sender=ALICE, maxFeePerGas=hex(MAX_FEE), maxPriorityFeePerGas=hex(TIP)
    )
    assert int(truth["effectiveGasPrice"], 16) < MAX_FEE
    return truth


async def test_it_is_the_transactions_where_the_receipt_has_none(sent, ethereum, session, tally):
    async with nodes(tally, ethereum, session, old={RECEIPT: without_price}) as (driver, _):
        tally.requests.clear()
        receipt = (await driver.read_receipt(sent["transactionHash"], ReadView())).evm
        assert tally.requests == [2]
    assert receipt.effective_gas_price == str(int(sent["effectiveGasPrice"], 16))


NOT_OF_THE_BLOCK = pytest.mark.parametrize(
    "behind", [pending, of_another_fork, lambda _: None], ids=["pending", "fork", "unknown"]
)


@NOT_OF_THE_BLOCK
async def test_an_endpoint_that_does_not_know_the_block_is_not_believed(behind, sent, ethereum, session, tally):
    """The favourite returns the transaction of no such block, and has no receipt: that comes from the other one."""
    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        favourite = fronts[(await driver.pool.call("eth_chainId", [])).endpoint]
        [other] = [front for front in fronts.values() if front is not favourite]
        favourite.changes = {RECEIPT: None, TRANSACTION: behind}
        other.changes = {RECEIPT: without_price}
        receipt = (await driver.read_receipt(sent["transactionHash"], ReadView())).evm
        assert {RECEIPT, TRANSACTION} <= set(favourite.asked)
    assert receipt.effective_gas_price == str(int(sent["effectiveGasPrice"], 16))


@NOT_OF_THE_BLOCK
async def test_where_the_receipts_endpoint_contradicts_itself_the_other_one_is_asked(
    behind, sent, ethereum, session, tally
):
    async with nodes(tally, ethereum, session, alpha={}, beta={}) as (driver, fronts):
        favourite = fronts[(await driver.pool.call("eth_chainId", [])).endpoint]
        favourite.changes = {RECEIPT: without_price, TRANSACTION: behind}
        receipt = (await driver.read_receipt(sent["transactionHash"], ReadView())).evm
    assert receipt.effective_gas_price == str(int(sent["effectiveGasPrice"], 16))


@NOT_OF_THE_BLOCK
async def test_where_nobody_knows_the_block_there_is_no_price_and_no_wrong_one(behind, sent, ethereum, session, tally):
    everywhere = {RECEIPT: without_price, TRANSACTION: behind}
    async with nodes(tally, ethereum, session, alpha=everywhere, beta=everywhere) as (driver, _):
        with pytest.raises(UpstreamUnavailable) as caught:
            await driver.read_receipt(sent["transactionHash"], ReadView())
    assert caught.value.retry_after_ms


async def test_a_receipt_that_tells_its_price_needs_no_transaction(sent, ethereum, session, tally):
    """Whatever endpoints answer about the transaction."""
    for change in (pending, of_another_fork, None):
        async with nodes(tally, ethereum, session, only={TRANSACTION: change}) as (driver, _):
            receipt = (await driver.read_receipt(sent["transactionHash"], ReadView())).evm
        assert receipt.effective_gas_price == str(int(sent["effectiveGasPrice"], 16))
        assert receipt.block_hash == sent["blockHash"]
