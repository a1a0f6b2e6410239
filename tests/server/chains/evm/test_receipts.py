"""Receipts of old blocks and of layer-2 chains."""

from __future__ import annotations

import json

import pytest

from server.chains.evm.receipts import is_mined, parse_receipt

PLAIN = {
    "transactionHash": "0x" + "11" * 32,
    "blockNumber": "0x10",
    "blockHash": "0x" + "22" * 32,
    "transactionIndex": "0x1",
    "from": "0x" + "a1" * 20,
    "to": "0x" + "b0" * 20,
    "gasUsed": "0x5208",
    "cumulativeGasUsed": "0xa410",
    "contractAddress": None,
    "logs": [],
    "logsBloom": "0x00",
    "status": "0x1",
    "type": "0x2",
    "effectiveGasPrice": "0x3b9aca00",
}


def parse(**changes: object):
    members = {name: value for name, value in (PLAIN | changes).items() if value != "absent"}
    return parse_receipt(json.dumps(members).encode())


def test_a_receipt_before_byzantium_has_a_root_and_no_status() -> None:
    receipt = parse(status="absent", root="0x" + "33" * 32, type="absent", effectiveGasPrice="absent")
    assert not receipt.HasField("status")
    assert json.loads(receipt.extra.json) == {"logsBloom": "0x00", "root": "0x" + "33" * 32}
    assert (receipt.type, receipt.effective_gas_price) == (0, "")


def test_fees_of_layer_2_chains_are_decimals_and_the_rest_as_the_node_wrote_it() -> None:
    fees = {"l1Fee": "0x1b", "l1FeeScalar": "0.684", "gasUsedForL1": "0x7", "depositNonce": None, "timeboosted": False}
    receipt = parse(**fees, type="0x7e")
    assert json.loads(receipt.extra.json) == {"logsBloom": "0x00", **fees, "l1Fee": "27", "gasUsedForL1": "7"}
    assert receipt.type == 0x7E


def test_a_receipt_without_a_block_is_of_a_pending_transaction() -> None:
    assert is_mined(json.dumps(PLAIN).encode())
    assert not is_mined(json.dumps(PLAIN | {"blockNumber": None}).encode())


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "0x2"},
        {"gasUsed": "absent"},
        {"gasUsed": 21000},
        {"from": None},
        {"from": "0x12"},
        {"logs": [{}]},
        {"logs": None, "blockNumber": None},
    ],
)
def test_what_is_no_receipt_is_refused(changes: dict) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(**changes)


@pytest.mark.parametrize("result", [b"[]", b"1", b'"0x"', b"{", b"[" * 5000])
def test_what_is_no_object_is_refused(result: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_receipt(result)
