"""Quantities of Ethereum JSON-RPC: hex text, and the JSON strings around it."""

from __future__ import annotations

from binascii import Error, unhexlify

from server.contracts.words import UINT256_MAX

_MOST = (1 << 63) - 1


def quantity(text: str) -> int:
    """Return the number of a hex quantity (`"0x1b4"`); strict about the prefix, lenient about leading zeros.

    Raises:
        ValueError: not a hex quantity.
    """
    # Python reads signs, spaces and underscores as well.
    if not text.startswith(("0x", "0X")) or not text.isalnum():
        raise ValueError("not a hex quantity")
    return int(text[2:], 16)


def block_tag(block: int | None) -> str:
    """Return the block parameter of a call: `latest`, or the number without leading zeros."""
    return "latest" if block is None else hex(block)


def json_data(result: bytes) -> bytes:
    """Return the bytes that a JSON result `"0x..."` writes in hex.

    Raises:
        ValueError: the result is not a JSON string of hex bytes.
    """
    if result[:3] != b'"0x' or result[-1:] != b'"':
        raise ValueError("not a JSON string of hex bytes")
    try:
        return unhexlify(result[3:-1])
    except Error as error:
        raise ValueError("not a JSON string of hex bytes") from error


def json_quantity(result: bytes) -> int:
    """Return the number that a JSON result `"0x..."` writes in hex.

    Raises:
        ValueError: the result is not a JSON string of a hex quantity.
    """
    if result[:3] != b'"0x' or result[-1:] != b'"' or not result[1:-1].isalnum():
        raise ValueError("not a JSON string of a hex quantity")
    return int(result[3:-1], 16)


def json_word(result: bytes) -> bytes:
    """Return the number that a JSON result `"0x..."` writes in hex as a 32-byte word; ValueError as `json_quantity`."""
    number = json_quantity(result)
    if number > UINT256_MAX:
        raise ValueError("more than a word holds")
    return number.to_bytes(32, "big")


def json_count(result: bytes) -> int:
    """Return the count (of blocks, of gas) that a JSON result writes in hex; ValueError as `json_quantity`."""
    return check_count(json_quantity(result))


def check_count(number: int) -> int:
    """Return a count of blocks or of gas as it is; ValueError for one that no chain comes to."""
    if number > _MOST:
        raise ValueError("more than any chain has")
    return number
