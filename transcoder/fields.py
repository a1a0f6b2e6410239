"""What the codecs and the documents need to know of one field: its descriptor and its `Member` option, read once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from google.protobuf.descriptor import FieldDescriptor

from runtime.operations import literal, member

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, EnumDescriptor
    from waypost.options.v1 import options_pb2

NATIVE = "waypost.v1.NativeJson"
TIMESTAMP = "google.protobuf.Timestamp"

SAFE = 2**53 - 1
LIST_LENGTH = 1000
TEXT_LENGTH = 4096

BOUNDS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-SAFE, SAFE),
    FieldDescriptor.CPPTYPE_UINT64: (0, SAFE),
}
WIDE = frozenset({FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64})
REAL = frozenset({FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT})

_KINDS = {
    FieldDescriptor.CPPTYPE_INT32: "integer",
    FieldDescriptor.CPPTYPE_UINT32: "integer",
    FieldDescriptor.CPPTYPE_INT64: "integer",
    FieldDescriptor.CPPTYPE_UINT64: "integer",
    FieldDescriptor.CPPTYPE_DOUBLE: "number",
    FieldDescriptor.CPPTYPE_FLOAT: "number",
    FieldDescriptor.CPPTYPE_BOOL: "boolean",
    FieldDescriptor.CPPTYPE_ENUM: "enum",
}


class UnsupportedField(TypeError):
    """A descriptor needs something that has no JSON form here; found when its codec is compiled."""


@dataclass(frozen=True, eq=False)
class Field:
    """One field, or the value of a map field.

    `kind` is one of string, integer, number, boolean, enum, timestamp, native, message. `name` is the attribute of the
    message, `json` the member of the object. `presence` states whether unset and zero differ.
    """

    descriptor: FieldDescriptor
    options: options_pb2.Member
    kind: str
    name: str
    json: str
    repeated: bool
    presence: bool
    entry: Field | None = field(default=None)

    @property
    def is_map(self) -> bool:
        """Whether the field is a map; its values are described by `entry`."""
        return self.entry is not None

    @property
    def choice(self) -> str | None:
        """Name of the `oneof` that the field is part of; the one that `optional` makes does not count."""
        oneof = self.descriptor.containing_oneof
        return None if oneof is None or oneof.name == f"_{self.name}" else str(oneof.name)

    @property
    def optional(self) -> bool:
        """Whether the field is marked `optional`."""
        return self.descriptor.containing_oneof is not None and self.choice is None

    @property
    def most(self) -> int:
        """Most elements of a list."""
        return self.options.max_length or LIST_LENGTH

    @property
    def bounds(self) -> tuple[int, int]:
        """Smallest and largest integer that the field's type and JSON can carry."""
        return BOUNDS[self.descriptor.cpp_type]


@cache
def fields_of(message: Descriptor) -> tuple[Field, ...]:
    """Return the fields that JSON has of a message, in their order.

    Those of the gRPC face alone are none of them, nor those that only hold the order of a map's keys.

    Raises:
        UnsupportedField: a field has no JSON form.
    """
    orders = {member(descriptor).order for descriptor in message.fields}
    return tuple(
        _field(descriptor)
        for descriptor in message.fields
        if descriptor.name not in orders and not member(descriptor).grpc_only
    )


@cache
def literals_of(enum: EnumDescriptor) -> tuple[dict[int, str | None], dict[str, int]]:
    """Return how the enum is printed (None for a value without text) and which texts are read, aliases included."""
    printed: dict[int, str | None] = {}
    read: dict[str, int] = {}
    for value in enum.values:
        option = literal(value)
        printed[value.number] = option.wire or None
        for text in (option.wire, *option.aliases):
            if text:
                read[text] = value.number
    return printed, read


@cache
def holds_native(message: Descriptor) -> bool:
    """Return whether the message holds a NativeJson anywhere below it."""
    return any(
        item.kind == "native" or (item.kind == "message" and holds_native(item.descriptor.message_type))
        for item in (entry.entry or entry for entry in fields_of(message))
    )


def _field(descriptor: FieldDescriptor) -> Field:
    entry: Field | None = None
    kind = _kind(descriptor)
    if kind == "message" and descriptor.message_type.GetOptions().map_entry:
        key, value = descriptor.message_type.fields
        if key.cpp_type != FieldDescriptor.CPPTYPE_STRING:
            raise UnsupportedField(f"{descriptor.full_name}: the keys of a map must be strings")
        entry = _field(value)
    order = member(descriptor).order
    if order:
        keys = descriptor.containing_type.fields_by_name.get(order)
        is_list = keys is not None and keys.label == FieldDescriptor.LABEL_REPEATED
        if entry is None or keys is None or not is_list or keys.type != FieldDescriptor.TYPE_STRING:
            raise UnsupportedField(f"{descriptor.full_name}: `order` names a list of strings beside a map")
    return Field(
        descriptor=descriptor,
        options=member(descriptor),
        kind=kind,
        name=descriptor.name,
        json=descriptor.json_name,  # type: ignore[attr-defined]  # missing in the stubs
        repeated=descriptor.label == FieldDescriptor.LABEL_REPEATED and entry is None,
        presence=descriptor.has_presence,
        entry=entry,
    )


def _kind(descriptor: FieldDescriptor) -> str:
    if descriptor.type == FieldDescriptor.TYPE_STRING:
        return "string"
    if descriptor.type == FieldDescriptor.TYPE_MESSAGE:
        name = descriptor.message_type.full_name
        return {NATIVE: "native", TIMESTAMP: "timestamp"}.get(name, "message")
    try:
        return _KINDS[descriptor.cpp_type]
    except KeyError:
        raise UnsupportedField(f"{descriptor.full_name}: raw bytes have no JSON form; use text or NativeJson") from None
