"""ABI types of any length and made of others: bytes, strings, arrays, tuples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from server.abi.mismatch import Mismatch, shown
from server.abi.reader import WORD, Undecodable
from server.abi.words import WordType, hex_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.abi.reader import Reader


class Type(Protocol):
    """What every ABI type does.

    `canonical` is the type as signatures write it, `head_size` the bytes that it takes among its neighbours (an offset
    where it `is_dynamic`). `accept` turns a JSON value into what eth-abi encodes; `read` decodes into a Python value
    (int, checksummed address, bytes, bool, str, list of an array, tuple of a tuple), which `to_json` writes as JSON.
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

    def accept(self, value: Any, path: str) -> Any:
        """Return the value as eth-abi encodes it; Mismatch for what does not fit."""
        ...

    def read(self, reader: Reader, at: int) -> Any:
        """Return the value at an offset; Undecodable where there is none."""
        ...

    def to_json(self, value: Any) -> Any:
        """Return a value that `read` returned as JSON."""
        ...


@dataclass(frozen=True, slots=True)
class Bytes:
    """`bytes`: in JSON 0x and hex."""

    canonical = "bytes"
    is_dynamic = True
    head_size = WORD

    def accept(self, value: Any, path: str) -> bytes:
        """Return the bytes."""
        return hex_bytes(value, path, self.canonical)

    def read(self, reader: Reader, at: int) -> bytes:
        """Return the bytes at an offset."""
        return reader.text(at)

    def to_json(self, value: bytes) -> str:
        """Return the bytes in hex."""
        return "0x" + value.hex()


@dataclass(frozen=True, slots=True)
class Text:
    """`string`: in JSON text; what is not UTF-8 on the chain is answered with replacement characters."""

    canonical = "string"
    is_dynamic = True
    head_size = WORD

    def accept(self, value: Any, path: str) -> str:
        """Return the text; Mismatch for what has no UTF-8 encoding (half of a surrogate pair)."""
        if not isinstance(value, str):
            raise Mismatch(path, self.canonical, f"is {shown(value)}; write text in quotes")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Mismatch(path, self.canonical, "holds half of a surrogate pair; write valid Unicode") from None
        return value

    def read(self, reader: Reader, at: int) -> str:
        """Return the text at an offset."""
        return reader.text(at).decode(errors="replace")

    def to_json(self, value: str) -> str:
        """Return the text."""
        return value


@dataclass(frozen=True, slots=True)
class Array:
    """`T[]`, or `T[N]` where `length` is set: in JSON an array."""

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

    def accept(self, value: Any, path: str) -> list[Any]:
        """Return the elements; Mismatch for what is no array, or one of another length."""
        if not isinstance(value, list):
            raise Mismatch(path, self.canonical, f"is {shown(value)}; write an array of {self.element.canonical}")
        if self.length is not None and len(value) != self.length:
            raise Mismatch(path, self.canonical, f"has {len(value)} elements; write exactly {self.length}")
        return [self.element.accept(element, f"{path}[{index}]") for index, element in enumerate(value)]

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

    def to_json(self, value: list[Any]) -> list[Any]:
        """Return the elements as JSON."""
        return list(map(self.element.to_json, value))


@dataclass(frozen=True, slots=True)
class Tuple:
    """A struct: in JSON an array; taken as an array, or as an object by the names of its members."""

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

    def accept(self, value: Any, path: str) -> tuple[Any, ...]:
        """Return the members in their order; Mismatch for missing and unknown ones."""
        if isinstance(value, dict):
            return self._named(value, path)
        if not isinstance(value, list):
            form = f"an array of {len(self.members)}" + (" or an object by name" if all(self.names) else "")
            raise Mismatch(path, self.canonical, f"is {shown(value)}; write {form}")
        if len(value) != len(self.members):
            raise Mismatch(path, self.canonical, f"has {len(value)} members; write {len(self.members)}")
        return tuple(
            member.accept(inner, f"{path}[{index}]")
            for index, (member, inner) in enumerate(zip(self.members, value, strict=True))
        )

    def read(self, reader: Reader, at: int) -> tuple[Any, ...]:
        """Return the members at an offset."""
        return tuple(read_row(reader, at, self.members))

    def to_json(self, value: tuple[Any, ...]) -> list[Any]:
        """Return the members as JSON."""
        return [member.to_json(inner) for member, inner in zip(self.members, value, strict=True)]

    def _named(self, value: dict[str, Any], path: str) -> tuple[Any, ...]:
        if not all(self.names):
            raise Mismatch(path, self.canonical, "has members without a name; write an array")
        unknown = [name for name in value if name not in self.names]
        missing = [name for name in self.names if name not in value]
        if unknown or missing:
            what = f"has no member {missing[0]}" if missing else f"has an unknown member {shown(unknown[0])}"
            raise Mismatch(path, self.canonical, f"{what}; write {', '.join(self.names)}")
        return tuple(
            member.accept(value[name], f"{path}.{name}") for name, member in zip(self.names, self.members, strict=True)
        )


def read_row(reader: Reader, start: int, types: Sequence[Type]) -> list[Any]:
    """Return the values of neighbours: of dynamic ones their place among them holds an offset from `start`."""
    values: list[Any] = []
    at = start
    for kind in types:
        values.append(kind.read(reader, start + reader.number(at) if kind.is_dynamic else at))
        at += kind.head_size
    return values
