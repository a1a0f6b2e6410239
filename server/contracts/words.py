"""Numbers as chains write them: words of ABI-encoded data, hex quantities of JSON-RPC, and amounts as decimal text.

Encoded data is read with a budget: offsets in it are its author's, several may point at the same bytes, so that a few
kilobytes stand for millions of values. Every value read counts against it, long texts by their words.

Source of all types: Solidity documentation, "Contract ABI Specification".
"""

from __future__ import annotations

from binascii import Error, unhexlify
from dataclasses import dataclass
from typing import Any

from server.contracts.address import checksum_address

WORD = 32
UINT256_MAX = (1 << 256) - 1

MAX_VALUES = 20_000
"""Most values that are read out of one piece of data."""

_ADDRESS_PADDING = bytes(WORD - 20)


def word(data: bytes, index: int = 0) -> int:
    """Return the unsigned integer of the 32-byte word at `index`.

    Raises:
        ValueError: `data` ends before it.
    """
    start = index * WORD
    if len(data) < start + WORD:
        raise ValueError("the data ends before the word")
    return int.from_bytes(data[start : start + WORD], "big")


def address_word(address: bytes) -> bytes:
    """Return a 20-byte address as the ABI writes it, padded to 32 bytes on the left."""
    return _ADDRESS_PADDING + address


class Undecodable(ValueError):
    """The data is no encoding of the types."""


class TooManyValues(Undecodable):
    """The data stands for more values than are read."""


class Reader:
    """Reads words and bytes of `data`; offsets are counted from its beginning."""

    __slots__ = ("_data", "_left", "size")

    def __init__(self, data: bytes, budget: int = MAX_VALUES) -> None:
        self._data = data
        self._left = budget
        self.size = len(data)

    def word(self, at: int) -> bytes:
        """Return the 32 bytes at an offset; Undecodable where the data ends before."""
        self._spend(1)
        end = at + WORD
        if end > self.size:
            raise Undecodable("the data ends before the value")
        return self._data[at:end]

    def words(self, at: int, count: int) -> list[bytes]:
        """Return so many neighbouring words; Undecodable where the data ends before the last."""
        self._spend(count)
        end = at + WORD * count
        if end > self.size:
            raise Undecodable("the data ends before the value")
        return [self._data[place : place + WORD] for place in range(at, end, WORD)]

    def number(self, at: int) -> int:
        """Return the word at an offset as an unsigned number: a length or a relative offset."""
        return int.from_bytes(self.word(at), "big")

    def text(self, at: int) -> bytes:
        """Return the bytes whose length stands at an offset, before them; padding is not required."""
        length = self.number(at)
        start = at + WORD
        if start + length > self.size:
            raise Undecodable("the data ends before the value")
        self._spend(length // WORD)
        return self._data[start : start + length]

    def _spend(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            raise TooManyValues("the data holds too many values")


class _Word:
    """A type of one word: `from_word` reads it, `to_word` writes it, ValueError for a value of another type or size."""

    __slots__ = ()

    is_dynamic = False
    head_size = WORD

    def from_word(self, word: bytes) -> Any:
        """Return the value that a word holds; Undecodable where it holds none of the type."""

    def read(self, reader: Reader, at: int) -> Any:
        """Return the value at an offset."""
        return self.from_word(reader.word(at))


@dataclass(frozen=True, slots=True)
class Integer(_Word):
    """`uintN` or `intN`, an int."""

    bits: int
    is_signed: bool

    @property
    def canonical(self) -> str:
        """The type as signatures write it."""
        return f"{'int' if self.is_signed else 'uint'}{self.bits}"

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest value."""
        top = 1 << (self.bits - self.is_signed)
        return (-top if self.is_signed else 0), top - 1

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
            raise ValueError(f"{value!r:.80} is no {self.canonical}")
        if (value >> (self.bits - 1) not in (0, -1)) if self.is_signed else value >> self.bits:
            raise ValueError(f"{value} lies outside of {self.canonical}")
        return value.to_bytes(WORD, "big", signed=self.is_signed)


@dataclass(frozen=True, slots=True)
class Address(_Word):
    """`address`, text with EIP-55 casing."""

    canonical = "address"

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
        raise ValueError(f"{value!r:.80} is no address")


@dataclass(frozen=True, slots=True)
class Boolean(_Word):
    """`bool`."""

    canonical = "bool"

    def from_word(self, word: bytes) -> bool:
        """Return the truth value that a word holds."""
        number = int.from_bytes(word, "big")
        if number > 1:
            raise Undecodable("a value is neither true nor false")
        return number == 1

    def to_word(self, value: Any) -> bytes:
        """Return the word that holds a truth value."""
        if not isinstance(value, bool):
            raise ValueError(f"{value!r:.80} is neither true nor false")
        return value.to_bytes(WORD, "big")


@dataclass(frozen=True, slots=True)
class FixedBytes(_Word):
    """`bytesN`, and `function` (an address and a selector), bytes of exactly that length."""

    size: int
    canonical: str

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


WordType = Integer | Address | Boolean | FixedBytes


_MOST_COUNT = (1 << 63) - 1


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
    if number > _MOST_COUNT:
        raise ValueError("more than any chain has")
    return number


def decimal_text(raw: int, decimals: int) -> str:
    """Return `raw` shifted by `decimals` as plain decimal text, without exponent, trailing zeros or rounding.

    `decimal_text(1_500_000, 6)` is `"1.5"`; with `decimals` 0 it is `raw` itself (decisions section 3.2).
    """
    if decimals <= 0 or raw == 0:
        return str(raw)
    sign, digits = ("-", str(-raw)) if raw < 0 else ("", str(raw))
    digits = digits.rjust(decimals + 1, "0")
    fraction = digits[-decimals:].rstrip("0")
    whole = digits[:-decimals]
    return f"{sign}{whole}.{fraction}" if fraction else sign + whole
