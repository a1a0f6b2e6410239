"""Events of an ABI: topics from filters, arguments from logs.

Indexed arguments are topics; of those that do not fit a word a topic holds the hash only (Solidity documentation,
"Contract ABI Specification", "Events" and "Encoding of Indexed Event Parameters").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_abi.abi import encode
from eth_hash.auto import keccak

from server.abi.arguments import FIELD, accept_argument, counted
from server.abi.composites import Array, Bytes, Text, Tuple, read_row
from server.abi.functions import NAME
from server.abi.parameters import Parameter, parse_parameters, signature
from server.abi.reader import WORD, Reader, Undecodable
from server.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from server.abi.composites import Type

_MAX_INDEXED = 3


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
            ValueError: the item is none, or an anonymous one, whose logs cannot be told from others.
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

    def filter_topics(self, values: Sequence[Any]) -> tuple[bytes | None, ...]:
        """Return the topics to look for by position, None for any; filters are JSON values in the order of the inputs.

        Raises:
            InvalidArgument: more filters than inputs, one for an input that is not indexed, or one that does not fit.
        """
        if len(values) > len(self.inputs):
            wanted = f"at most {len(self.inputs)}: {', '.join(map(str, self.inputs))}" if self.inputs else "none"
            raise InvalidArgument(f"args has {counted(len(values), 'value')}; write {wanted}", field=FIELD)
        topics: list[bytes | None] = [self.topic0]
        for index, parameter in enumerate(self.inputs):
            value = values[index] if index < len(values) else None
            if parameter.is_indexed:
                wanted_value = None if value is None else accept_argument(value, parameter, index)
                topics.append(None if value is None else topic_of(parameter.type, wanted_value))
            elif value is not None:
                path = f"{FIELD}[{index}]"
                raise InvalidArgument(
                    f"{path} ({parameter}) is not indexed, so it cannot be filtered by; write null", field=path
                )
        while topics[-1] is None:
            topics.pop()
        return tuple(topics)

    @property
    def least_data(self) -> int:
        """The bytes that the data of its logs has at least."""
        return sum(one.type.head_size for one in self.inputs if not one.is_indexed)

    def decode(self, topics: Sequence[bytes], data: bytes) -> list[Any]:
        """Return the arguments of a log as JSON values in the order of the inputs; see `Function.decode_outputs`.

        Raises:
            Undecodable: the log is not of this event, or of one with other indexed inputs.
        """
        return [
            "0x" + value.hex() if one.is_indexed and is_hashed(one.type) else one.type.to_json(value)
            for one, value in zip(self.inputs, self.read(topics, data), strict=True)
        ]

    def read(self, topics: Sequence[bytes], data: bytes) -> tuple[Any, ...]:
        """Return the arguments of a log as Python values in the order of the inputs; see `Type`.

        Of indexed arguments that do not fit a topic that is the 32 bytes of their hash. Raises Undecodable as `decode`.
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
    """Return the topic that a log carries for an indexed argument, given as `Type.accept` returns it."""
    if isinstance(kind, Bytes):
        return keccak(value)
    if isinstance(kind, Text):
        return keccak(value.encode())
    if isinstance(kind, Array | Tuple):
        return keccak(_in_place(kind, value))
    return encode([kind.canonical], [value])


def _in_place(kind: Type, value: Any) -> bytes:
    """Return the encoding without lengths and offsets, by which indexed arrays and tuples are hashed."""
    if isinstance(kind, Array):
        return b"".join(_in_place(kind.element, element) for element in value)
    if isinstance(kind, Tuple):
        return b"".join(_in_place(member, inner) for member, inner in zip(kind.members, value, strict=True))
    if isinstance(kind, Bytes | Text):
        raw: bytes = value if isinstance(value, bytes) else value.encode()
        return raw + bytes(-len(raw) % WORD)
    return encode([kind.canonical], [value])


def is_hashed(kind: Type) -> bool:
    """Return whether a topic holds only the hash of an indexed argument of that type."""
    return isinstance(kind, Bytes | Text | Array | Tuple)


def _read_topic(kind: Type, topic: bytes) -> Any:
    return topic if is_hashed(kind) else kind.read(Reader(topic), 0)
