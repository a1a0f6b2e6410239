"""Bech32 (BIP-173): prefix, data and checksum of an address."""

from __future__ import annotations

import re

from server.errors import InvalidArgument

_ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_VALUES = {letter: value for value, letter in enumerate(_ALPHABET)}
_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM = 6
_LONGEST = 90


def decode_bech32(text: str) -> tuple[str, bytes]:
    """Return prefix (lower case) and data; ValueError, with the reason, for what is no Bech32 text."""
    if len(text) > _LONGEST:
        raise ValueError(f"it is longer than {_LONGEST} characters")
    if text != text.lower() and text != text.upper():
        raise ValueError("it mixes upper and lower case")
    prefix, separator, rest = text.lower().rpartition("1")
    if not separator or not prefix or len(rest) < _CHECKSUM:
        raise ValueError("it has no prefix, separator `1` and checksum")
    if not all("!" <= letter <= "~" for letter in prefix):
        raise ValueError("its prefix has characters that are not allowed")
    try:
        values = [_VALUES[letter] for letter in rest]
    except KeyError:
        raise ValueError("it has characters that Bech32 does not use") from None
    if _polymod(_expand(prefix) + values) != 1:
        raise ValueError("its checksum is wrong")
    return prefix, _bytes(values[:-_CHECKSUM])


def encode_bech32(prefix: str, data: bytes) -> str:
    """Return the text of a prefix (lower case) and data."""
    values = _groups(data)
    checksum = _polymod(_expand(prefix) + values + [0] * _CHECKSUM) ^ 1
    values += [checksum >> 5 * (_CHECKSUM - 1 - place) & 31 for place in range(_CHECKSUM)]
    return f"{prefix}1{''.join(_ALPHABET[value] for value in values)}"


def _expand(prefix: str) -> list[int]:
    codes = prefix.encode("ascii")
    return [code >> 5 for code in codes] + [0] + [code & 31 for code in codes]


def _polymod(values: list[int]) -> int:
    checksum = 1
    for value in values:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for place, generator in enumerate(_GENERATORS):
            if top >> place & 1:
                checksum ^= generator
    return checksum


def _groups(data: bytes) -> list[int]:
    bits = len(data) * 8
    padded = int.from_bytes(data) << -bits % 5
    count = (bits + 4) // 5
    return [padded >> 5 * (count - 1 - place) & 31 for place in range(count)]


def _bytes(values: list[int]) -> bytes:
    number = 0
    for value in values:
        number = number << 5 | value
    spare = len(values) * 5 % 8
    if spare >= 5 or number & (1 << spare) - 1:
        raise ValueError("its padding is wrong")
    return (number >> spare).to_bytes(len(values) * 5 // 8)


_LENGTHS = (20, 32)
"""Bytes of an address: of a key, or of a module, contract or interchain account."""

_OPERATOR = "valoper"
_IBC = "ibc/"
_HASH = re.compile(r"(?:0x)?([0-9a-fA-F]{64})", re.IGNORECASE | re.ASCII)
# Source: cosmos-sdk types/coin.go, the default pattern of a denom.
_DENOM = re.compile(r"[a-zA-Z][a-zA-Z0-9/:._-]{2,127}", re.ASCII)
_IBC_DENOM = re.compile(r"ibc/[0-9a-fA-F]{64}", re.ASCII)


def parse_account(text: str, prefix: str, field: str) -> str:
    """Return an account address in lower case; InvalidArgument unless prefix, checksum and length are right."""
    return _parse(text, prefix, field)


def parse_operator(text: str, prefix: str, field: str) -> str:
    """Return a validator's operator address in lower case; InvalidArgument as for accounts."""
    return _parse(text, prefix + _OPERATOR, field)


def parse_denom(text: str, field: str) -> str:
    """Return a denom as the bank module writes it, with `ibc/` hashes in upper case; InvalidArgument for none.

    Denoms are case-sensitive otherwise.
    """
    if text[:4].lower() == _IBC:
        denom = _IBC + text[4:].upper()
        if not _IBC_DENOM.fullmatch(denom):
            raise InvalidArgument(f"{field}: after `ibc/` come 64 hex digits", field=field)
        return denom
    if not _DENOM.fullmatch(text):
        raise InvalidArgument(
            f"{field}: a denom has 3 to 128 letters, digits and / : . _ - and begins with a letter", field=field
        )
    return text


def parse_hash(text: str, what: str) -> str:
    """Return a hash as 64 upper-case hex digits; InvalidArgument for anything else. `0x` before it is allowed."""
    match = _HASH.fullmatch(text)
    if match is None:
        raise InvalidArgument(f"hash: a {what} hash is 64 hex digits", field="hash")
    return match[1].upper()


def _parse(text: str, prefix: str, field: str) -> str:
    try:
        found, data = decode_bech32(text)
    except ValueError as error:
        raise InvalidArgument(f"{field}: not a Bech32 address, {error}", field=field) from None
    if found != prefix:
        raise InvalidArgument(f"{field}: an address of this chain begins with `{prefix}1`", field=field)
    if len(data) not in _LENGTHS:
        raise InvalidArgument(f"{field}: an address holds 20 or 32 bytes, this one {len(data)}", field=field)
    return text.lower()
