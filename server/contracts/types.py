"""ABI types of any length and made of others, types as ABI JSON writes them, and how values of them are encoded.

Python values are an int, a checksummed address, bytes, a bool, text, a list for an array, a tuple for a tuple.
Source: Solidity documentation, "Contract ABI Specification", "Formal Specification of the Encoding".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from server.contracts.words import WORD, Address, Boolean, FixedBytes, Integer, Undecodable, WordType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from server.contracts.words import Reader

    Writer = Callable[[Any], bytes]

MAX_DEPTH = 8
"""Most arrays and tuples around one value."""

MAX_LENGTH = 65_536
"""Longest array of fixed length."""

_TYPE = re.compile(r"([a-z]+)([0-9]*)((?:\[[0-9]*\])*)")
_SUFFIX = re.compile(r"\[([0-9]*)\]")


class Type(Protocol):
    """What every ABI type does.

    `canonical` is the type as signatures write it, `head_size` the bytes that it takes among its neighbours (an offset
    where it `is_dynamic`).
    """

    @property
    def canonical(self) -> str:
        """The type as signatures write it."""
        ...

    @property
    def is_dynamic(self) -> bool:
        """Whether the length of its values differs."""
        ...

    @property
    def head_size(self) -> int:
        """The bytes that it takes among its neighbours."""
        ...

    def read(self, reader: Reader, at: int) -> Any:
        """Return the value at an offset; Undecodable where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Bytes:
    """`bytes`."""

    canonical = "bytes"
    is_dynamic = True
    head_size = WORD

    def read(self, reader: Reader, at: int) -> bytes:
        """Return the bytes at an offset."""
        return reader.text(at)


@dataclass(frozen=True, slots=True)
class Text:
    """`string`; what is not UTF-8 on the chain is read with replacement characters."""

    canonical = "string"
    is_dynamic = True
    head_size = WORD

    def read(self, reader: Reader, at: int) -> str:
        """Return the text at an offset."""
        return reader.text(at).decode(errors="replace")


@dataclass(frozen=True, slots=True)
class Array:
    """`T[]`, or `T[N]` where `length` is set."""

    element: Type
    length: int | None

    @property
    def canonical(self) -> str:
        """The type as signatures write it."""
        return f"{self.element.canonical}[{'' if self.length is None else self.length}]"

    @property
    def is_dynamic(self) -> bool:
        """Whether the length of its values differs."""
        return self.length is None or self.element.is_dynamic

    @property
    def head_size(self) -> int:
        """The bytes that it takes among its neighbours."""
        return WORD if self.length is None or self.element.is_dynamic else self.length * self.element.head_size

    def read(self, reader: Reader, at: int) -> list[Any]:
        """Return the elements at an offset."""
        if self.length is None:
            length, start = reader.number(at), at + WORD
            if start + length * self.element.head_size > reader.size:
                raise Undecodable("the data ends before the last element")
        else:
            length, start = self.length, at
        if isinstance(self.element, WordType):
            return list(map(self.element.from_word, reader.words(start, length)))
        return read_row(reader, start, (self.element,) * length)


@dataclass(frozen=True, slots=True)
class Tuple:
    """A struct; a name is empty where the ABI gives none."""

    names: tuple[str, ...]
    members: tuple[Type, ...]

    @property
    def canonical(self) -> str:
        """The type as signatures write it."""
        return f"({','.join(member.canonical for member in self.members)})"

    @property
    def is_dynamic(self) -> bool:
        """Whether the length of its values differs."""
        return any(member.is_dynamic for member in self.members)

    @property
    def head_size(self) -> int:
        """The bytes that it takes among its neighbours."""
        return WORD if self.is_dynamic else sum(member.head_size for member in self.members)

    def read(self, reader: Reader, at: int) -> tuple[Any, ...]:
        """Return the members at an offset."""
        return tuple(read_row(reader, at, self.members))


def read_row(reader: Reader, start: int, types: Sequence[Type]) -> list[Any]:
    """Return the values of neighbours: of dynamic ones their place among them holds an offset from `start`."""
    values: list[Any] = []
    at = start
    for kind in types:
        values.append(kind.read(reader, start + reader.number(at) if kind.is_dynamic else at))
        at += kind.head_size
    return values


def row_writer(kinds: Sequence[Type]) -> Callable[[Sequence[Any]], bytes]:
    """Return what writes values of these types as neighbours; ValueError for a value of another type or size.

    There must be as many values as types.
    """
    writers = [writer(kind) for kind in kinds]
    if not any(kind.is_dynamic for kind in kinds):
        return lambda values: b"".join([write(value) for write, value in zip(writers, values, strict=True)])
    are_dynamic = [kind.is_dynamic for kind in kinds]
    size = sum(kind.head_size for kind in kinds)

    def write_row(values: Sequence[Any]) -> bytes:
        heads, tails, end = [], [], size
        for write, is_dynamic, value in zip(writers, are_dynamic, values, strict=True):
            written = write(value)
            if is_dynamic:
                heads.append(end.to_bytes(WORD, "big"))
                tails.append(written)
                end += len(written)
            else:
                heads.append(written)
        return b"".join(heads + tails)

    return write_row


def encoder(*types: str) -> Callable[[Sequence[Any]], bytes]:
    """Return what encodes values of types that the ABI writes as one word, such as `bytes32[]`; see `row_writer`."""
    return row_writer([parse_type({"type": one}) for one in types])


def writer(kind: Type) -> Writer:
    """Return what writes a value of a type: in place, or what the offset to it leads to."""
    if isinstance(kind, WordType):
        return kind.to_word
    if isinstance(kind, Tuple):
        return _tuple_writer(kind)
    if isinstance(kind, Array):
        return _array_writer(kind)
    return _write_text if isinstance(kind, Text) else _write_bytes


def _tuple_writer(kind: Tuple) -> Writer:
    write_row = row_writer(kind.members)

    def write(value: Any) -> bytes:
        if not isinstance(value, tuple | list) or len(value) != len(kind.members):
            raise ValueError(f"{value!r:.80} is no {kind.canonical}")
        return write_row(value)

    return write


def _array_writer(kind: Array) -> Writer:
    def write(value: Any) -> bytes:
        if not isinstance(value, tuple | list) or kind.length not in (None, len(value)):
            raise ValueError(f"{value!r:.80} is no {kind.canonical}")
        elements = row_writer((kind.element,) * len(value))(value)
        return elements if kind.length is not None else len(value).to_bytes(WORD, "big") + elements

    return write


def _write_bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError(f"{value!r:.80} is no bytes")
    return len(value).to_bytes(WORD, "big") + value + bytes(-len(value) % WORD)


def _write_text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is no string")
    return _write_bytes(value.encode())


_SIMPLE: Mapping[str, Callable[[], Type]] = {
    "address": Address,
    "bool": Boolean,
    "bytes": Bytes,
    "string": Text,
    "function": lambda: FixedBytes(24, "function"),
}


def parse_type(item: Mapping[str, Any], depth: int = 0) -> Type:
    """Return the type of an ABI parameter (`type`, and `components` of a tuple).

    Raises:
        ValueError: the type is none, or too deep, or one that no compiler makes (`fixed`, empty tuples and arrays).
    """
    text = item.get("type")
    match = _TYPE.fullmatch(text) if isinstance(text, str) and len(text) <= 256 else None
    if match is None or text is None:
        raise ValueError(f"{str(text)[:64]!r} is no ABI type")
    word, digits, suffixes = match.groups()
    lengths = _SUFFIX.findall(suffixes)
    depth += len(lengths)
    if depth > MAX_DEPTH:
        raise ValueError(f"{text[:64]!r} nests more than {MAX_DEPTH} arrays and tuples")
    kind: Type = _tuple(item, depth + 1) if word == "tuple" and not digits else _elementary(word, digits)
    for length in lengths:
        if length and not 1 <= int(length) <= MAX_LENGTH:
            raise ValueError(f"an array of {length} elements is no ABI type here; write 1 to {MAX_LENGTH}")
        kind = Array(kind, int(length) if length else None)
    return kind


def _elementary(word: str, digits: str) -> Type:
    if not digits:
        simple = _SIMPLE.get(word)
        if simple is not None:
            return simple()
        if word in ("uint", "int"):
            return Integer(256, word == "int")
    elif word in ("uint", "int") and not digits.startswith("0") and int(digits) <= 256 and int(digits) % 8 == 0:
        return Integer(int(digits), word == "int")
    elif word == "bytes" and not digits.startswith("0") and int(digits) <= 32:
        return FixedBytes(int(digits), word + digits)
    raise ValueError(f"{(word + digits)[:64]!r} is no ABI type that can be called with")


def _tuple(item: Mapping[str, Any], depth: int) -> Tuple:
    if depth > MAX_DEPTH:
        raise ValueError(f"tuples and arrays nest more than {MAX_DEPTH} times")
    components = item.get("components")
    if not isinstance(components, list) or not components or not all(isinstance(one, dict) for one in components):
        raise ValueError("a tuple needs its components, a list of parameters")
    names = tuple(str(component.get("name", "")) for component in components)
    return Tuple(names, tuple(parse_type(component, depth) for component in components))


@dataclass(frozen=True, slots=True)
class Parameter:
    """One input or output: its name (empty where the ABI gives none), its type, whether it is an event's topic."""

    name: str
    type: Type
    is_indexed: bool = False

    def __str__(self) -> str:
        return f"{self.name or 'unnamed'}: {self.type.canonical}"


def parse_parameters(items: Any) -> tuple[Parameter, ...]:
    """Return the parameters of an ABI's list of them; ValueError where it is none."""
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ValueError("inputs and outputs are lists of parameters")
    return tuple(Parameter(str(item.get("name", "")), parse_type(item), item.get("indexed") is True) for item in items)


def signature(name: str, parameters: tuple[Parameter, ...]) -> str:
    """Return `name(type,type)`, by which selectors and first topics are made."""
    return f"{name}({','.join(parameter.type.canonical for parameter in parameters)})"
