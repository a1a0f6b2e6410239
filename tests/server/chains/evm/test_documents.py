"""Blocks in shapes that local nodes do not produce: old ones, layer-2 ones, broken ones."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.chains.evm.documents import parse_block, parse_block_transactions

HASH = "0x" + "ab" * 32
ADDRESS = "0x" + "0" * 39 + "1"
GENESIS = {"number": "0x0", "hash": HASH, "timestamp": "0x0", "transactions": []}


def block(**members: object) -> bytes:
    return json.dumps({**GENESIS, **members}).encode()


def transaction(**members: object) -> dict[str, object]:
    return {
        "hash": HASH,
        "from": ADDRESS,
        "to": None,
        "value": "0x0",
        "gas": "0x5208",
        "input": "0x",
        "nonce": "0x0",
        "transactionIndex": "0x0",
        **members,
    }


def test_a_block_before_london_has_no_base_fee():
    parsed = parse_block(block(miner=ADDRESS, difficulty="0x400000000"))
    assert not parsed.HasField("base_fee_per_gas")
    assert (parsed.number, parsed.difficulty) == (0, "17179869184")
    assert not parsed.extra.json


def test_layer_2_members_are_kept_in_the_nodes_own_bytes():
    rest = b'"sendRoot":"0x18d","sendCount":18446744073709551617,"we\\"ird":[1.10]'
    odd = b'{"number":"0x1","hash":"0xab","timestamp":"0x1","transactions":[],' + rest + b"}"
    assert parse_block(odd).extra.json == (b"{" + rest + b"}").decode()


def test_the_effective_price_follows_eip_1559_where_tips_are_paid():
    dynamic = transaction(type="0x2", gasPrice="0x64", maxFeePerGas="0x64", maxPriorityFeePerGas="0x2")
    answer = block(baseFeePerGas="0xa", transactions=[dynamic])
    assert parse_block_transactions(answer, pays_tips=True).transactions[0].gas_price == "12"
    assert parse_block_transactions(answer, pays_tips=False).transactions[0].gas_price == "100"
    capped = block(baseFeePerGas="0x63", transactions=[dynamic])
    assert parse_block_transactions(capped, pays_tips=True).transactions[0].gas_price == "100"


def test_legacy_and_deposit_transactions():
    legacy = transaction(gasPrice="0x7", v="0x1b", r="0x1", s="0x2")
    deposit = transaction(type="0x7e", sourceHash=HASH, mint="0x0", isSystemTx=False)
    parsed = parse_block_transactions(block(baseFeePerGas="0xa", transactions=[legacy, deposit]), pays_tips=True)
    assert json.loads(parsed.transactions[0].extra.json) == {"v": "0x1b", "r": "0x1", "s": "0x2"}
    assert [(one.type, one.gas_price) for one in parsed.transactions] == [(0, "7"), (0x7E, "0")]
    assert json.loads(parsed.transactions[1].extra.json) == {"sourceHash": HASH, "mint": "0", "isSystemTx": False}


@pytest.mark.parametrize(
    "answer",
    [
        b"", b"[]", b"12", b'"x"', b"{}", b'{"number":1,"hash":"0xab"}', b'{"number":"7","hash":"0xab"}',
        b'{"number":"0x","hash":"0xab"}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_block_is_refused(answer):
    with pytest.raises(ValueError, match=r"."):
        parse_block(answer)
    with pytest.raises(ValueError, match=r"."):
        parse_block_transactions(answer, pays_tips=True)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3)
)
member_names = st.sampled_from(
    ["number", "hash", "timestamp", "size", "miner", "transactions", "uncles", "baseFeePerGas"]
)


@given(st.dictionaries(member_names, json_values))
def test_garbled_members_are_value_errors_and_nothing_else(members):
    for parse in (parse_block, lambda answer: parse_block_transactions(answer, pays_tips=True)):
        with contextlib.suppress(ValueError):
            parse(json.dumps({**GENESIS, **members}).encode())
