"""ABI types that take one word: integers, addresses, booleans, bytes of fixed size.

Besides what all types do (see `Type`) they read a word, `from_word`, and write one, `to_word`: ValueError for a value
of another type or size.

Source of all types: Solidity documentation, "Contract ABI Specification".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from server.abi.mismatch import Mismatch, shown
from server.abi.reader import WORD, Undecodable
from server.checksum import checksum_address

if TYPE_CHECKING:
    from server.abi.reader import Reader

_ADDRESS_PADDING = bytes(WORD - 20)
_DECIMAL = re.compile(r"-?[0-9]{1,78}")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,64}")
_BYTES = re.compile(r"0x(?:[0-9a-fA-F]{2})*")


def hex_bytes(value: Any, path: str, type_name: str, size: int | None = None) -> bytes:
    """Return the bytes of `0x...`; Mismatch for what is none, or of another length than `size`."""
    what = "bytes" if size is None else f"{size} bytes"
    if not isinstance(value, str) or _BYTES.fullmatch(value) is None:
        raise Mismatch(path, type_name, f"is {shown(value)}; write {what} as 0x and two hex digits for each")
    raw = bytes.fromhex(value[2:])
    if size is not None and len(raw) != size:
        raise Mismatch(path, type_name, f"has {len(raw)} bytes; write exactly {what}")
    return raw


@dataclass(frozen=True, slots=True)
class Integer:
    """`uintN` or `intN`: in JSON decimal text; taken as decimal or hex text, or as a JSON integer."""

    bits: int
    is_signed: bool

    is_dynamic = False
    head_size = WORD

    @property
    def canonical(self) -> str:
        """The type as signatures write it."""
        return f"{'int' if self.is_signed else 'uint'}{self.bits}"

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest value."""
        top = 1 << (self.bits - self.is_signed)
        return (-top if self.is_signed else 0), top - 1

    def accept(self, value: Any, path: str) -> int:
        """Return the integer that a JSON value writes; Mismatch for what is none or lies outside of the type."""
        number: int | None = None
        if isinstance(value, int) and not isinstance(value, bool):
            number = value
        elif isinstance(value, str) and _DECIMAL.fullmatch(value):
            number = int(value)
        elif isinstance(value, str) and _HEX.fullmatch(value):
            number = int(value, 16)
        least, most = self.bounds
        if number is None or not least <= number <= most:
            raise Mismatch(path, self.canonical, f"is {shown(value)}; write {self._range()}")
        return number

    def from_word(self, word: bytes) -> int:
        """Return the integer that a word holds."""
        if self.is_signed:
            number = int.from_bytes(word, "big", signed=True)
            # Two's complement: all bits above the type's repeat its sign.
            if number >> (self.bits - 1) not in (0, -1):
                raise Undecodable(f"a value lies outside of {self.canonical}")
            return number
        number = int.from_bytes(word, "big")
        if number >> self.bits:
            raise Undecodable(f"a value lies outside of {self.canonical}")
        return number

    def to_word(self, value: Any) -> bytes:
        """Return the word that holds an integer."""
        if type(value) is not int:
            raise ValueError(f"{shown(value)} is no {self.canonical}")
        if (value >> (self.bits - 1) not in (0, -1)) if self.is_signed else value >> self.bits:
            raise ValueError(f"{value} lies outside of {self.canonical}")
        return value.to_bytes(WORD, "big", signed=self.is_signed)

    def read(self, reader: Reader, at: int) -> int:
        """Return the integer at an offset."""
        return self.from_word(reader.word(at))

    def to_json(self, value: int) -> str:
        """Return the integer as decimal text."""
        return str(value)

    def _range(self) -> str:
        if self.bits <= 32:
            least, most = self.bounds
            return f"an integer from {least} to {most}, as decimal or 0x text or as a number"
        top = self.bits - self.is_signed
        return f"an integer from {f'-2^{top}' if self.is_signed else 0} to 2^{top}-1, as decimal or 0x text"


@dataclass(frozen=True, slots=True)
class Address:
    """`address`: in JSON with EIP-55 casing; taken in any casing that is right."""

    canonical = "address"
    is_dynamic = False
    head_size = WORD

    def accept(self, value: Any, path: str) -> str:
        """Return the address with EIP-55 casing; Mismatch for what is none or has a wrong checksum."""
        if not isinstance(value, str):
            raise Mismatch(path, self.canonical, f"is {shown(value)}; write an address as 0x and 40 hex digits")
        try:
            return checksum_address(value)
        except ValueError as error:
            raise Mismatch(path, self.canonical, f"is {shown(value)}; {error}") from None

    def from_word(self, word: bytes) -> str:
        """Return the address that a word holds, with EIP-55 casing."""
        if not word.startswith(_ADDRESS_PADDING):
            raise Undecodable("a value is more than an address")
        return checksum_address("0x" + word[12:].hex())

    def to_word(self, value: Any) -> bytes:
        """Return the word that holds an address, given as 0x and 40 hex digits."""
        if type(value) is str and len(value) == 42 and value.startswith("0x"):
            raw = bytes.fromhex(value[2:])
            if len(raw) == 20:
                return _ADDRESS_PADDING + raw
        raise ValueError(f"{shown(value)} is no address")

    def read(self, reader: Reader, at: int) -> str:
        """Return the address at an offset, with EIP-55 casing."""
        return self.from_word(reader.word(at))

    def to_json(self, value: str) -> str:
        """Return the address."""
        return value


@dataclass(frozen=True, slots=True)
class Boolean:
    """`bool`: in JSON true or false, and nothing else is taken."""

    canonical = "bool"
    is_dynamic = False
    head_size = WORD

    def accept(self, value: Any, path: str) -> bool:
        """Return the value; Mismatch for what is neither true nor false."""
        if not isinstance(value, bool):
            raise Mismatch(path, self.canonical, f"is {shown(value)}; write true or false, without quotes")
        return value

    def from_word(self, word: bytes) -> bool:
        """Return the truth value that a word holds."""
        number = int.from_bytes(word, "big")
        if number > 1:
            raise Undecodable("a value is neither true nor false")
        return number == 1

    def to_word(self, value: Any) -> bytes:
        """Return the word that holds a truth value."""
        if not isinstance(value, bool):
            raise ValueError(f"{shown(value)} is neither true nor false")
        return value.to_bytes(WORD, "big")

    def read(self, reader: Reader, at: int) -> bool:
        """Return the truth value at an offset."""
        return self.from_word(reader.word(at))

    def to_json(self, value: bool) -> bool:
        """Return the truth value."""
        return value


@dataclass(frozen=True, slots=True)
class FixedBytes:
    """`bytesN`, and `function` (an address and a selector): in JSON 0x and hex of exactly that length."""

    size: int
    canonical: str

    is_dynamic = False
    head_size = WORD

    def accept(self, value: Any, path: str) -> bytes:
        """Return the bytes; Mismatch for other lengths."""
        return hex_bytes(value, path, self.canonical, self.size)

    def from_word(self, word: bytes) -> bytes:
        """Return the bytes that a word holds."""
        if any(word[self.size :]):
            raise Undecodable(f"a value is more than {self.canonical}")
        return word[: self.size]

    def to_word(self, value: Any) -> bytes:
        """Return the word that holds bytes of exactly this size."""
        if not isinstance(value, bytes) or len(value) != self.size:
            raise ValueError(f"{value!r:.80} is no {self.canonical}")
        return value.ljust(WORD, b"\0")

    def read(self, reader: Reader, at: int) -> bytes:
        """Return the bytes at an offset."""
        return self.from_word(reader.word(at))

    def to_json(self, value: bytes) -> str:
        """Return the bytes in hex."""
        return "0x" + value.hex()


WordType = Integer | Address | Boolean | FixedBytes
