"""EVM addresses: read, written with the checksum of EIP-55."""

from __future__ import annotations

import re
from functools import lru_cache

from eth_hash.auto import keccak

from server.errors import InvalidArgument

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")

# Hashing one address takes about 6 us (15 by way of eth-utils), a look-up 0.1 us; 65,536 entries are about 16 MB.
_MEMO_SIZE = 65_536


@lru_cache(maxsize=_MEMO_SIZE)
def checksum_address(text: str) -> str:
    """Return `text` with EIP-55 casing.

    All lower and all upper case are accepted as they carry no checksum; in mixed case the checksum must be right.

    Raises:
        ValueError: not `0x` and 40 hex digits, or mixed case that is not the address's checksum.
    """
    if not _ADDRESS.fullmatch(text):
        raise ValueError("an EVM address is 0x and 40 hex digits")
    digits = text[2:]
    lower, upper = digits.lower(), digits.upper()
    # EIP-55: a letter is upper case where the hash of the lower-case text has a hex digit of 8 or more.
    marks = keccak(lower.encode("ascii")).hex()
    canonical = "".join([high if mark > "7" else low for low, high, mark in zip(lower, upper, marks, strict=False)])
    if digits not in (canonical, lower, upper):
        raise ValueError("the EIP-55 checksum of the address is wrong: check its digits, or write it in lower case")
    return "0x" + canonical


# Yellow Paper, appendix E (1 to 8); EIP-152 (9), EIP-4844 (10), EIP-2537 (11 to 17), EIP-7951 (256).
PRECOMPILES = frozenset(number.to_bytes(20, "big") for number in (*range(1, 18), 256))
"""Addresses that answer calls although no code stands there, as bytes."""


def parse_address(text: str, field: str) -> str:
    """Return the address with EIP-55 casing.

    Raises:
        InvalidArgument: not an EVM address, or its checksum is wrong; names `field`.
    """
    try:
        return checksum_address(text)
    except ValueError as error:
        raise InvalidArgument(f"{field}: {error}", field=field) from None


@lru_cache(4096)
def address_bytes(address: str) -> bytes:
    """Return the 20 bytes of an address that `parse_address` returned. The contracts of protocols are a few hundred."""
    return bytes.fromhex(address[2:])
