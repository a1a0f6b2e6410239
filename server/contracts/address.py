"""EVM addresses as callers write them."""

from __future__ import annotations

from server.checksum import checksum_address
from server.errors import InvalidArgument


def parse_address(text: str, field: str) -> str:
    """Return the address with EIP-55 casing.

    Raises:
        InvalidArgument: not an EVM address, or its checksum is wrong; names `field`.
    """
    try:
        return checksum_address(text)
    except ValueError as error:
        raise InvalidArgument(f"{field}: {error}", field=field) from None


def address_bytes(address: str) -> bytes:
    """Return the 20 bytes of an address that `parse_address` returned."""
    return bytes.fromhex(address[2:])
