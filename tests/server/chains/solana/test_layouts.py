"""Solana addresses and signatures: every legal writing is taken, everything else refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey
from solders.signature import Signature

from server.chains.solana.layouts import (
    metaplex_texts,
    own_texts,
    parse_key,
    parse_signature,
    pointed_at,
    read_holding,
    read_mint,
)
from server.errors import InvalidArgument

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def base58(raw: bytes) -> str:
    """An encoder of our own, by the definition."""
    number, digits = int.from_bytes(raw, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        digits = ALPHABET[rest] + digits
    return "1" * (len(raw) - len(raw.lstrip(b"\0"))) + digits


@given(st.binary(min_size=32, max_size=32))
def test_every_address_is_taken(raw: bytes):
    assert bytes(parse_key(base58(raw), "address")) == raw


@given(st.binary(min_size=64, max_size=64))
def test_every_signature_is_taken(raw: bytes):
    assert bytes(parse_signature(base58(raw), "hash")) == raw


@given(st.binary(max_size=80).filter(lambda raw: len(raw) not in (32, 64)))
def test_another_length_is_refused(raw: bytes):
    for parse in (parse_key, parse_signature):
        with pytest.raises(InvalidArgument) as refusal:
            parse(base58(raw), "it")
        assert refusal.value.field == "it"


@given(st.text(max_size=120))
def test_any_text_is_taken_whole_or_refused(text: str):
    for parse in (parse_key, parse_signature):
        with suppress(InvalidArgument):
            assert str(parse(text, "it")) == text


@pytest.mark.parametrize("text", ["", " ", "0" * 32, "l" * 44, "z" * 44, "1" * 31, "1" * 33, "1" * 5000, "é" * 32])
def test_near_misses(text: str):
    with pytest.raises(InvalidArgument):
        parse_key(text, "address")


def test_keys_and_signatures_are_not_taken_for_each_other():
    with pytest.raises(InvalidArgument):
        parse_key(str(Signature.new_unique()), "address")
    with pytest.raises(InvalidArgument):
        parse_signature(str(Pubkey.new_unique()), "hash")


@given(st.binary(max_size=400), st.integers(0, 3))
def test_no_bytes_break_the_layouts(noise: bytes, kind: int):
    data = bytes(45) + b"\1" + bytes(119) + bytes([kind]) + noise
    mint = read_mint(data)
    assert (mint is None) == (kind != 1)
    if mint is not None:
        own_texts(mint, bytes(32))
        pointed_at(mint)
    read_mint(noise)
    read_holding(noise, bytes(32), bytes(32))
    metaplex_texts(noise, bytes(32))
    metaplex_texts(b"\4" + bytes(64) + noise, bytes(32))
