"""Words of ABI-encoded data: 32 bytes each."""

from __future__ import annotations

UINT256_MAX = (1 << 256) - 1


def word(data: bytes, index: int = 0) -> int:
    """Return the unsigned integer of the 32-byte word at `index`.

    Raises:
        ValueError: `data` ends before it.
    """
    start = index * 32
    if len(data) < start + 32:
        raise ValueError("the data ends before the word")
    return int.from_bytes(data[start : start + 32], "big")


def address_word(address: bytes) -> bytes:
    """Return a 20-byte address as the ABI writes it, padded to 32 bytes on the left."""
    return b"\0" * 12 + address
