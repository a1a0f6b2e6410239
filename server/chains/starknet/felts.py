"""Field elements as callers write them and as nodes want them.

Nodes refuse leading zeros (specification: `^0x(0|[a-fA-F1-9][a-fA-F0-9]{0,62})$`), while wallets and explorers pad to
64 digits: what callers write is normalised before it is sent, and felts are compared as numbers.
"""

from __future__ import annotations

import re

from server.errors import InvalidArgument

PRIME = (1 << 251) + 17 * (1 << 192) + 1
"""Felts are below it."""

ADDRESS_BOUND = (1 << 251) - 256
"""Addresses are below it (Starknet documentation, contract address)."""

_FELT = re.compile(r"0[xX][0-9a-fA-F]{1,64}")


def parse_address(text: str, field: str) -> str:
    """Return an address in lower case without leading zeros; InvalidArgument naming `field` for what is none."""
    return hex(_number(text, ADDRESS_BOUND, field, "a Starknet address", "2^251 - 256"))


def parse_hash(text: str) -> str:
    """Return a transaction hash in lower case without leading zeros; InvalidArgument (`hash`) for what is none."""
    return hex(_number(text, PRIME, "hash", "a Starknet transaction hash", "the field's prime"))


def felt_number(text: str) -> int:
    """Return the number of a felt that a node wrote; ValueError for what is none."""
    if not _FELT.fullmatch(text):
        raise ValueError("not a felt")
    number = int(text, 16)
    if number >= PRIME:
        raise ValueError("beyond the field")
    return number


def _number(text: str, bound: int, field: str, what: str, limit: str) -> int:
    if not _FELT.fullmatch(text):
        raise InvalidArgument(f"{field}: {what} is 0x and up to 64 hex digits", field=field)
    number = int(text, 16)
    if number >= bound:
        raise InvalidArgument(f"{field}: {what} is below {limit}", field=field)
    return number
