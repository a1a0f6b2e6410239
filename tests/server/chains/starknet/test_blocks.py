"""Blocks, transactions and receipts against the node's own answers: nothing of them is lost."""

from __future__ import annotations

import json

import pytest

from devnet import known_starknet as known
from server.chains.view import ReadView
from server.errors import InvalidArgument, NotFound, Pending, UpstreamUnavailable
from tests.server.chains.starknet.fronts import front

pytestmark = pytest.mark.devnet


@pytest.fixture
async def block(node):
    return await node.call("starknet_getBlockWithTxs", {"block_number": known.CROWDED_BLOCK})


async def test_a_block_is_the_nodes(driver, block, requests):
    with requests([1]):
        found = (await driver.read_block_transactions(known.CROWDED_BLOCK, ReadView())).starknet
    assert (found.block_number, found.hash) == (block["block_number"], block["block_hash"])
    assert (found.timestamp.seconds, found.transaction_count) == (block["timestamp"], 2)
    assert [one.hash for one in found.transactions] == [one["transaction_hash"] for one in block["transactions"]]
    assert [json.loads(one.native.json) for one in found.transactions] == block["transactions"]
    rest = {name: value for name, value in block.items() if name not in ("timestamp", "transactions")}
    got = json.loads(found.native.json)
    assert got.pop("status") in ("ACCEPTED_ON_L1", "ACCEPTED_ON_L2")
    rest.pop("status")
    assert got == rest


async def test_an_empty_block_has_no_transactions(driver):
    found = (await driver.read_block_transactions(3, ReadView())).starknet
    assert (found.transaction_count, list(found.transactions)) == (0, [])


async def test_a_block_to_come_is_not_found(driver, node):
    with pytest.raises(NotFound):
        await driver.read_block_transactions(await node.call("starknet_blockNumber") + 1, ReadView())


async def test_no_number_is_no_block(driver, requests):
    with requests([]), pytest.raises(InvalidArgument):
        await driver.read_block_transactions(2**63, ReadView())


@pytest.mark.parametrize("index", [0, 1])
async def test_a_receipt_is_the_nodes_with_its_block(driver, node, block, requests, index):
    wanted = block["transactions"][index]["transaction_hash"]
    with requests([2]):
        found = (await driver.read_receipt(wanted, ReadView())).starknet
    truth = await node.call("starknet_getTransactionReceipt", wanted)
    assert (found.transaction_hash, found.block_number) == (wanted, known.CROWDED_BLOCK)
    assert json.loads(found.native.json) == truth
    assert truth["execution_status"] == ("SUCCEEDED", "REVERTED")[index]


async def test_a_transfer_is_reported_by_its_event(driver, node):
    [transaction] = (await driver.read_block_transactions(known.STRK_BLOCK, ReadView())).starknet.transactions
    receipt = json.loads((await driver.read_receipt(transaction.hash, ReadView())).starknet.native.json)
    [event] = receipt["events"]
    assert event["from_address"] == known.STRK
    assert event["keys"][1:] == [known.ALICE, known.BOB]
    assert event["data"] == [hex(known.STRK_SENT), "0x0"]


async def test_a_transaction_is_the_nodes_with_its_block(driver, node, block, requests):
    wanted = block["transactions"][0]["transaction_hash"]
    with requests([2]):
        found = (await driver.read_transaction("0x" + wanted[2:].rjust(64, "0").upper(), ReadView())).starknet
    assert (found.block_number, found.from_address) == (known.CROWDED_BLOCK, known.ALICE)
    assert found.to == known.ETH
    assert json.loads(found.native.json) == await node.call("starknet_getTransactionByHash", wanted)


_CALL = [known.USDC, "0x5"]


@pytest.mark.parametrize(
    ("kind", "calldata", "to"),
    [
        ("INVOKE", ["0x1", *_CALL, "0x0"], known.USDC),
        ("INVOKE", ["0x1", *_CALL, "0x2", "0x9", "0x9"], known.USDC),
        # Cairo 0: offset and length of the call's part, then all calldata.
        ("INVOKE", ["0x1", *_CALL, "0x0", "0x2", "0x2", "0x9", "0x9"], known.USDC),
        ("INVOKE", ["0x2", *_CALL, "0x0", *_CALL, "0x0"], None),
        ("INVOKE", ["0x0"], None),
        ("INVOKE", [], None),
        ("INVOKE", ["0x1", *_CALL, "0x3", "0x9", "0x9"], None),
        ("INVOKE", ["0x1", "0x0", "0x5", "0x0"], None),
        ("INVOKE", ["0x1", hex(2**251), "0x5", "0x0"], None),
        ("INVOKE", ["0x1", *_CALL, "none"], None),
        ("INVOKE", "0x1", None),
        ("DEPLOY_ACCOUNT", ["0x1", *_CALL, "0x0"], None),
    ],
)
async def test_an_invoke_of_one_call_tells_whom_it_calls(load, node, session, block, kind, calldata, to):
    async def rewrite(item, forward):
        answer = await forward(item)
        if item["method"] == "starknet_getTransactionByHash":
            answer["result"] |= {"type": kind, "calldata": calldata}
        return answer

    async with front(node.endpoints["starknet"][0].url, session, rewrite) as url:
        found = await load(a=url).read_transaction(block["transactions"][0]["transaction_hash"], ReadView())
    assert found.starknet.from_address == known.ALICE
    assert (found.starknet.to if found.starknet.HasField("to") else None) == to


async def test_what_waits_for_a_block_is_pending(driver, node):
    wanted = await node.call("devnet_transfer", known.USDC, known.BOB, "0x1")
    try:
        for read in (driver.read_transaction, driver.read_receipt):
            with pytest.raises(Pending):
                await read(wanted, ReadView())
    finally:
        await node.call("devnet_mine", 1)
    head = await node.call("starknet_blockNumber")
    assert (await driver.read_receipt(wanted, ReadView())).starknet.block_number == head


async def test_a_pending_receipt_of_old_nodes_names_no_block(load, node, session, block):
    """0.8: no block number while pending, where later nodes leave out the hash alone."""

    async def old(item, forward):
        answer = await forward(item)
        if item["method"] == "starknet_getTransactionReceipt":
            del answer["result"]["block_number"], answer["result"]["block_hash"]
        return answer

    async with front(node.endpoints["starknet"][0].url, session, old) as url:
        with pytest.raises(Pending):
            await load(old=url).read_receipt(block["transactions"][0]["transaction_hash"], ReadView())


async def test_kinds_without_a_sender_belong_to_their_contract(load, node, session, block):
    async def handle(item, forward):
        answer = await forward(item)
        if item["method"] == "starknet_getTransactionByHash":
            answer["result"] = {
                "transaction_hash": answer["result"]["transaction_hash"],
                "type": "L1_HANDLER",
                "version": "0x0",
                "nonce": "0x12",
                "contract_address": known.ETH,
                "entry_point_selector": "0x1",
                "calldata": ["0x2"],
                "from": "kept apart",
            }
        return answer

    async with front(node.endpoints["starknet"][0].url, session, handle) as url:
        found = await load(a=url).read_transaction(block["transactions"][0]["transaction_hash"], ReadView())
    assert found.starknet.from_address == known.ETH
    assert "from" not in json.loads(found.starknet.native.json)


@pytest.mark.parametrize("text", ["", "0x", "ab" * 32, "0x" + "1" * 65, "0x" + "f" * 64, "0xzz"])
async def test_what_is_no_hash_is_refused(driver, requests, text):
    with requests([]):
        for read in (driver.read_transaction, driver.read_receipt):
            with pytest.raises(InvalidArgument) as refused:
                await read(text, ReadView())
            assert refused.value.field == "hash"


async def test_an_unknown_hash_is_not_found(driver, requests):
    with requests([2]), pytest.raises(NotFound):
        await driver.read_receipt("0xabc", ReadView())


@pytest.mark.parametrize(
    "result", [1, "0x1", [], {}, {"transaction_hash": 5}, {"transaction_hash": "0x1", "sender_address": 1}]
)
async def test_malformed_documents_are_the_nodes_fault(load, node, session, block, result):
    async def spoil(item, forward):
        answer = await forward(item)
        return (
            answer if item["method"] == "starknet_chainId" else {"jsonrpc": "2.0", "id": item["id"], "result": result}
        )

    async with front(node.endpoints["starknet"][0].url, session, spoil) as url:
        loaded = load(odd=url)
        wanted = block["transactions"][0]["transaction_hash"]
        for read in (loaded.read_transaction(wanted, ReadView()), loaded.read_block_transactions(1, ReadView())):
            with pytest.raises((UpstreamUnavailable, Pending)):
                await read
