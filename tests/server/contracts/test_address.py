"""EIP-55 casing: accepted in any valid form, answered in one."""

from __future__ import annotations

import random

import pytest
from eth_utils.address import to_checksum_address

from server.contracts.address import checksum_address

# EIP-55's own test cases.
ADDRESSES = [
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0xde709f2102306220921060314715629080e2fb77",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_valid_casing_has_one_answer(address):
    for text in (address, address.lower(), "0x" + address[2:].upper()):
        assert checksum_address(text) == address


@pytest.mark.parametrize("address", ADDRESSES[:4])
def test_one_wrong_letter_is_refused(address):
    place = next(index for index in range(2, 42) if address[index].isalpha())
    wrong = address[:place] + address[place].swapcase() + address[place + 1 :]
    with pytest.raises(ValueError, match="checksum"):
        checksum_address(wrong)


@pytest.mark.parametrize(
    "text",
    ["", "0x", ADDRESSES[0][2:], ADDRESSES[0] + "0", "0X" + ADDRESSES[0][2:], "0x" + "g" * 40, "0x" + "1" * 40 + "\n"]
    # What readers of hex skip or take besides: blanks, separators, digits of other scripts, signs.
    + [ADDRESSES[0][:20] + two + ADDRESSES[0][22:] for two in ("  ", "\n\n", "1_", "٣٣", "+1", "\ud800a", "\uff41" * 2)]
    + ["0x" + " " * 40, "0x 11" + "1" * 37, "1x" + "1" * 40],
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ValueError, match="40 hex digits"):
        checksum_address(text)


def test_any_address_is_written_as_by_eth_utils():
    seeded = random.Random(55)
    for _ in range(2000):
        written = to_checksum_address(seeded.randbytes(20))
        for text in (written, written.lower(), "0x" + written[2:].upper()):
            assert checksum_address(text) == written


def test_every_wrong_letter_of_an_address_is_refused():
    for address in ADDRESSES[:4]:
        for place in range(2, 42):
            if address[place].isalpha():
                with pytest.raises(ValueError, match="checksum"):
                    checksum_address(address[:place] + address[place].swapcase() + address[place + 1 :])
