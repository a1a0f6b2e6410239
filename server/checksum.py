"""EVM addresses in their one canonical writing, EIP-55 mixed case."""

from __future__ import annotations

import re
from functools import lru_cache

from eth_hash.auto import keccak

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
