"""Logs, transfers, receipts and traces as JSON-RPC callers read them, against what is certain about the devnet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from waypost.v1 import block_pb2, transaction_pb2

from devnet import known
from devnet.evm.calls import to_hex
from devnet.evm.world import load_world
from tests.e2e.questions.question import OPERATIONS
from tests.server.rpc.conftest import unchanged

if TYPE_CHECKING:
    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

ETHEREUM = load_world()["ethereum"]
FIRST = ETHEREUM.height
USDC = ETHEREUM.token("USDC")
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


async def ask(gateway: RunningGateway, method: str, params: Any) -> Any:
    answer = await gateway.ask(method, params)
    assert "error" not in answer, answer
    return answer["result"]["data"]


async def test_the_crowded_block_holds_its_transfers(gateway: RunningGateway) -> None:
    block = FIRST + known.CROWDED_AT
    page = await ask(
        gateway, "getLogs", {"chain": "ethereum", "fromBlock": block, "toBlock": block, "topic0": TRANSFER}
    )
    assert (page["count"], page["limit"], page["hasMore"], page["cursor"]) == (known.CROWD, 1000, False, None)
    indexes = [log["logIndex"] for log in page["logs"]]
    assert indexes == sorted(indexes, reverse=True)
    first = page["logs"][0]
    assert set(first) == {
        "address",
        "topics",
        "data",
        "blockNumber",
        "transactionHash",
        "logIndex",
        "removed",
    }
    assert (first["blockNumber"], first["removed"]) == (block, False)


async def test_a_cursor_is_an_integer_or_text_and_both_are_read(gateway: RunningGateway) -> None:
    block = FIRST + known.CROWDED_AT
    window = {"chain": "ethereum", "fromBlock": FIRST, "toBlock": FIRST + known.SEEDED_BLOCKS}
    by_number = await ask(gateway, "getLogs", {**window, "cursor": block})
    by_text = await ask(gateway, "getLogs", {**window, "cursor": str(block)})
    inside = await ask(gateway, "getLogs", {**window, "cursor": f"{block}:5"})
    assert by_number == by_text
    assert max(log["blockNumber"] for log in by_number["logs"]) == block
    assert [log["logIndex"] for log in inside["logs"] if log["blockNumber"] == block] == [4, 3, 2, 1, 0]


async def test_a_page_names_its_cursor_as_the_contract_says(gateway: RunningGateway, devnet: Devnet) -> None:
    """On a window of many empty blocks that is asked for in small questions, the page ends between two blocks."""
    head = int((await ask(gateway, "getBlockHeight", {"chain": "ethereum"}))["height"])
    page = await ask(gateway, "getLogs", {"chain": "ethereum", "fromBlock": 0, "toBlock": head})
    assert page["hasMore"]
    assert isinstance(page["cursor"], int)
    assert 0 < page["cursor"] < FIRST
    again = await ask(
        gateway, "getLogs", {"chain": "ethereum", "fromBlock": 0, "toBlock": head, "cursor": page["cursor"]}
    )
    assert all(log["blockNumber"] <= page["cursor"] for log in again["logs"])


async def test_transfers_of_an_account(gateway: RunningGateway) -> None:
    page = await ask(gateway, "getTransfers", {"chain": "ethereum", "address": known.VITALIK.lower()})
    assert page["address"] == known.VITALIK
    gifts = [row for row in page["transfers"] if row["token"] == USDC.address]
    paid = [row for row in gifts if row["blockNumber"] == FIRST + known.PAID_AT]
    assert [(row["symbol"], row["decimals"], row["amount"]) for row in paid] == [("USDC", 6, "100.25")]
    assert paid[0]["value"] == "100250000"
    assert paid[0]["to"] == known.VITALIK


async def test_receipt_transaction_and_trace_of_one_hash(gateway: RunningGateway) -> None:
    block = FIRST + known.CROWDED_AT
    page = await ask(gateway, "getLogs", {"chain": "ethereum", "fromBlock": block, "toBlock": block})
    wanted = page["logs"][0]["transactionHash"]
    receipt = await ask(gateway, "getReceipt", {"chain": "ethereum", "hash": wanted})
    assert (receipt["status"], receipt["blockNumber"], receipt["contractAddress"]) == ("0x1", str(block), None)
    assert receipt["decodedLogs"][0]["event"] == "Transfer"
    assert set(receipt["decodedLogs"][0]["args"]) == {"from", "to", "value"}
    rows = await ask(gateway, "getTransactionByHash", {"items": f"ethereum:{wanted},ethereum:0x{'ab' * 32}"})
    assert rows["count"] == 2
    assert rows["results"][0]["transaction"]["blockNumber"] == str(block)
    assert rows["results"][0]["transaction"]["from"] == receipt["from"]
    assert rows["results"][1]["error"]["reason"] == "NOT_FOUND"
    assert "transaction" not in rows["results"][1]
    trace = await ask(gateway, "traceTransaction", {"chain": "ethereum", "hash": wanted})
    assert (trace["tracer"], trace["hash"]) == ("callTracer", wanted)
    assert (trace["trace"]["from"], trace["trace"]["to"]) == (receipt["from"], receipt["to"])


# Writes a log of three topics, the first words of its calldata, and of the rest as data.
WRITER = "0x00000000000000000000000000000000000000f7"
WRITER_CODE = "0x6060360360605f376040356020355f35606036035fa300"
SWAP_V4 = "Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)"


async def test_a_swap_of_a_v4_pool_is_decoded_in_the_order_of_its_abi(gateway: RunningGateway, devnet: Devnet) -> None:
    pool, values = "0x" + "c3" * 32, [-5 * 10**18, 7 * 10**9, 2**96, 10**20, -193_000, 3000]
    topics = keccak(text=SWAP_V4) + bytes.fromhex(pool[2:]) + bytes.fromhex(known.ALICE[2:]).rjust(32, b"\0")
    data = b"".join(value.to_bytes(32, "big", signed=value < 0) for value in values)
    async with unchanged(devnet, "ethereum") as node:
        await node.call("anvil_setCode", WRITER, WRITER_CODE)
        sent = {"from": known.BOB, "to": WRITER, "data": to_hex(topics + data), "gas": hex(200_000)}
        tx_hash = await node.call("eth_sendTransaction", sent)
        await node.call("evm_mine")
        receipt = await ask(gateway, "getReceipt", {"chain": "ethereum", "hash": tx_hash})
        request = transaction_pb2.GetReceiptRequest(chain="ethereum", hash=tx_hash)
        reported: Any = await gateway.ask_grpc(OPERATIONS["getReceipt"], request)
    expected = {
        "id": pool,
        "sender": known.ALICE,
        **dict(zip(("amount0", "amount1", "sqrtPriceX96", "liquidity", "tick", "fee"), map(str, values), strict=True)),
    }
    [decoded] = receipt["decodedLogs"]
    assert decoded == {"event": "Swap", "address": to_checksum_address(WRITER), "logIndex": 0, "args": expected}
    assert list(decoded["args"]) == list(expected)
    [same] = reported.evm.decoded_logs
    assert list(same.arg_names) == list(expected)
    assert dict(same.args) == expected


# What stays hex in EVM answers: bytes, and the words of signatures; a block's nonce is eight bytes of its header.
DATA = {"v", "r", "s", "yParity", "input", "data", "output", "extraData", "nonce", "status"}


def hex_quantities(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Return the members, at any depth, that are written as hex and shorter than addresses and hashes."""
    if isinstance(value, dict):
        return [found for key, member in value.items() for found in hex_quantities(member, key)]
    if isinstance(value, list):
        return [found for member in value for found in hex_quantities(member, name)]
    is_hex = isinstance(value, str) and value.startswith("0x") and len(value) < 40
    return [(name, value)] if is_hex and name not in DATA else []


async def test_quantities_have_one_form_in_all_answers(gateway: RunningGateway, devnet: Devnet) -> None:
    node = devnet.nodes["ethereum"]
    block = FIRST + known.CROWDED_AT
    listed = await ask(gateway, "getBlockTransactions", {"chain": "ethereum", "blockNumber": block})
    sent = listed["transactions"][0]
    where = {"chain": "ethereum", "hash": sent["hash"]}
    [by_number] = (await ask(gateway, "getBlockByNumber", [{"chain": "ethereum", "block": block}]))["results"]
    [by_hash] = (await ask(gateway, "getBlockByHash", [{"chain": "ethereum", "hash": listed["hash"]}]))["results"]
    [alone] = (await ask(gateway, "getTransactionByHash", [where]))["results"]
    receipt = await ask(gateway, "getReceipt", where)
    trace = await ask(gateway, "traceTransaction", where)
    logs = await ask(gateway, "getLogs", {"chain": "ethereum", "fromBlock": block, "toBlock": block})
    for answer in (listed, by_number, by_hash, alone, receipt, trace, logs):
        assert hex_quantities(answer) == []
    truth = await node.call("eth_getBlockByNumber", hex(block), True)
    raw = await node.call("eth_getTransactionReceipt", sent["hash"])
    assert sent["blockNumber"] == alone["transaction"]["blockNumber"] == receipt["blockNumber"] == str(block)
    assert sent["blockTimestamp"] == alone["transaction"]["blockTimestamp"] == listed["timestamp"]
    assert by_number["block"]["totalDifficulty"] == str(int(truth["totalDifficulty"], 16))
    assert receipt["blobGasPrice"] == str(int(raw["blobGasPrice"], 16))
    # Data words are the node's own.
    assert by_number["block"]["nonce"] == truth["nonce"]
    for word in ("v", "r", "s", "yParity"):
        assert sent.get(word) == truth["transactions"][0].get(word)
    request = block_pb2.GetBlockTransactionsRequest(chain="ethereum", block_number=block)
    reported: Any = await gateway.ask_grpc(OPERATIONS["getBlockTransactions"], request)
    extra = json.loads(reported.evm.transactions[0].extra.json)
    assert (extra["blockNumber"], extra["blockTimestamp"]) == (str(block), listed["timestamp"])


async def test_what_is_passed_on_stays_the_nodes_own(gateway: RunningGateway, devnet: Devnet) -> None:
    tag = hex(FIRST + known.CROWDED_AT)
    params = {"chain": "ethereum", "method": "eth_getBlockByNumber", "params": [tag, True]}
    reported = await ask(gateway, "chainRpc", params)
    assert reported["result"] == await devnet.nodes["ethereum"].call("eth_getBlockByNumber", tag, True)
