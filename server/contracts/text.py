"""Strings that contracts return, whatever is in them."""

from __future__ import annotations

from server.contracts.words import word

MAX_TEXT_BYTES = 256


def clean_text(data: bytes) -> str:
    """Return bytes as text: UTF-8 with replacement, NULs stripped, 256 bytes at most (decisions section 3.2)."""
    text = data[: MAX_TEXT_BYTES * 4].decode("utf-8", "replace").replace("\0", "")
    return text.encode("utf-8")[:MAX_TEXT_BYTES].decode("utf-8", "ignore")


def read_text(data: bytes) -> str | None:
    """Return the string of an ABI answer: a dynamic `string` (or `bytes`), or the `bytes32` of old tokens.

    None where the data is neither, an empty answer included.
    """
    if len(data) == 32:
        return clean_text(data)
    content = dynamic_bytes(data)
    return None if content is None else clean_text(content)


def dynamic_bytes(data: bytes) -> bytes | None:
    """Return the content of a dynamic `string` or `bytes` that is an ABI answer's first value; None where none is."""
    if len(data) < 64:
        return None
    offset = word(data)
    if offset + 32 > len(data):
        return None
    size = int.from_bytes(data[offset : offset + 32], "big")
    start = offset + 32
    return data[start : start + size] if start + size <= len(data) else None
