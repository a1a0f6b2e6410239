"""Felts, addresses and hashes: every writing of a number is that number, and nothing else passes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.chains.starknet.answers import ADDRESS_BOUND, PRIME, felt_number, parse_address, parse_hash
from server.errors import InvalidArgument

# The pattern of the specification, which nodes enforce.
SPECIFIED = re.compile(r"0x(0|[a-fA-F1-9]{1}[a-fA-F0-9]{0,62})")


def test_the_bounds_are_the_documented_ones() -> None:
    assert PRIME == 0x800000000000011000000000000000000000000000000000000000000000001
    assert ADDRESS_BOUND == 2**251 - 256


@given(st.integers(0, ADDRESS_BOUND - 1), st.integers(0, 64), st.booleans())
def test_every_writing_of_an_address_is_normalised(number: int, width: int, is_upper: bool) -> None:
    digits = f"{number:x}".rjust(width, "0")
    found = parse_address("0x" + (digits.upper() if is_upper else digits), "address")
    assert SPECIFIED.fullmatch(found)
    assert int(found, 16) == number
    assert found == found.lower()


@given(st.integers(ADDRESS_BOUND, 2**256 - 1))
def test_what_is_beyond_the_bound_is_no_address(number: int) -> None:
    with pytest.raises(InvalidArgument) as refused:
        parse_address(hex(number), "token")
    assert refused.value.field == "token"


@given(st.integers(0, PRIME - 1))
def test_every_felt_may_be_a_hash(number: int) -> None:
    assert int(parse_hash(f"0x{number:064x}"), 16) == number == felt_number(hex(number))


@given(st.integers(PRIME, 2**256 - 1))
def test_what_is_beyond_the_prime_is_no_felt(number: int) -> None:
    with pytest.raises(InvalidArgument):
        parse_hash(hex(number))
    with pytest.raises(ValueError, match="field"):
        felt_number(hex(number))


@given(st.text(max_size=70))
def test_no_other_text_passes(text: str) -> None:
    if not re.fullmatch(r"0[xX][0-9a-fA-F]{1,64}", text, re.ASCII):
        for parse in (parse_hash, lambda value: parse_address(value, "address")):
            with pytest.raises(InvalidArgument):
                parse(text)
