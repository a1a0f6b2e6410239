"""Addresses of Bitcoin's main network: P2PKH and P2SH in Base58Check, witness programs in Bech32 and Bech32m.

Sources: BIP-173 (Bech32), BIP-350 (Bech32m), BIP-13 (P2SH) and Base58Check as of the first release.
"""

from __future__ import annotations

import hashlib

from server.errors import InvalidArgument

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_PREFIX = "bc"
_VERSIONS = frozenset((0x00, 0x05))
_LONGEST_BASE58 = 35
_LONGEST_BECH32 = 90
_CHECKSUM_LENGTH = 6
_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
# What the checksum comes out as: version 0 is written in Bech32, later versions in Bech32m.
_BECH32_SUM = 1
_BECH32M_SUM = 0x2BC830A3


def parse_address(text: str) -> str:
    """Return the address as nodes write it (witness programs in lower case).

    Raises:
        InvalidArgument: it is no address of the main network (field `address`).
    """
    if text[:3].lower() == f"{_PREFIX}1":
        return _parse_witness(text)
    return _parse_base58(text)


def _parse_base58(text: str) -> str:
    if not 0 < len(text) <= _LONGEST_BASE58 or any(character not in _BASE58 for character in text):
        raise _refuse("it is neither Base58 nor Bech32 of the main network (1..., 3..., bc1...)")
    number = 0
    for character in text:
        number = number * 58 + _BASE58.index(character)
    zeros = len(text) - len(text.lstrip("1"))
    raw = bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8)
    payload, checksum = raw[:-4], raw[-4:]
    if len(raw) != 25 or hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4] != checksum:
        raise _refuse("its checksum is wrong, or it is cut")
    if payload[0] not in _VERSIONS:
        raise _refuse("it belongs to another network")
    return text


def _parse_witness(text: str) -> str:
    if text not in (text.lower(), text.upper()):
        raise _refuse("upper and lower case are mixed")
    address = text.lower()
    data = address[len(_PREFIX) + 1 :]
    if len(address) > _LONGEST_BECH32 or len(data) <= _CHECKSUM_LENGTH or any(mark not in _BECH32 for mark in data):
        raise _refuse("it is not written as Bech32 is")
    values = [_BECH32.index(mark) for mark in data]
    version, program = values[0], _join(values[1:-_CHECKSUM_LENGTH])
    if _checksum(values) != (_BECH32M_SUM if version else _BECH32_SUM):
        raise _refuse("its checksum is wrong")
    lengths = range(2, 41) if version else (20, 32)
    if version > 16 or program is None or len(program) not in lengths:
        raise _refuse("there is no such witness program")
    return address


def _checksum(values: list[int]) -> int:
    expanded = [ord(mark) >> 5 for mark in _PREFIX] + [0] + [ord(mark) & 31 for mark in _PREFIX]
    total = 1
    for value in expanded + values:
        top = total >> 25
        total = (total & 0x1FFFFFF) << 5 ^ value
        for position, generator in enumerate(_GENERATORS):
            if top >> position & 1:
                total ^= generator
    return total


def _join(values: list[int]) -> bytes | None:
    """Return groups of five bits as bytes, None where what is left over is more than padding with zeros."""
    number = 0
    for value in values:
        number = number << 5 | value
    spare = len(values) * 5 % 8
    if spare > 4 or number & ((1 << spare) - 1):
        return None
    return (number >> spare).to_bytes(len(values) * 5 // 8)


def _refuse(why: str) -> InvalidArgument:
    return InvalidArgument(f"address: this is no Bitcoin address: {why}", field="address")
