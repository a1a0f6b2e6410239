"""Transactions and receipts against the node's own answers."""

from __future__ import annotations

import asyncio
import json

import pytest

from server.chains.view import ReadView
from server.errors import GatewayError, InvalidArgument, NotFound, Pending
from tests.server.chains.evm.nodes import ALICE, BOB, NOBODY, OWNER, PROBER, PROXY, USDC, WETH, call_data

pytestmark = pytest.mark.devnet

UNKNOWN = "0x" + "ab" * 32
NOT_HASHES = ["", "0x", "ab" * 32, "0x" + "ab" * 31, "0x" + "ab" * 33, "0x" + "zz" * 32, "0x" + "ab" * 3000]


@pytest.fixture
async def held(ethereum):
    """A transaction that waits for a block, made by `ethereum` after the test."""
    await ethereum.call("evm_setAutomine", False)
    yield await ethereum.call("eth_sendTransaction", {"from": ALICE, "to": BOB, "value": "0x1"})
    await ethereum.call("evm_setAutomine", True)
    await ethereum.call("anvil_mine", "0x1")


async def test_a_transaction_is_the_nodes_with_its_block(driver, ethereum, requests):
    receipt = await ethereum.send(BOB, value=7, sender=ALICE, maxFeePerGas=hex(10**12), maxPriorityFeePerGas=hex(10**9))
    truth = await ethereum.call("eth_getTransactionByHash", receipt["transactionHash"])
    with requests([1]):
        found = (await driver.read_transaction(receipt["transactionHash"].upper().replace("0X", "0x"), ReadView())).evm
    assert found.block_number == int(receipt["blockNumber"], 16)
    assert found.block_hash == receipt["blockHash"]
    sent = found.transaction
    assert (sent.hash, sent.from_address, sent.to, sent.value) == (truth["hash"], ALICE, BOB, "7")
    assert (sent.type, sent.nonce, sent.transaction_index) == (2, int(truth["nonce"], 16), 0)
    assert sent.gas_price == str(int(receipt["effectiveGasPrice"], 16))
    extra = json.loads(sent.extra.json)
    assert extra == {name: truth[name] for name in extra} | {"blockTimestamp": int(truth["blockTimestamp"], 16)}
    assert {"r", "s"} <= set(extra)
    assert not {"blockNumber", "blockHash", "from"} & set(extra)


async def test_a_receipt_is_the_nodes(driver, ethereum, requests):
    truth = await ethereum.send(USDC, call_data("transfer(address,uint256)", BOB, 1_500_000), sender=ALICE)
    with requests([2]):
        receipt = (await driver.read_receipt(truth["transactionHash"], ReadView())).evm
    assert (receipt.transaction_hash, receipt.block_hash) == (truth["transactionHash"], truth["blockHash"])
    assert (receipt.from_address, receipt.to) == (ALICE, USDC)
    assert receipt.block_number == int(truth["blockNumber"], 16)
    assert receipt.gas_used == str(int(truth["gasUsed"], 16))
    assert receipt.cumulative_gas_used == str(int(truth["cumulativeGasUsed"], 16))
    assert receipt.effective_gas_price == str(int(truth["effectiveGasPrice"], 16))
    assert receipt.HasField("status")
    assert receipt.status == 1
    assert not receipt.HasField("contract_address")
    [log], [expected] = receipt.logs, truth["logs"]
    assert (log.address, list(log.topics), log.data) == (USDC, expected["topics"], expected["data"])
    assert (log.log_index, log.removed, log.transaction_hash) == (0, False, truth["transactionHash"])
    extra = json.loads(receipt.extra.json)
    assert extra.pop("blobGasPrice") == str(int(truth["blobGasPrice"], 16))
    assert extra == {name: truth[name] for name in extra}
    assert "logsBloom" in extra


async def test_transfer_and_approval_come_decoded(driver, ethereum):
    transfer = await ethereum.send(USDC, call_data("transfer(address,uint256)", BOB, 1_500_000), sender=ALICE)
    [decoded] = (await driver.read_receipt(transfer["transactionHash"], ReadView())).evm.decoded_logs
    assert (decoded.event, decoded.address, decoded.log_index) == ("Transfer", USDC, 0)
    assert dict(decoded.args) == {"from": ALICE, "to": BOB, "value": "1500000"}
    approval = await ethereum.send(PROXY, call_data("approve(address,uint256)", NOBODY, 2**256 - 1), sender=BOB)
    [decoded] = (await driver.read_receipt(approval["transactionHash"], ReadView())).evm.decoded_logs
    assert decoded.event == "Approval"
    assert dict(decoded.args) == {"owner": BOB, "spender": NOBODY, "value": str(2**256 - 1)}


async def test_deposit_and_withdrawal_come_decoded(driver, ethereum):
    deposit = await ethereum.send(WETH, call_data("deposit()"), sender=ALICE, value=10**18)
    [decoded] = (await driver.read_receipt(deposit["transactionHash"], ReadView())).evm.decoded_logs
    assert (decoded.event, dict(decoded.args)) == ("Deposit", {"dst": ALICE, "wad": str(10**18)})
    withdrawal = await ethereum.send(WETH, call_data("withdraw(uint256)", 10**17), sender=ALICE)
    [decoded] = (await driver.read_receipt(withdrawal["transactionHash"], ReadView())).evm.decoded_logs
    assert (decoded.event, dict(decoded.args)) == ("Withdrawal", {"src": ALICE, "wad": str(10**17)})


async def test_events_that_are_not_well_known_stay_raw(driver, ethereum):
    said = await ethereum.send(PROBER, call_data("say(uint256,string)", 5, "hello"), sender=ALICE)
    receipt = (await driver.read_receipt(said["transactionHash"], ReadView())).evm
    assert len(receipt.logs) == 1
    assert not receipt.decoded_logs


async def test_a_created_contract_and_a_failed_transaction(driver, ethereum):
    sent = await ethereum.call("eth_sendTransaction", {"from": ALICE, "data": "0x600160005260206000f3"})
    truth = await ethereum.mined(sent)
    created = (await driver.read_receipt(sent, ReadView())).evm
    assert created.contract_address.lower() == truth["contractAddress"].lower()
    assert not created.HasField("to")
    call = call_data("transfer(address,uint256)", BOB, 2**200)
    sent = await ethereum.call("eth_sendTransaction", {"from": OWNER, "to": USDC, "data": call, "gas": "0x30000"})
    await ethereum.mined(sent)
    failed = (await driver.read_receipt(sent, ReadView())).evm
    assert failed.HasField("status")
    assert failed.status == 2
    assert not failed.logs


async def test_a_pending_hash_is_not_an_unknown_one(driver, held, requests):
    for read in (driver.read_receipt, driver.read_transaction):
        with pytest.raises(Pending) as caught:
            await read(held, ReadView())
        assert caught.value.retry_after_ms
        with pytest.raises(NotFound):
            await read(UNKNOWN, ReadView())
    with requests([2]), pytest.raises(Pending):
        await driver.read_receipt(held, ReadView())


@pytest.mark.parametrize("text", NOT_HASHES)
async def test_what_is_no_hash_is_refused_without_a_node(driver, requests, text):
    for read in (driver.read_receipt, driver.read_transaction):
        with requests([]), pytest.raises(InvalidArgument) as caught:
            await read(text, ReadView())
        assert caught.value.field == "hash"


async def test_transactions_of_one_turn_leave_in_one_request(driver, ethereum, requests):
    hashes = [(await ethereum.send(BOB, value=n + 1, sender=ALICE))["transactionHash"] for n in range(5)]
    with requests([6]):
        found = await asyncio.gather(
            *(driver.read_transaction(text, ReadView()) for text in [*hashes, UNKNOWN]), return_exceptions=True
        )
    assert [row.evm.transaction.value for row in found[:5]] == ["1", "2", "3", "4", "5"]
    assert isinstance(found[5], GatewayError)
