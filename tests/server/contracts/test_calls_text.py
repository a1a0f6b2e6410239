"""Strings out of contracts, whatever is in them."""

from __future__ import annotations

import pytest
from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

from server.contracts.calls import MAX_TEXT_BYTES, clean_text, read_text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (encode(["string"], ["USD Coin"]), "USD Coin"),
        (b"MKR".ljust(32, b"\0"), "MKR"),
        (encode(["string"], [""]), ""),
        (encode(["string"], ["USD₮0"]), "USD₮0"),
        (encode(["bytes"], [b"a\0b\xff"]), "ab\ufffd"),
        (b"", None),
        (b"\1" * 31, None),
        (b"\xff" * 64, None),
        ((32).to_bytes(32, "big") + (1 << 255).to_bytes(32, "big"), None),
    ],
)
def test_strings_bytes32_and_neither(data, text):
    assert read_text(data) == text


def test_long_text_is_cut_at_a_character():
    cut = clean_text("€".encode() * 1000)
    assert cut == "€" * (MAX_TEXT_BYTES // 3)


@given(st.binary(max_size=2000))
def test_any_bytes_make_short_valid_text(data):
    for text in (clean_text(data), read_text(data) or ""):
        assert len(text.encode("utf-8")) <= MAX_TEXT_BYTES
        assert "\0" not in text


@given(st.text(max_size=60).filter(lambda text: "\0" not in text))
def test_strings_come_back_as_they_were(text):
    assert read_text(encode(["string"], [text])) == text.encode()[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
