"""EVM addresses and hashes at random: every legal writing is taken, everything else refused."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from eth_utils import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from server.chains.evm.blocks import parse_hash
from server.contracts.address import address_bytes, parse_address
from server.errors import InvalidArgument

ADDRESSES = st.binary(min_size=20, max_size=20)
HASHES = st.binary(min_size=32, max_size=32)


@given(ADDRESSES)
def test_every_writing_of_an_address_has_one_answer(raw: bytes) -> None:
    # eth-utils is an implementation of EIP-55 that is not ours.
    canonical = to_checksum_address(raw)
    for text in (canonical, canonical.lower(), "0x" + canonical[2:].upper()):
        assert parse_address(text, "address") == canonical
    assert address_bytes(canonical) == raw


@given(ADDRESSES, st.data())
def test_a_letter_in_the_other_case_is_always_noticed(raw: bytes, data: st.DataObject) -> None:
    canonical = to_checksum_address(raw)
    letters = [index for index in range(2, 42) if canonical[index].isalpha()]
    if len(letters) < 3:
        return
    place = data.draw(st.sampled_from(letters))
    wrong = canonical[:place] + canonical[place].swapcase() + canonical[place + 1 :]
    if wrong[2:] in (wrong[2:].lower(), wrong[2:].upper()):
        return
    with pytest.raises(InvalidArgument) as refused:
        parse_address(wrong, "token")
    assert refused.value.field == "token"


@given(st.binary(max_size=40).filter(lambda raw: len(raw) != 20))
def test_other_lengths_are_no_addresses(raw: bytes) -> None:
    with pytest.raises(InvalidArgument):
        parse_address("0x" + raw.hex(), "address")


@given(HASHES, st.booleans())
def test_every_hash_is_taken_in_either_case(raw: bytes, is_upper: bool) -> None:
    digits = raw.hex().upper() if is_upper else raw.hex()
    assert parse_hash("0x" + digits, "block") == "0x" + raw.hex()


@given(st.one_of(st.text(max_size=80), st.from_regex(r"0[xX][0-9a-fA-F]{38,66}\n?")))
def test_no_other_text_passes(text: str) -> None:
    if not re.fullmatch(r"0x[0-9a-fA-F]{40}", text, re.ASCII):
        with pytest.raises(InvalidArgument):
            parse_address(text, "address")
    else:
        with suppress(InvalidArgument):
            assert parse_address(text, "address").lower() == text.lower()
    if not re.fullmatch(r"0x[0-9a-fA-F]{64}", text, re.ASCII):
        with pytest.raises(InvalidArgument) as refused:
            parse_hash(text, "transaction")
        assert refused.value.field == "hash"
