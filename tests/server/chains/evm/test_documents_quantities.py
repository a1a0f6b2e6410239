"""Quantities without a field of their own are decimals by a closed list; everything else is the node's own bytes."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.chains.evm.documents import (
    convert_members,
    load_forms,
    parse_block,
    parse_block_transactions,
    parse_transaction,
    read_members,
)
from server.chains.evm.receipts import parse_receipt

HASH = "0x" + "ab" * 32
ADDRESS = "0x" + "0" * 39 + "1"
BLOCK: dict[str, Any] = {"number": "0x10", "hash": HASH, "timestamp": "0x10", "transactions": []}
TRANSACTION: dict[str, Any] = {"hash": HASH, "from": ADDRESS, "gas": "0x1", "value": "0x0", "nonce": "0x0"}
RECEIPT: dict[str, Any] = {
    "transactionHash": HASH, "blockNumber": "0x10", "from": ADDRESS, "gasUsed": "0x1", "logs": [],
}  # fmt: skip

TEXT, INTEGER = "64206", 64206  # 0xface

# What the gateway writes for "0xface", by document; nothing else is a quantity.
OF_BLOCKS = {
    **dict.fromkeys(
        ["totalDifficulty", "l1BlockNumber", "sendCount", "blockGasCost", "extDataGasUsed", "minDelayExcess"], TEXT
    ),
    **dict.fromkeys(["milliTimestamp", "timestampMilliseconds"], INTEGER),
}
OF_TRANSACTIONS = {
    **dict.fromkeys(
        [
            "mint", "l1BaseFee", "depositValue", "retryValue", "maxSubmissionFee", "maxRefund", "submissionFeeRefund",
            "effectiveGasPrice",
        ],
        TEXT,
    ),
    **dict.fromkeys(["blockTimestamp", "depositReceiptVersion", "depositNonce", "queueIndex"], INTEGER),
}  # fmt: skip
OF_RECEIPTS = {
    **dict.fromkeys(
        [
            "blobGasUsed", "blobGasPrice", "l1Fee", "l1GasUsed", "l1GasPrice", "l1BlobBaseFee", "l1BaseFeeScalar",
            "l1BlobBaseFeeScalar", "operatorFeeScalar", "operatorFeeConstant", "daFootprintGasScalar", "gasUsedForL1",
            "l1BlockNumber",
        ],
        TEXT,
    ),
    **dict.fromkeys(["blockTimestamp", "depositNonce", "depositReceiptVersion"], INTEGER),
}  # fmt: skip
DATA = ["v", "r", "s", "yParity", "root", "sendRoot", "sourceHash", "blockExtraData", "ticketId", "unheardOf"]


def extra_of_block(members: dict[str, Any]) -> dict[str, Any]:
    return json.loads(parse_block(json.dumps(BLOCK | members).encode()).extra.json)


def extra_of_transaction(members: dict[str, Any]) -> dict[str, Any]:
    found = parse_transaction(json.dumps(TRANSACTION | {"blockNumber": "0x10", "blockHash": HASH} | members).encode())
    assert found.block_number == 16
    listed = BLOCK | {"transactions": [TRANSACTION | {"transactionIndex": "0x0", "blockNumber": "0x10"} | members]}
    [other] = parse_block_transactions(json.dumps(listed).encode(), pays_tips=True).transactions
    # One form in both operations.
    decoded = json.loads(other.extra.json)
    assert decoded.pop("blockNumber") == str(found.block_number)
    assert decoded == json.loads(found.transaction.extra.json)
    return decoded


def extra_of_receipt(members: dict[str, Any]) -> dict[str, Any]:
    return json.loads(parse_receipt(json.dumps(RECEIPT | members).encode()).extra.json)


DOCUMENTS = [(extra_of_block, OF_BLOCKS), (extra_of_transaction, OF_TRANSACTIONS), (extra_of_receipt, OF_RECEIPTS)]


@pytest.mark.parametrize(("extra_of", "quantities"), DOCUMENTS, ids=["block", "transaction", "receipt"])
def test_what_is_a_quantity_and_what_is_data(extra_of: Any, quantities: dict[str, Any]) -> None:
    members = dict.fromkeys([*quantities, *DATA], "0xface")
    assert extra_of(members) == dict.fromkeys(DATA, "0xface") | quantities


ODD = [None, True, 7, 1.5, "7", "0.684", "", "0x", "0xzz", "0x-1", "0x 1", "0x" + "1" * 65, ["0x1"], {"a": "0x1"}]


@pytest.mark.parametrize(("extra_of", "quantities"), DOCUMENTS, ids=["block", "transaction", "receipt"])
@pytest.mark.parametrize("value", ODD)
def test_what_is_no_hex_quantity_stays_as_it_is(extra_of: Any, quantities: dict[str, Any], value: Any) -> None:
    members = dict.fromkeys(quantities, value)
    assert extra_of(members) == members


def test_a_blocks_nonce_and_extra_data_are_data() -> None:
    block = parse_block(json.dumps(BLOCK | {"nonce": "0x0000000000000042", "extraData": "0x0f"}).encode())
    assert (block.nonce, block.extra_data) == ("0x0000000000000042", "0x0f")


def test_integers_that_not_every_reader_takes_stay_hex_and_amounts_of_any_size_are_text() -> None:
    most, more = hex(2**53 - 1), hex(2**53)
    assert extra_of_block({"milliTimestamp": most}) == {"milliTimestamp": 2**53 - 1}
    assert extra_of_block({"milliTimestamp": more}) == {"milliTimestamp": more}
    assert extra_of_receipt({"l1Fee": hex(2**256 - 1)}) == {"l1Fee": str(2**256 - 1)}


def test_withdrawals_and_authorisations() -> None:
    withdrawal = {"index": "0x5", "validatorIndex": "0x7", "address": ADDRESS, "amount": "0xde0b6b3a7640000"}
    assert extra_of_block({"withdrawals": [withdrawal, {}]})["withdrawals"] == [
        {"index": 5, "validatorIndex": 7, "address": ADDRESS, "amount": str(10**18)},
        {},
    ]
    one = {"chainId": "0x1", "address": ADDRESS, "nonce": hex(2**64 - 1), "yParity": "0x1", "r": "0x2", "s": "0x3"}
    assert extra_of_transaction({"authorizationList": [one]})["authorizationList"] == [
        one | {"chainId": "1", "nonce": str(2**64 - 1)}
    ]
    for odd in ("none", None, [1], [[]], {"index": "0x5"}):
        assert extra_of_block({"withdrawals": odd}) == {"withdrawals": odd}


NAMES = st.sampled_from([*OF_BLOCKS, *OF_TRANSACTIONS, *OF_RECEIPTS, *DATA, "withdrawals", "authorizationList"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.integers(0, 2**256 - 1).map(hex),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


DOCUMENT_NAMES = st.sampled_from(["block", "transaction", "receipt"])


@given(st.dictionaries(NAMES | st.text(max_size=4), VALUES, max_size=6), DOCUMENT_NAMES)
def test_members_are_never_lost_and_only_quantities_change(members: dict[str, Any], document: str) -> None:
    fields, extra = convert_members(read_members(json.dumps(members).encode()), {}, load_forms(document))
    assert fields == {}
    decoded = msgspec.json.decode(extra) if extra else {}
    assert list(decoded) == list(members)
    forms = load_forms(document)
    for name, value in members.items():
        if name not in forms:
            assert decoded[name] == value
        elif isinstance(value, str) and decoded[name] != value:
            assert int(decoded[name]) == int(value, 16)
