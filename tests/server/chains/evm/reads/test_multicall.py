"""The hand-written aggregate3 codec against an independent ABI codec."""

from __future__ import annotations

import pytest
from eth_abi import decode, encode
from hypothesis import given
from hypothesis import strategies as st

from server.chains.evm.reads.multicall import (
    AGGREGATE3,
    GET_ETH_BALANCE,
    Call,
    decode_aggregate3,
    encode_aggregate3,
    eth_balance_call,
)

addresses = st.binary(min_size=20, max_size=20)
calls = st.lists(st.tuples(addresses, st.binary(max_size=100)), max_size=12)
outcomes = st.lists(st.tuples(st.booleans(), st.binary(max_size=100)), max_size=12)


@given(calls)
def test_encoding_is_what_an_abi_codec_writes(pairs):
    expected = encode(["(address,bool,bytes)[]"], [[("0x" + target.hex(), True, data) for target, data in pairs]])
    assert encode_aggregate3([Call(*pair) for pair in pairs]) == AGGREGATE3 + expected


@given(outcomes)
def test_decoding_reads_what_an_abi_codec_wrote(pairs):
    assert decode_aggregate3(encode(["(bool,bytes)[]"], [pairs]), len(pairs)) == pairs


@given(outcomes, st.data())
def test_cut_or_garbled_answers_are_refused_or_stay_inside_the_data(pairs, data):
    answer = bytearray(encode(["(bool,bytes)[]"], [pairs]))
    if data.draw(st.booleans()):
        answer = answer[: data.draw(st.integers(0, len(answer) - 1))]
    else:
        answer[data.draw(st.integers(0, len(answer) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        decoded = decode_aggregate3(bytes(answer), len(pairs))
    except ValueError:
        return
    assert len(decoded) == len(pairs)
    assert all(len(outcome.data) <= len(answer) for outcome in decoded)


@pytest.mark.parametrize("answer", [b"", b"\0" * 31, b"\0" * 32, b"\xff" * 64, (32).to_bytes(32, "big")])
def test_what_is_no_answer_is_refused(answer):
    with pytest.raises(ValueError, match=r"."):
        decode_aggregate3(answer, 1)


def test_an_answer_of_another_length_is_refused():
    answer = encode(["(bool,bytes)[]"], [[(True, b"")]])
    with pytest.raises(ValueError, match="another number"):
        decode_aggregate3(answer, 2)


def test_the_balance_call_is_get_eth_balance():
    account = bytes(range(20))
    call = eth_balance_call(b"\1" * 20, account)
    assert call.data[:4] == GET_ETH_BALANCE
    assert decode(["address"], call.data[4:]) == ("0x" + account.hex(),)
