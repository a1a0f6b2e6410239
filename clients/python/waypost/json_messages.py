"""Messages as the JSON-RPC face writes them, by the descriptors' options: parameters out, results in."""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.timestamp_pb2 import Timestamp
from waypost.generated.families import FAMILIES
from waypost.methods import class_of, is_repeated, native_of, number_of, value_of, words_of
from waypost.options.v1 import options_pb2
from waypost.v1.common_pb2 import NativeJson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.protobuf.descriptor import Descriptor, MethodDescriptor
    from google.protobuf.message import Message

NATIVE = NativeJson.DESCRIPTOR.full_name
TIMESTAMP = Timestamp.DESCRIPTOR.full_name
_OPERATION: Any = options_pb2.operation
_MEMBER: Any = options_pb2.member
_REALS = {FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT}
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
}
_FRACTION = re.compile(r"\.([0-9]+)")
CALLED = "method"


class Number(str):
    """A number with a fraction or an exponent, as it was written."""

    __slots__ = ()


def parse(text: str | bytes) -> Any:
    """Return the value of a JSON text; numbers that are no integers keep their digits. Raises ValueError."""
    return json.loads(text, parse_float=Number)


def text_of(value: Any) -> str:
    """Return a parsed value as JSON text, its numbers as they were written."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{text_of(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    return json.dumps(value)


def member(field: FieldDescriptor) -> options_pb2.Member:
    """Return the field's options; an empty message where it has none."""
    options: options_pb2.Member = field.GetOptions().Extensions[_MEMBER]
    return options


def operation(method: MethodDescriptor) -> options_pb2.Operation:
    """Return what the rpc is on the JSON-RPC face."""
    options: options_pb2.Operation = method.GetOptions().Extensions[_OPERATION]
    return options


def params_of(request: Message, method: MethodDescriptor) -> tuple[str, Any]:
    """Return the JSON-RPC method and parameters for a request."""
    options = operation(method)
    name = options.name or method.name[:1].lower() + method.name[1:]
    params: Any = _written(request)
    if name.endswith("*"):
        name = params.pop(CALLED, "")
    if options.params == options_pb2.PARAMS_SHAPE_ITEMS:
        [params] = params.values() or [[]]
    return name, params


def _written(message: Message) -> dict[str, Any]:
    # A required number that is 0 is given, not left out: block 0 is a block.
    zeros = {
        _name(field): 0
        for field in message.DESCRIPTOR.fields
        if member(field).required and field.cpp_type in _INTEGERS and not is_repeated(field)
    }
    return zeros | {
        _name(field): _written_value(field, value) for field, value in message.ListFields() if not is_absent(field)
    }


def _written_value(field: FieldDescriptor, value: Any) -> Any:
    if is_repeated(field):
        return [_written_one(field, element) for element in value]
    return _written_one(field, value)


def _written_one(field: FieldDescriptor, value: Any) -> Any:
    if field.enum_type is not None:
        return words_of(field.enum_type)[1].get(value)
    if field.message_type is None:
        return value
    return value_of(value) if field.message_type.full_name == NATIVE else _written(value)


def result_of(kind: type[Message], method: MethodDescriptor, result: Any, request: Message) -> Message:
    """Return the answer to a request that a JSON-RPC `result`, as `parse` reads it, stands for."""
    data = result["data"]
    if operation(method).result == options_pb2.RESULT_SHAPE_DATA_FIELD:
        [field] = [field for field in kind.DESCRIPTOR.fields if not is_absent(field)]
        data = {_name(field): data}
    return read(kind, data, _words(value for _, value in request.ListFields()))


def read(kind: type[Message], members: dict[str, Any], near: frozenset[str] = frozenset()) -> Message:
    """Return the message whose members these are; what no field of it names is its native JSON.

    `near` are the words of the objects around it, which may say which of several messages it is.
    """
    message = kind()
    _fill(message, dict(members), members, near | _words(members.values()))
    return message


@cache
def is_absent(field: FieldDescriptor) -> bool:
    """Return whether JSON has no member for the field: it is of gRPC alone, or states the order of a map's keys."""
    orders = {member(other).order for other in field.containing_type.fields}
    return field.name in orders or bool(getattr(member(field), "grpc_only", False))


def _fill(message: Message, left: dict[str, Any], members: dict[str, Any], words: frozenset[str]) -> None:
    """Set the message's fields and take what they are read from out of `left`."""
    descriptor: Descriptor = message.DESCRIPTOR
    inline: list[FieldDescriptor] = []
    for field in descriptor.fields:
        if is_absent(field):
            continue
        if member(field).inline:
            inline.append(field)
        elif (name := _name(field)) in left:
            value = left.pop(name)
            if value is not None:
                _set(message, field, value, words)
    natives = [field for field in inline if field.message_type.full_name == NATIVE]
    for field in _present([field for field in inline if field not in natives], members, words):
        if _is_map(field):
            _set(message, field, {name: left.pop(name) for name in list(left)}, words)
        else:
            part = getattr(message, field.name)
            part.SetInParent()
            _fill(part, left, members, words)
    for field in natives:
        if left:
            getattr(message, field.name).CopyFrom(native_of(text_of(left)))
            left.clear()


def _present(fields: list[FieldDescriptor], members: dict[str, Any], words: frozenset[str]) -> list[FieldDescriptor]:
    """Return the inline fields that are set: those whose members are there, of a choice the one that fits best."""
    chosen = [field for field in fields if _is_map(field) or always_printed(field.message_type) <= members.keys()]

    def fits(field: FieldDescriptor) -> tuple[bool, int]:
        return _plain(field.name) in words, len(printed(field.message_type) & members.keys())

    best: dict[str, FieldDescriptor] = {}
    for field in chosen:
        if field.containing_oneof is not None and field.containing_oneof.name != f"_{field.name}":
            other = best.setdefault(field.containing_oneof.name, field)
            best[field.containing_oneof.name] = max(other, field, key=fits)
    return [
        field
        for field in chosen
        if field.containing_oneof is None or best.get(field.containing_oneof.name, field) is field
    ]


@cache
def always_printed(message: Descriptor) -> frozenset[str]:
    """Return the members that JSON has whatever the message's values are."""
    return frozenset(
        name
        for field in message.fields
        if not is_absent(field) and not member(field).inline and (not field.has_presence or member(field).nullable)
        for name in (_name(field),)
    )


@cache
def printed(message: Descriptor) -> frozenset[str]:
    """Return all members that JSON may have for the message, those of native JSON and of maps aside."""
    names: set[str] = set()
    for field in message.fields:
        if not member(field).inline:
            names.add(_name(field))
        elif not _is_map(field) and field.message_type.full_name != NATIVE:
            names |= printed(field.message_type)
    return frozenset(names)


def _words(values: Iterable[Any]) -> frozenset[str]:
    """Return the texts among the values, and the family of those that are chains."""
    texts = [value for value in values if isinstance(value, str)]
    return frozenset({_plain(text) for text in texts} | {FAMILIES[text] for text in texts if text in FAMILIES})


def _plain(word: str) -> str:
    return word.replace("-", "").replace("_", "").lower()


def _is_map(field: FieldDescriptor) -> bool:
    return bool(field.message_type is not None and field.message_type.GetOptions().map_entry)


def _name(field: FieldDescriptor) -> str:
    name: str = field.json_name  # type: ignore[attr-defined]  # missing in the stubs
    return name


def _set(message: Message, field: FieldDescriptor, value: Any, near: frozenset[str]) -> None:
    if _is_map(field):
        _set_map(message, field, value, near)
    elif member(field).format == options_pb2.FORMAT_TREE:
        _set_tree(getattr(message, field.name), field, value)
    elif is_repeated(field):
        getattr(message, field.name).extend([_one(field, element, near) for element in value])
    elif field.message_type is None:
        setattr(message, field.name, _one(field, value, near))
    else:
        part = getattr(message, field.name)
        part.SetInParent()
        part.MergeFrom(_one(field, value, near))


def _set_map(message: Message, field: FieldDescriptor, value: dict[str, Any], near: frozenset[str]) -> None:
    entries = getattr(message, field.name)
    of_value = field.message_type.fields_by_name["value"]
    for name, one in value.items():
        if of_value.message_type is None:
            entries[name] = _one(of_value, one, near)
        else:
            entries[name].CopyFrom(_one(of_value, one, near))
    if order := member(field).order:
        getattr(message, order).extend(value)


def _set_tree(rows: Any, field: FieldDescriptor, root: dict[str, Any]) -> None:
    children = member(field).children
    waiting: list[tuple[dict[str, Any], int | None]] = [(root, None)]
    while waiting:
        node, parent = waiting.pop()
        row = read(class_of(field.message_type), {name: value for name, value in node.items() if name != children})
        if parent is not None:
            row.parent = parent  # type: ignore[attr-defined]  # every row of a tree has it
        waiting += [(child, len(rows)) for child in reversed(node.get(children, ()))]
        rows.append(row)


def _one(field: FieldDescriptor, value: Any, near: frozenset[str]) -> Any:
    if field.enum_type is not None:
        return 0 if value is None else number_of(field.enum_type, value)
    if field.message_type is not None:
        if field.message_type.full_name == NATIVE:
            return native_of(text_of(value))
        if field.message_type.full_name == TIMESTAMP:
            return _moment(value)
        return read(class_of(field.message_type), value, near)
    if field.cpp_type in _REALS:
        return float(value)
    if field.cpp_type in _INTEGERS:
        return int(value, 16 if value.startswith("0x") else 10) if isinstance(value, str) else value
    return str(value) if isinstance(value, int) and field.cpp_type == FieldDescriptor.CPPTYPE_STRING else value


def _moment(value: int | str) -> Timestamp:
    if isinstance(value, int):
        return Timestamp(seconds=value)
    fraction = _FRACTION.search(value)
    whole = datetime.fromisoformat(_FRACTION.sub("", value).replace("Z", "+00:00"))
    return Timestamp(seconds=int(whole.timestamp()), nanos=int(fraction[1].ljust(9, "0")) if fraction else 0)
