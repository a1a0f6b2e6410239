"""Reads ABI-encoded data that strangers made: every length and offset is checked against what is there and a bound.

A generic decoder follows whatever offsets it is given: nested arrays that all point to one place decode to far more
than was sent. Here the caller says for each read how much it may be.

Source: Solidity ABI specification.
"""

from __future__ import annotations

WORD = 32


def read_number(data: bytes, at: int) -> int:
    """Return the unsigned integer of the word at byte `at`; ValueError where the data ends before."""
    if at < 0 or len(data) < at + WORD:
        raise ValueError("the data ends too early")
    return int.from_bytes(data[at : at + WORD], "big")


def follow(data: bytes, base: int, index: int) -> int:
    """Return where the dynamic value begins whose offset (from `base`) is word `index` of the tuple at `base`.

    Raises ValueError where that is outside of the data.
    """
    at = base + read_number(data, base + WORD * index)
    if at + WORD > len(data):
        raise ValueError("an offset points outside of the data")
    return at


def read_bytes(data: bytes, at: int, most: int) -> bytes:
    """Return the `bytes` or `string` at `at`; ValueError where it is longer than `most` or than the data."""
    size = read_number(data, at)
    start = at + WORD
    if size > most or start + size > len(data):
        raise ValueError("a value is too long")
    return data[start : start + size]


def read_items(data: bytes, at: int, most: int) -> list[int]:
    """Return where the dynamic elements of the array at `at` begin; ValueError for more than `most`."""
    count = read_number(data, at)
    if count > most:
        raise ValueError("an array is too long")
    return [follow(data, at + WORD, index) for index in range(count)]


def read_address(data: bytes, at: int) -> bytes:
    """Return the 20 bytes of the address in the word at `at`; ValueError where the word is no address."""
    number = read_number(data, at)
    if number >> 160:
        raise ValueError("a word is no address")
    return number.to_bytes(20, "big")
