"""The rpcs as the client calls them, and Python values as fields of their messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from waypost.options.v1 import options_pb2
from waypost.v1.common_pb2 import NativeJson

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, EnumDescriptor

Answer = TypeVar("Answer", bound=Message)
# protoc's own stubs type extensions as plain field descriptors, which the message stubs do not accept as keys.
_LITERAL: Any = options_pb2.literal


@dataclass(frozen=True, eq=False)
class Method(Generic[Answer]):
    """One rpc: `path` is `/package.Service/Method`, `timeout` its deadline in seconds where the caller sets none."""

    path: str
    request: type[Message]
    answer: type[Answer]
    timeout: float


@dataclass(frozen=True, eq=False)
class StreamMethod(Generic[Answer]):
    """One streaming rpc; `answer` is one event of it."""

    path: str
    request: type[Message]
    answer: type[Answer]


def message_of(kind: type[Message], fields: Mapping[str, Any]) -> Message:
    """Return a message with these fields; None stands for a field that is not set.

    Enums are also given by their JSON words, native JSON by the value itself, messages by mappings. Raises ValueError
    or TypeError for what the message cannot hold.
    """
    known = kind.DESCRIPTOR.fields_by_name
    given = {name: value for name, value in fields.items() if value is not None}
    return kind(**{name: _value(known[name], value) if name in known else value for name, value in given.items()})


def _value(field: FieldDescriptor, value: Any) -> Any:
    if not is_repeated(field):
        return _one(field, value)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise TypeError(f"{field.name} must be a list, not {type(value).__name__}")
    return [_one(field, element) for element in value]


def is_repeated(field: FieldDescriptor) -> bool:
    """Return whether the field is a list; protobuf 5 and 7 say it differently."""
    newer: bool | None = getattr(field, "is_repeated", None)
    return field.label == FieldDescriptor.LABEL_REPEATED if newer is None else newer


def _one(field: FieldDescriptor, value: Any) -> Any:
    if field.enum_type is not None and isinstance(value, str):
        return number_of(field.enum_type, value)
    if field.message_type is None or isinstance(value, Message):
        return value
    if field.message_type.full_name == NativeJson.DESCRIPTOR.full_name:
        return native_of(json.dumps(value))
    return message_of(class_of(field.message_type), value)


def native_of(text: str) -> NativeJson:
    """Return the JSON text as a message."""
    return NativeJson(json=text)


def value_of(native: NativeJson) -> Any:
    """Return the value that the chain's own JSON stands for; None where there is none."""
    return json.loads(native.json) if native.json else None


def class_of(message: Descriptor) -> type[Message]:
    """Return the class of the messages that the descriptor describes."""
    kind: type[Message] = GetMessageClass(message)
    return kind


@cache
def words_of(enum: EnumDescriptor) -> tuple[dict[str, int], dict[int, str]]:
    """Return what the JSON words of the enum mean, aliases included, and which word each number is written as."""
    read: dict[str, int] = {}
    written: dict[int, str] = {}
    for value in enum.values:
        option: options_pb2.Literal = value.GetOptions().Extensions[_LITERAL]
        read[value.name] = value.number
        if option.wire:
            written[value.number] = option.wire
            read |= dict.fromkeys((option.wire, *option.aliases), value.number)
    return read, written


def number_of(enum: EnumDescriptor, word: str) -> int:
    """Return the enum value of a JSON word, or of the value's own name. Raises ValueError for any other text."""
    read, written = words_of(enum)
    if word not in read:
        raise ValueError(f"{word!r} is none of {', '.join(written.values())}")
    return read[word]
