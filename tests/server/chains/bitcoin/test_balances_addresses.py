"""Addresses of Bitcoin: the vectors of BIP-173 and BIP-350, and what must never pass."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devnet import known_bitcoin as known
from server.chains.bitcoin.balances import parse_address
from server.errors import InvalidArgument

VALID = [
    "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
    "bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y",
    "BC1SW50QGDZ25J",
    "bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs",
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
    "1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
    "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
    "1111111111111111111114oLvT2",
    "3P14159f73E4gFr7JterCCQh9QjiTjiZrG",
]
INVALID = [
    "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx",  # test network
    "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080",  # regression network
    "tb1p6h5fuzmnvpdthf5shf0qqjzwy7wsqc5rhmgq2ks9xrak4ry6mtrscsqvzp",
    "mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn",  # test network, P2PKH
    "2MzQwSSnBHWHqSAqtTVQ6v47XtaisrJa1Vc",  # test network, P2SH
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd",  # Bech32 for version 1
    "BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL",  # Bech32 for version 16
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh",  # Bech32m for version 0
    "bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4",  # a character outside of the alphabet
    "BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R",  # version 17
    "bc1pw5dgrnzv",  # program of one byte
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav",  # of 41 bytes
    "BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P",  # version 0 of 16 bytes
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf",  # more than four bits of padding
    "bc1gmk9yu",  # no data
    "bc1",
    "bc1q",
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kV8f3t4",  # mixed case
    "1BoatSLRHtKNngkdXEeobR76b53LETtpyX",
    "11BoatSLRHtKNngkdXEeobR76b53LETtpyT",
    "1BoatSLRHtKNngkdXEeobR76b53LETtpy0",
    " 1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
    "",
    "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
    "1" * 5000,
    "bc1" + "q" * 5000,
    "bc1qİ508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
]
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


@pytest.mark.parametrize("text", [*VALID, known.MINER, *known.CONFIRMED])
def test_valid_ones_pass(text: str) -> None:
    assert parse_address(text) == (text.lower() if text[:3].lower() == "bc1" else text)


@pytest.mark.parametrize("text", INVALID)
def test_others_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_address(text)
    assert caught.value.field == "address"


def base58(version: int, program: bytes) -> str:
    """Write an address by the rules, one byte after the other, as a check on the reader's arithmetic."""
    payload = bytes([version]) + program
    raw = payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    digits, number = "", int.from_bytes(raw)
    while number:
        number, digit = divmod(number, 58)
        digits = BASE58[digit] + digits
    return "1" * (len(raw) - len(raw.lstrip(b"\0"))) + digits


@given(st.sampled_from((0, 5)), st.binary(min_size=20, max_size=20))
def test_every_hash_has_an_address(version: int, program: bytes) -> None:
    text = base58(version, program)
    assert parse_address(text) == text


@given(st.integers(0, 255).filter(lambda version: version not in (0, 5)), st.binary(min_size=20, max_size=20))
def test_other_networks_are_refused(version: int, program: bytes) -> None:
    with pytest.raises(InvalidArgument):
        parse_address(base58(version, program))


@given(st.sampled_from((0, 5)), st.binary(max_size=40).filter(lambda program: len(program) != 20))
def test_other_lengths_are_refused(version: int, program: bytes) -> None:
    with pytest.raises(InvalidArgument):
        parse_address(base58(version, program))


@given(st.sampled_from([known.P2PKH, known.P2SH]), st.data())
def test_one_wrong_character_of_base58_is_noticed(address: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(address) - 1))
    wrong = data.draw(st.sampled_from([mark for mark in BASE58 if mark != address[place]]))
    with pytest.raises(InvalidArgument):
        parse_address(address[:place] + wrong + address[place + 1 :])


@given(st.sampled_from([known.P2WPKH, known.P2WSH, known.P2TR]), st.data())
def test_up_to_two_wrong_characters_of_bech32_are_noticed(address: str, data: st.DataObject) -> None:
    marks = list(address)
    for place in data.draw(st.sets(st.integers(3, len(address) - 1), min_size=1, max_size=2)):
        marks[place] = data.draw(st.sampled_from([mark for mark in BECH32 if mark != address[place]]))
    with pytest.raises(InvalidArgument):
        parse_address("".join(marks))


@given(st.text(max_size=100))
def test_any_text_is_answered(text: str) -> None:
    try:
        parse_address(text)
    except InvalidArgument as refusal:
        assert refusal.field == "address"  # noqa: PT017 - whether it is one is for the other tests
