"""JSON -> message for every message type, responses included: the tests' own reader.

It shares nothing with the generated code. What inline members were set cannot be reported from JSON alone: readers of
answers know it from the chain family, this one from the original message.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp
from waypost.options.v1 import options_pb2
from waypost.v1.common_pb2 import NativeJson

from runtime.operations import literal
from transcoder.fields import Field, fields_of

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_ANY = msgspec.json.Decoder()

Members = dict[str, msgspec.Raw]


def read(message: Descriptor, text: bytes, original: Message) -> Message:
    """Return the message that the text stands for; every member of the text is accounted for."""
    members = _OBJECT.decode(text)
    built: Message = _take(message, members, original)
    assert not members, f"nobody read {sorted(members)}"
    return built


def _take(message: Descriptor, members: Members, original: Any) -> Any:
    built = GetMessageClass(message)()
    fields = fields_of(message)
    for field in fields:
        if not field.options.inline and field.json in members:
            _put(built, field, members.pop(field.json), getattr(original, field.name))
    for field in fields:
        if field.options.inline and field.is_map:
            own = getattr(original, field.name)
            entries = b",".join(orjson.dumps(name) + b":" + bytes(members.pop(name)) for name in list(own))
            _put(built, field, msgspec.Raw(b"{" + entries + b"}"), own)
        elif field.options.inline and field.kind == "message" and original.HasField(field.name):
            part = _take(field.descriptor.message_type, members, getattr(original, field.name))
            getattr(built, field.name).CopyFrom(part)
    for field in fields:
        if field.options.inline and field.kind == "native" and original.HasField(field.name):
            pairs = [orjson.dumps(name) + b":" + bytes(members.pop(name)) for name in list(members)]
            getattr(built, field.name).json = "{" + b",".join(pairs).decode() + "}"
    return built


def _put(built: Any, field: Field, raw: msgspec.Raw, original: Any) -> None:
    text = bytes(raw)
    if text == b"null":
        return
    if field.options.format == options_pb2.FORMAT_TREE:
        _flatten(getattr(built, field.name), field, text, original)
    elif field.entry is not None:
        target = getattr(built, field.name)
        for key, value in _OBJECT.decode(text).items():
            entry = _one(field.entry, bytes(value), original[key])
            if field.entry.kind in {"message", "native", "timestamp"}:
                target[key].CopyFrom(entry)
            else:
                target[key] = entry
    elif field.repeated:
        values = zip(_ARRAY.decode(text), original, strict=True)
        getattr(built, field.name).extend(_one(field, bytes(value), other) for value, other in values)
    else:
        value = _one(field, text, original)
        if field.kind in {"message", "native", "timestamp"}:
            getattr(built, field.name).CopyFrom(value)
        else:
            setattr(built, field.name, value)


def _flatten(rows: Any, field: Field, text: bytes, original: Any) -> None:
    waiting: list[tuple[bytes, int | None]] = [(text, None)]
    while waiting:
        row, parent = waiting.pop()
        members = _OBJECT.decode(row)
        below = _ARRAY.decode(members.pop(field.options.children, msgspec.Raw(b"[]")))
        built = _take(field.descriptor.message_type, members, original[len(rows)])
        if parent is not None:
            built.parent = parent
        waiting += [(bytes(child), len(rows)) for child in reversed(below)]
        rows.append(built)


def _one(field: Field, text: bytes, original: Any) -> Any:
    if field.kind == "native":
        return NativeJson(json=text.decode())
    if field.kind == "message":
        return read(field.descriptor.message_type, text, original)
    value = _ANY.decode(text)
    if field.kind == "string":
        assert isinstance(value, str) or field.options.format == options_pb2.FORMAT_CURSOR
        return str(value)
    if field.options.format == options_pb2.FORMAT_INTEGER_TEXT:
        assert str(int(value)) == value
        return int(value)
    if field.kind == "integer":
        assert type(value) is int
        assert int(float(value)) == value
        return value
    if field.kind == "enum":
        if value is None:
            return 0
        return next(item.number for item in field.descriptor.enum_type.values if literal(item).wire == value)
    if field.kind == "timestamp":
        return _moment(field, value)
    assert type(value) is (bool if field.kind == "boolean" else float)
    return value


def _moment(field: Field, value: Any) -> Timestamp:
    if field.options.format == options_pb2.FORMAT_UNIX_SECONDS:
        assert type(value) is int
        return Timestamp(seconds=value)
    assert value.endswith("Z")
    whole, _, fraction = value[:-1].partition(".")
    assert not fraction.endswith("0")
    passed = (datetime.fromisoformat(whole) - datetime(1970, 1, 1)) // timedelta(seconds=1)
    return Timestamp(seconds=passed, nanos=int(fraction.ljust(9, "0")))
