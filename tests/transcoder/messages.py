"""Hypothesis strategies for every message type, from its descriptor."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import strategies as st
from waypost.options.v1 import options_pb2
from waypost.v1.common_pb2 import NativeJson

from runtime.operations import literal, public_files
from transcoder.fields import SAFE, WIDE, Field, fields_of

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.message import Message

TEXTS = st.text(max_size=12)
JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def all_messages() -> list[Descriptor]:
    """Return every message type of the public package that has a JSON form; options and batches over gRPC have none."""
    found: list[Descriptor] = []

    def walk(message: Descriptor) -> None:
        if not message.GetOptions().map_entry:
            found.append(message)
        for nested in message.nested_types:
            walk(nested)

    for file in public_files():
        if file.name not in ("waypost/options/v1/options.proto", "waypost/v1/batch.proto"):
            for message in file.message_types_by_name.values():
                walk(message)
    return [message for message in found if message.full_name != "waypost.v1.NativeJson"]


def dumped(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


@st.composite
def messages(draw: st.DrawFn, message: Descriptor, *, wide: bool = True) -> Message:
    """Build a message whose JSON says everything about it.

    `wide` adds integers beyond 2^53-1 that survive as doubles: answers may hold them, requests may not. Left out is
    what JSON cannot tell apart by design: empty native payloads and absent ones, `optional` enums without a literal.
    """
    built = GetMessageClass(message)()
    fields = fields_of(message)
    oneofs = {
        choice: draw(st.sampled_from([field.name for field in fields if field.choice == choice]))
        for choice in sorted({field.choice for field in fields if field.choice})
    }
    for field in fields:
        if field.choice:
            if oneofs[field.choice] != field.name:
                continue
        elif field.presence and not _always(field) and not draw(st.booleans()):
            continue
        _fill(draw, built, field, wide=wide)
    return built


def _always(field: Field) -> bool:
    """Return whether servers always set the field: a message whose members stand in its parent."""
    return field.options.inline and field.kind == "message" and not field.optional and not field.is_map


def _fill(draw: st.DrawFn, built: Any, field: Field, *, wide: bool) -> None:
    if field.options.format == options_pb2.FORMAT_TREE:
        _fill_tree(draw, getattr(built, field.name), field)
        return
    if field.entry is not None:
        target = getattr(built, field.name)
        # No typed member has such a name: those would win over the entries of a map that stands beside them.
        names = TEXTS.map(lambda name: f"~{name}") if field.options.inline else TEXTS
        for key in draw(st.lists(names, max_size=2, unique=True)):
            value = draw(_value(field.entry, wide=wide))
            if field.entry.kind in {"message", "native", "timestamp"}:
                target[key].CopyFrom(value)
            else:
                target[key] = value
        return
    values = _value(field, wide=wide)
    if field.repeated:
        getattr(built, field.name).extend(draw(st.lists(values, max_size=2)))
    elif field.kind in {"message", "native", "timestamp"}:
        getattr(built, field.name).CopyFrom(draw(values))
    else:
        setattr(built, field.name, draw(values))


def _fill_tree(draw: st.DrawFn, rows: Any, field: Field) -> None:
    path: list[int] = []
    for index in range(draw(st.integers(0, 5))):
        row = draw(messages(field.descriptor.message_type))
        row.ClearField("parent")
        if index:
            # In the order of a walk: the parent is on the path to the row before.
            path = path[: draw(st.integers(1, len(path)))]
            row.parent = path[-1]  # type: ignore[attr-defined]
        path.append(index)
        rows.append(row)


# Building a strategy takes longer than drawing from it.
_values: dict[tuple[str, bool], st.SearchStrategy[Any]] = {}


def _value(field: Field, *, wide: bool) -> st.SearchStrategy[Any]:
    key = (field.descriptor.full_name, wide)
    if key not in _values:
        _values[key] = _new_value(field, wide=wide)
    return _values[key]


def _new_value(field: Field, *, wide: bool) -> st.SearchStrategy[Any]:
    descriptor = field.descriptor
    if field.kind == "string":
        if field.options.format == options_pb2.FORMAT_CURSOR:
            return st.text(min_size=1, max_size=12) | st.integers(0, 2 * SAFE).map(str)
        return TEXTS
    if field.kind == "integer":
        return _integers(descriptor, field, wide=wide)
    if field.kind == "number":
        return st.floats(allow_nan=False, allow_infinity=False)
    if field.kind == "boolean":
        return st.booleans()
    if field.kind == "enum":
        values = descriptor.enum_type.values
        return st.sampled_from([value.number for value in values if literal(value).wire or not field.presence])
    if field.kind == "timestamp":
        nanos = st.just(0) if field.options.format == options_pb2.FORMAT_UNIX_SECONDS else st.integers(0, 999_999_999)
        return st.builds(Timestamp, seconds=st.integers(-62135596800, 253402300799), nanos=nanos)
    if field.kind == "native":
        if field.options.inline:
            # No typed member has such a name: those would win over the native ones, by design.
            names = TEXTS.map(lambda name: f"~{name}")
            objects = st.dictionaries(names, JSON_VALUES, min_size=1, max_size=3)
            return objects.map(lambda value: NativeJson(json=dumped(value)))
        return JSON_VALUES.filter(lambda value: value is not None).map(lambda value: NativeJson(json=dumped(value)))
    return messages(descriptor.message_type, wide=wide)


def _integers(descriptor: FieldDescriptor, field: Field, *, wide: bool) -> st.SearchStrategy[int]:
    low, high = field.bounds
    if field.options.min > 0 and not field.presence:
        low = 1  # zero means none
    safe = st.integers(low, high)
    if not wide or descriptor.cpp_type not in WIDE:
        return safe
    return safe | st.integers(54, 62).map(lambda exponent: 2**exponent)
