"""EVM addresses: as callers write them, as bytes, and those that are precompiled contracts."""

from __future__ import annotations

from functools import lru_cache

from server.checksum import checksum_address
from server.errors import InvalidArgument

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
