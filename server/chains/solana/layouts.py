"""Bytes of accounts: SPL mints and token accounts with their extensions, and Metaplex metadata.

Sources: the SPL token programs' state layouts, Metaplex token metadata (borsh, little endian). Lengths come from the
chain, so every read checks that it stays within the account.
"""

from __future__ import annotations

from typing import NamedTuple

_MINT_SIZE = 82
_ACCOUNT_SIZE = 165
_KIND_MINT, _KIND_ACCOUNT = 1, 2
_KEY = 32
_POINTER, _METADATA = 18, 19
_METAPLEX_KEY = 4
_MAX_TEXT_BYTES = 256


class Mint(NamedTuple):
    """A mint: raw supply, decimals, and its extensions by type."""

    supply: int
    decimals: int
    extensions: dict[int, bytes]


class Texts(NamedTuple):
    """What token metadata says; None where it says nothing."""

    name: str | None
    symbol: str | None
    uri: str | None


NO_TEXTS = Texts(None, None, None)


def read_mint(data: bytes) -> Mint | None:
    """Return the mint in an account of a token program, None where it holds none."""
    is_plain = len(data) == _MINT_SIZE
    is_extended = len(data) > _ACCOUNT_SIZE and data[_ACCOUNT_SIZE] == _KIND_MINT
    if not (is_plain or is_extended) or data[45] != 1:
        return None
    return Mint(_uint(data, 36, 8), data[44], _extensions(data) if is_extended else {})


def read_holding(data: bytes, mint: bytes, owner: bytes) -> int | None:
    """Return the raw amount in a token account of that mint and owner, None where the account is none."""
    is_plain = len(data) == _ACCOUNT_SIZE
    is_extended = len(data) > _ACCOUNT_SIZE and data[_ACCOUNT_SIZE] == _KIND_ACCOUNT
    if not (is_plain or is_extended) or data[: 2 * _KEY] != mint + owner:
        return None
    return _uint(data, 64, 8)


def own_texts(mint: Mint, key: bytes) -> Texts | None:
    """Return the metadata that a Token-2022 mint carries itself, None where it carries none (or another mint's)."""
    value = mint.extensions.get(_METADATA)
    if value is None or value[_KEY : 2 * _KEY] != key:
        return None
    return _read_texts(value, 2 * _KEY)


def pointed_at(mint: Mint) -> bytes | None:
    """Return the address that a mint's metadata pointer names, None where it names none."""
    value = mint.extensions.get(_POINTER)
    if value is None or len(value) < 2 * _KEY or value[_KEY : 2 * _KEY] == bytes(_KEY):
        return None
    return value[_KEY : 2 * _KEY]


def metaplex_texts(data: bytes, key: bytes) -> Texts | None:
    """Return the texts of a Metaplex metadata account of that mint, None where it is none.

    What follows the texts may be cut short or hold junk in old accounts and is not read.
    """
    if len(data) < 1 + 2 * _KEY or data[0] != _METAPLEX_KEY or data[1 + _KEY : 1 + 2 * _KEY] != key:
        return None
    return _read_texts(data, 1 + 2 * _KEY)


def clean_text(raw: bytes) -> str | None:
    """Return bytes as text: UTF-8 with replacement, without NULs and outer spaces, 256 bytes at most; None if empty."""
    text = raw[: 4 * _MAX_TEXT_BYTES].decode("utf-8", "replace").replace("\0", "").strip()
    return text.encode()[:_MAX_TEXT_BYTES].decode("utf-8", "ignore") or None


def _read_texts(data: bytes, at: int) -> Texts | None:
    found = []
    for _ in range(3):
        if at + 4 > len(data):
            return None
        size = _uint(data, at, 4)
        if at + 4 + size > len(data):
            return None
        found.append(clean_text(data[at + 4 : at + 4 + size]))
        at += 4 + size
    return Texts(*found)


def _extensions(data: bytes) -> dict[int, bytes]:
    """Return the extensions after the base: type and length of two bytes each, then the value; type 0 ends them."""
    found: dict[int, bytes] = {}
    at = _ACCOUNT_SIZE + 1
    while at + 4 <= len(data):
        kind, size = _uint(data, at, 2), _uint(data, at + 2, 2)
        if kind == 0 or at + 4 + size > len(data):
            break
        found.setdefault(kind, data[at + 4 : at + 4 + size])
        at += 4 + size
    return found


def _uint(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")
