"""Events and errors of an ABI: topics to look for, the arguments of logs and of reverts.

Indexed arguments are topics; of those that do not fit a word a topic holds the hash only.
Source: Solidity documentation, "Contract ABI Specification", "Events" and "Encoding of Indexed Event Parameters";
"Errors and the Revert Statement".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from server.contracts.keccak import keccak
from server.contracts.types import (
    Array,
    Bytes,
    Parameter,
    Text,
    Tuple,
    parse_parameters,
    read_row,
    signature,
    writer,
)
from server.contracts.words import WORD, Reader, Undecodable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from server.contracts.types import Type

NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,127}")
"""What functions, events and errors may be called (Solidity identifiers)."""

_MAX_INDEXED = 3
_SELECTOR = 4
# Longer reasons are cut.
_MAX_REASON_VALUES = 64
_MAX_REASON_CHARACTERS = 512


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `topic0` is the Keccak-256 hash of its signature, the first topic of its logs."""

    name: str
    inputs: tuple[Parameter, ...]
    topic0: bytes

    @classmethod
    def parse(cls, item: Mapping[str, Any]) -> Event:
        """Return the event of an ABI item.

        Raises:
            ValueError: the item is none, or an anonymous one, whose logs cannot be distinguished from others.
        """
        name = item.get("name")
        if item.get("type") != "event" or not isinstance(name, str) or not NAME.fullmatch(name):
            raise ValueError("not an event with a name")
        if item.get("anonymous") is True:
            raise ValueError(f"{name} is anonymous: its logs carry no signature to look for")
        inputs = parse_parameters(item.get("inputs", []))
        if sum(parameter.is_indexed for parameter in inputs) > _MAX_INDEXED:
            raise ValueError(f"{name} has more than {_MAX_INDEXED} indexed inputs")
        return cls(name, inputs, keccak(signature(name, inputs).encode()))

    @property
    def topics(self) -> int:
        """How many topics its logs have, the signature's included."""
        return 1 + sum(parameter.is_indexed for parameter in self.inputs)

    def filter(self, values: Sequence[Any]) -> tuple[bytes | None, ...]:
        """Return the topics to look for by position, None for any.

        `values` are the inputs in their order as Python values, None for any and for those that are not indexed; those
        that are missing at the end count as None. ValueError for one that is no value of its type.
        """
        topics: list[bytes | None] = [self.topic0]
        for index, parameter in enumerate(self.inputs):
            value = values[index] if index < len(values) else None
            if parameter.is_indexed:
                topics.append(None if value is None else topic_of(parameter.type, value))
        while topics[-1] is None:
            topics.pop()
        return tuple(topics)

    @property
    def least_data(self) -> int:
        """The bytes that the data of its logs has at least."""
        return sum(one.type.head_size for one in self.inputs if not one.is_indexed)

    def read(self, topics: Sequence[bytes], data: bytes) -> tuple[Any, ...]:
        """Return the arguments of a log as Python values in the order of the inputs; see `Type`.

        Of indexed arguments that do not fit a topic that is the 32 bytes of their hash.

        Raises:
            Undecodable: the log is not of this event, or of one with other indexed inputs.
        """
        if len(topics) != self.topics or topics[0] != self.topic0:
            raise Undecodable("the log has other topics")
        plain = iter(read_row(Reader(data), 0, [one.type for one in self.inputs if not one.is_indexed]))
        indexed = iter(topics[1:])
        return tuple(
            _read_topic(parameter.type, next(indexed)) if parameter.is_indexed else next(plain)
            for parameter in self.inputs
        )


def topic_of(kind: Type, value: Any) -> bytes:
    """Return the topic that a log carries for an indexed argument, given as a Python value."""
    if isinstance(kind, Bytes):
        return keccak(value)
    if isinstance(kind, Text):
        return keccak(value.encode())
    if isinstance(kind, Array | Tuple):
        return keccak(_in_place(kind, value))
    return writer(kind)(value)


def _in_place(kind: Type, value: Any) -> bytes:
    """Return the encoding without lengths and offsets, by which indexed arrays and tuples are hashed."""
    if isinstance(kind, Array):
        return b"".join(_in_place(kind.element, element) for element in value)
    if isinstance(kind, Tuple):
        return b"".join(_in_place(member, inner) for member, inner in zip(kind.members, value, strict=True))
    if isinstance(kind, Bytes | Text):
        raw: bytes = value if isinstance(value, bytes) else value.encode()
        return raw + bytes(-len(raw) % WORD)
    return writer(kind)(value)


def is_hashed(kind: Type) -> bool:
    """Return whether a topic holds only the hash of an indexed argument of that type."""
    return isinstance(kind, Bytes | Text | Array | Tuple)


def _read_topic(kind: Type, topic: bytes) -> Any:
    return topic if is_hashed(kind) else kind.read(Reader(topic), 0)


@dataclass(frozen=True, slots=True)
class CustomError:
    """One error; `selector` is the first four bytes of the Keccak-256 hash of its signature."""

    name: str
    inputs: tuple[Parameter, ...]
    selector: bytes

    @classmethod
    def parse(cls, item: Mapping[str, Any]) -> CustomError:
        """Return the error of an ABI item; ValueError where the item is none."""
        name = item.get("name")
        if item.get("type") != "error" or not isinstance(name, str) or not NAME.fullmatch(name):
            raise ValueError("not an error with a name")
        inputs = parse_parameters(item.get("inputs", []))
        return cls(name, inputs, keccak(signature(name, inputs).encode())[:_SELECTOR])

    def describe(self, data: bytes) -> str | None:
        """Return revert data in words, `InsufficientBalance(available: 5, required: 7)`; None where it is no such."""
        try:
            values = self.read(data)
        except Undecodable:
            return None
        named = [
            f"{one.name}: {_text(value)}" if one.name else _text(value)
            for one, value in zip(self.inputs, values, strict=True)
        ]
        text = f"{self.name}({', '.join(named)})"
        return text if len(text) <= _MAX_REASON_CHARACTERS else text[:_MAX_REASON_CHARACTERS] + "..."

    def read(self, data: bytes) -> tuple[Any, ...]:
        """Return the arguments of revert data as Python values (see `Type`); Undecodable where it is no such error."""
        if data[:_SELECTOR] != self.selector:
            raise Undecodable(f"the data is no {self.name}")
        return tuple(read_row(Reader(data[_SELECTOR:], _MAX_REASON_VALUES), 0, [one.type for one in self.inputs]))


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return "0x" + value.hex()
    return "".join(character if character.isprintable() else " " for character in str(value))
