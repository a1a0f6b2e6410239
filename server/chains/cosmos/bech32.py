"""Bech32 (BIP-173): prefix, data and checksum of an address."""

from __future__ import annotations

_ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_VALUES = {letter: value for value, letter in enumerate(_ALPHABET)}
_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM = 6
_LONGEST = 90


def decode_bech32(text: str) -> tuple[str, bytes]:
    """Return prefix (lower case) and data; ValueError, saying why, for what is no Bech32 text."""
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
