"""Witness addresses, block hashes and heights of Bitcoin at random: what is legal is taken, everything else refused."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.chains.bitcoin.balances import parse_address
from server.chains.bitcoin.blocks import BlockReader
from server.chains.facts import load_facts
from server.errors import InvalidArgument, NotFound

LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
BECH32, BECH32M = 1, 0x2BC830A3
NOBODY: Any = None
BLOCKS = BlockReader(load_facts()["bitcoin"], NOBODY, NOBODY)


def written(version: int, program: bytes, constant: int, prefix: str = "bc") -> str:
    """An encoder of our own, by BIP-173 and BIP-350."""
    bits = "".join(f"{byte:08b}" for byte in program)
    bits += "0" * (-len(bits) % 5)
    data = [version, *(int(bits[start : start + 5], 2) for start in range(0, len(bits), 5))]
    checked = [*(ord(letter) >> 5 for letter in prefix), 0, *(ord(letter) & 31 for letter in prefix), *data, *[0] * 6]
    state = 1
    for value in checked:
        top = state >> 25
        state = (state & 0x1FFFFFF) << 5 ^ value
        for place, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            state ^= generator if top >> place & 1 else 0
    state ^= constant
    checksum = [state >> 5 * (5 - place) & 31 for place in range(6)]
    return prefix + "1" + "".join(LETTERS[value] for value in (*data, *checksum))


def test_the_encoder_is_right() -> None:
    program = bytes.fromhex("751e76e8199196d454941c45d1b3a323f1433bd6")
    assert written(0, program, BECH32) == "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
    assert written(16, program[:2], BECH32M) == "bc1sw50qgdz25j"


@given(st.one_of(st.binary(min_size=20, max_size=20), st.binary(min_size=32, max_size=32)), st.booleans())
def test_every_program_of_version_0(program: bytes, is_upper: bool) -> None:
    text = written(0, program, BECH32)
    assert parse_address(text.upper() if is_upper else text) == text
    with pytest.raises(InvalidArgument):
        parse_address(written(0, program, BECH32M))


@given(st.integers(1, 16), st.binary(min_size=2, max_size=40), st.booleans())
def test_every_program_of_a_later_version(version: int, program: bytes, is_upper: bool) -> None:
    text = written(version, program, BECH32M)
    assert parse_address(text.upper() if is_upper else text) == text
    for wrong in (written(version, program, BECH32), written(version, program, BECH32M, "tb")):
        with pytest.raises(InvalidArgument):
            parse_address(wrong)


@given(st.integers(0, 31), st.binary(max_size=50))
def test_no_program_beyond_the_rules(version: int, program: bytes) -> None:
    is_legal = len(program) in (20, 32) if version == 0 else version <= 16 and 2 <= len(program) <= 40
    if not is_legal:
        for constant in (BECH32, BECH32M):
            with pytest.raises(InvalidArgument):
                parse_address(written(version, program, constant))


@given(st.binary(min_size=32, max_size=32), st.booleans())
def test_every_block_hash_in_either_case(raw: bytes, is_upper: bool) -> None:
    assert BLOCKS.block_hash(raw.hex().upper() if is_upper else raw.hex()) == raw.hex()


@given(st.one_of(st.text(max_size=70), st.from_regex(r"(0x)?[0-9a-f]{62,66}\n?")))
def test_no_other_text_is_a_block_hash(text: str) -> None:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text, re.ASCII):
        with pytest.raises(InvalidArgument) as refused:
            BLOCKS.block_hash(text)
        assert refused.value.field == "hash"


@given(st.integers())
def test_heights_have_bounds(number: int) -> None:
    if 0 <= number < 1 << 31:
        assert BLOCKS.check_height(number) == number
    else:
        with pytest.raises(NotFound):
            BLOCKS.check_height(number)
