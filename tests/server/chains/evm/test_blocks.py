"""Blocks and their transactions against the node's own answers."""

from __future__ import annotations

import json

import pytest

from server.chains.view import ReadView
from server.errors import InvalidArgument, NotFound
from tests.server.chains.evm.nodes import ALICE, BOB

pytestmark = pytest.mark.devnet

# What a local node returns that has no field and is a quantity.
DECIMALS = {
    "totalDifficulty": lambda text: str(int(text, 16)),
    "blockNumber": lambda text: str(int(text, 16)),
    "blockTimestamp": lambda text: int(text, 16),
}


def decimals(document: dict, *names: str) -> dict[str, object]:
    return {name: DECIMALS[name](document[name]) if name in DECIMALS else document[name] for name in names}


async def test_a_block_by_number_and_by_hash_is_the_nodes_block(driver, ethereum, requests):
    number = ethereum.blocks["sent"]
    truth = await ethereum.block(hex(number))
    with requests([1]):
        by_number = (await driver.read_block_by_number(number, ReadView())).evm
    by_hash = (await driver.read_block_by_hash(truth["hash"].upper().replace("0X", "0x"), ReadView())).evm
    assert by_number == by_hash
    assert (by_number.number, by_number.hash, by_number.parent_hash) == (
        number,
        truth["hash"],
        truth["parentHash"],
    )
    assert by_number.timestamp.seconds == int(truth["timestamp"], 16)
    assert list(by_number.transactions) == truth["transactions"]
    assert by_number.transaction_count == 1
    assert by_number.base_fee_per_gas == str(int(truth["baseFeePerGas"], 16))
    assert by_number.gas_used == "21000"
    assert (by_number.state_root, by_number.logs_bloom) == (truth["stateRoot"], truth["logsBloom"])


async def test_members_that_are_not_typed_are_kept_with_quantities_as_decimals(driver, ethereum):
    truth = await ethereum.block(hex(ethereum.blocks["sent"]))
    extra = json.loads((await driver.read_block_by_number(ethereum.blocks["sent"], ReadView())).evm.extra.json)
    assert extra == decimals(truth, *extra)
    assert extra["totalDifficulty"] == "0"
    assert "withdrawals" in extra
    assert not {"number", "hash", "transactions", "gasUsed"} & set(extra)


async def test_transactions_with_their_effective_price(driver, ethereum, requests):
    number = ethereum.blocks["sent"]
    truth = await ethereum.block(hex(number), True)
    with requests([1]):
        answer = (await driver.read_block_transactions(number, ReadView())).evm
    assert (answer.block_number, answer.hash, answer.transaction_count) == (number, truth["hash"], 1)
    [transaction], [sent] = answer.transactions, truth["transactions"]
    receipt = await ethereum.call("eth_getTransactionReceipt", sent["hash"])
    assert transaction.hash == sent["hash"]
    assert (transaction.from_address, transaction.to) == (ALICE, BOB)
    assert transaction.value == str(10**18)
    assert transaction.gas_price == str(int(receipt["effectiveGasPrice"], 16))
    assert (transaction.type, transaction.nonce) == (2, int(sent["nonce"], 16))
    assert transaction.max_fee_per_gas == str(10**12)
    extra = json.loads(transaction.extra.json)
    assert extra == decimals(sent, *extra)
    assert extra["blockNumber"] == str(number)
    assert extra["blockTimestamp"] == answer.timestamp.seconds
    assert {"r", "s", "blockHash"} <= set(extra)


async def test_a_contract_creation_has_no_receiver(driver, ethereum):
    sent = await ethereum.call("eth_sendTransaction", {"from": ALICE, "data": "0x600160005260206000f3"})
    receipt = None
    while receipt is None:
        receipt = await ethereum.call("eth_getTransactionReceipt", sent)
    number = int(receipt["blockNumber"], 16)
    [transaction] = (await driver.read_block_transactions(number, ReadView())).evm.transactions
    assert not transaction.HasField("to")
    assert transaction.input == "0x600160005260206000f3"


async def test_unknown_blocks_are_not_found(driver, ethereum):
    beyond = await ethereum.height() + 100
    for read in (
        driver.read_block_by_number(beyond, ReadView()),
        driver.read_block_transactions(beyond, ReadView()),
        driver.read_block_by_hash("0x" + "ab" * 32, ReadView()),
    ):
        with pytest.raises(NotFound):
            await read


@pytest.mark.parametrize("text", ["", "0x", "ab" * 32, "0x" + "ab" * 31, "0x" + "ab" * 33, "0x" + "zz" * 32])
async def test_what_is_no_hash_is_refused_without_a_node(driver, requests, text):
    with requests([]), pytest.raises(InvalidArgument) as caught:
        await driver.read_block_by_hash(text, ReadView())
    assert caught.value.field == "hash"


async def test_the_height_is_the_nodes(driver, ethereum, requests):
    with requests([1]):
        assert await driver.read_height(ReadView()) == await ethereum.height()
