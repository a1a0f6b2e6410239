"""Names of Cosmos chains: Bech32 against an independent implementation, hashes, denoms."""

from __future__ import annotations

from contextlib import suppress

import bech32
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.chains.cosmos.names import (
    decode_bech32,
    encode_bech32,
    parse_account,
    parse_denom,
    parse_hash,
    parse_operator,
)
from server.errors import InvalidArgument

PREFIXES = st.sampled_from(["cosmos", "osmo", "axelar", "noble", "agoric", "cosmosvaloper"])
PAYLOADS = st.one_of(st.binary(min_size=20, max_size=20), st.binary(min_size=32, max_size=32))
LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


@given(PREFIXES, st.binary(max_size=40))
def test_it_writes_and_reads_as_another_implementation_does(prefix: str, payload: bytes) -> None:
    text = encode_bech32(prefix, payload)
    assert text == bech32.bech32_encode(prefix, bech32.convertbits(payload, 8, 5))
    if len(text) <= 90:
        assert decode_bech32(text) == (prefix, payload)
        assert decode_bech32(text.upper()) == (prefix, payload)


@given(PAYLOADS, st.integers(min_value=0), st.sampled_from(LETTERS))
def test_one_wrong_letter_is_always_found(payload: bytes, place: int, letter: str) -> None:
    text = encode_bech32("cosmos", payload)
    place = len("cosmos1") + place % (len(text) - len("cosmos1"))
    if text[place] == letter:
        return
    with pytest.raises(InvalidArgument):
        parse_account(text[:place] + letter + text[place + 1 :], "cosmos", "address")


@given(st.text(max_size=100))
def test_no_text_breaks_the_readers(text: str) -> None:
    for read in (
        lambda: parse_account(text, "cosmos", "address"),
        lambda: parse_operator(text, "cosmos", "validator"),
        lambda: parse_denom(text, "denom"),
        lambda: parse_hash(text, "block"),
    ):
        with suppress(InvalidArgument):
            assert read()


@given(PAYLOADS)
def test_prefix_and_kind_must_be_those_of_the_chain(payload: bytes) -> None:
    account, validator = encode_bech32("osmo", payload), encode_bech32("osmovaloper", payload)
    assert parse_account(account.upper(), "osmo", "address") == account
    assert parse_operator(validator, "osmo", "validator") == validator
    for text, prefix in ((account, "cosmos"), (validator, "osmo")):
        with pytest.raises(InvalidArgument):
            parse_account(text, prefix, "address")
    with pytest.raises(InvalidArgument):
        parse_operator(account, "osmo", "validator")


@given(st.binary(max_size=40).filter(lambda payload: len(payload) not in (20, 32)))
def test_other_lengths_are_no_addresses(payload: bytes) -> None:
    with pytest.raises(InvalidArgument):
        parse_account(encode_bech32("noble", payload), "noble", "address")


@given(st.binary(min_size=32, max_size=32))
def test_hashes_in_every_writing(digest: bytes) -> None:
    upper = digest.hex().upper()
    for text in (upper, upper.lower(), "0x" + upper, "0X" + upper.lower()):
        assert parse_hash(text, "transaction") == upper
    assert parse_denom(f"ibc/{upper.lower()}", "denom") == f"ibc/{upper}"
    assert parse_denom(f"IBC/{upper}", "denom") == f"ibc/{upper}"


@pytest.mark.parametrize("text", ["uatom", "factory/osmo1abc/uGold", "gamm/pool/1", "transfer/channel-0/uosmo", "aBc"])
def test_denoms_keep_their_case(text: str) -> None:
    assert parse_denom(text, "denom") == text


@pytest.mark.parametrize(
    "text", ["", "u", "ab", "1atom", "u atom", "ibc/12", "ibc/" + "g" * 64, "u" * 129, "uatom\n", "ü" * 5]
)
def test_what_is_no_denom(text: str) -> None:
    with pytest.raises(InvalidArgument):
        parse_denom(text, "denom")


@pytest.mark.parametrize("text", ["", "12", "0x", "g" * 64, "a" * 63, "a" * 65, "0x0x" + "a" * 64, "a" * 64 + "\n"])
def test_what_is_no_hash(text: str) -> None:
    with pytest.raises(InvalidArgument):
        parse_hash(text, "block")
