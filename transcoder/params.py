"""`params` -> request message: an object, an array of its values, or a multi-item operation's forms (decisions 1.10).

One generated Python function per request message type, compiled on first use, takes an object's members and returns
the message. Members that hold a `NativeJson` anywhere are read unparsed level by level, so that the caller's own bytes
arrive. JSON types and unknown names are decided here, values by the server (decisions 1.8); `null` means absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from google.protobuf.message_factory import GetMessageClass
from waypost.options.v1 import options_pb2

from transcoder import scalars
from transcoder.errors import Failure
from transcoder.fields import SAFE, Field, UnsupportedField, fields_of, holds_native

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

    from runtime.operations import Operation

    Reader = Callable[[dict[str, Any], str], Message]
    Parameters = Callable[[bytes | msgspec.Raw], Message]

_NAMESPACE: dict[str, Any] = {
    name: getattr(scalars, name)
    for name in (
        "text", "integer", "block", "number", "boolean", "choice", "timestamp", "table", "elements", "parsed",
        "raw_members", "raw_elements", "native", "unknown", "required", "given",
    )
}  # fmt: skip

_CONVERTERS = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "enum": "choice",
    "timestamp": "timestamp",
    "native": "native",
}
# The class a value must have to need no converter. Integers are range-checked beside it.
_CLASSES = {"string": "str", "boolean": "bool"}


def message_reader(message: Descriptor) -> Reader:
    """Return the function `(members, where) -> message`, compiling it on first use.

    `members` maps names to parsed values, or to `msgspec.Raw` where `holds_native(message)`; `where` is the path of the
    object for messages, empty or ending in a dot. It raises `Failure` (400) for a wrong type or an unknown name.
    """
    name = _function_name(message)
    if name not in _NAMESPACE:
        _NAMESPACE[f"C_{name}"] = GetMessageClass(message)
        _NAMESPACE[f"N_{name}"] = tuple(field.json for field in fields_of(message))
        exec(compile(source_of(message), f"<read {message.full_name}>", "exec"), _NAMESPACE)
    function: Reader = _NAMESPACE[name]
    return function


def source_of(message: Descriptor) -> str:
    """Return the generated Python source of one message type's reader."""
    name = _function_name(message)
    raw = holds_native(message)
    lines = [f"def {name}(o, w):", "    f = {}", "    n = 0"]
    for field in fields_of(message):
        if field.options.inline:
            raise UnsupportedField(f"{field.descriptor.full_name}: a request cannot be read from inline members")
        constant = f"F_{field.descriptor.full_name.replace('.', '_')}"
        _NAMESPACE[constant] = field
        if field.entry is not None:
            _NAMESPACE[constant + "_E"] = field.entry
        lines += [
            f"    if {field.json!r} in o:",
            "        n += 1",
            f"        v = o[{field.json!r}]",
            *(f"        {line}" for line in _member(field, constant, raw=raw)),
        ]
    lines += ["    if n != len(o):", f"        raise unknown(o, N_{name}, w)", *_refusals(message)]
    lines.append(f"    return C_{name}(**f)")
    return "\n".join(lines)


def _refusals(message: Descriptor) -> list[str]:
    """Return what refuses an absent number where the message cannot say so: the server would read 0.

    It leaves the word to the server while a parameter before it is missing.
    """
    lines, before = [], ""
    for field in fields_of(message):
        if field.options.required and not field.presence and field.kind == "integer":
            constant = f"F_{field.descriptor.full_name.replace('.', '_')}"
            lines.append(f"    if {field.name!r} not in f{before}:")
            lines.append(f"        raise required(w + {field.json!r}, {constant})")
        if field.options.required:
            before += f" and f.get({field.name!r})"
    return lines


def _member(field: Field, constant: str, *, raw: bool) -> list[str]:
    where = f"w + {field.json!r}"
    native = raw and _is_native(field)
    lines: list[str] = []
    if raw and not native:
        lines.append(f"v = parsed(v, {where})")
    lines.append("if bytes(v) != b'null':" if native else "if v is not None:")
    target = f"f[{field.name!r}]"
    if field.entry is not None:
        opened = f"raw_members(v, {where}, {constant})" if native else f"table(v, {where}, {constant})"
        value = _converted(field.entry, f"{constant}_E", "e", f"w + {field.json!r} + '.' + k", raw=native)
        lines.append(f"    {target} = {{k: {value} for k, e in {opened}.items()}}")
    elif field.repeated:
        opened = f"raw_elements(v, {where}, {constant})" if native else f"elements(v, {where}, {constant})"
        value = _converted(field, constant, "e", f"f'{{w}}{field.json}[{{i}}]'", raw=native)
        lines.append(f"    {target} = [{value} for i, e in enumerate({opened})]")
    else:
        value = _converted(field, constant, "v", where, raw=native)
        quick = _quick(field)
        if _begins_above_zero(field):
            lines.append(f"    {target} = given({value}, {where}, {constant})")
        else:
            lines.append(f"    {target} = v if {quick} else {value}" if quick else f"    {target} = {value}")
    return lines


def _converted(field: Field, constant: str, source: str, where: str, *, raw: bool) -> str:
    if field.is_block:
        return f"block({source}, {where}, {constant})"
    if field.kind != "message":
        return f"{_CONVERTERS[field.kind]}({source}, {where}, {constant})"
    child = field.descriptor.message_type
    message_reader(child)
    opened = "raw_members" if raw else "table"
    return f"{_function_name(child)}({opened}({source}, {where}, {constant}), {where} + '.')"


def _quick(field: Field) -> str | None:
    """Return the test under which a parsed value can be taken as it is."""
    if field.kind in _CLASSES:
        return f"v.__class__ is {_CLASSES[field.kind]}"
    if field.kind == "integer":
        low, high = (0, SAFE) if field.is_block else field.bounds
        return f"v.__class__ is int and {low} <= v <= {high}"
    return None


def _begins_above_zero(field: Field) -> bool:
    """Return whether zero, or an empty text, is not accepted of a field of which they mean none in messages."""
    options = field.options
    return not field.presence and (options.min > 0 or options.format == options_pb2.FORMAT_CURSOR)


def _is_native(field: Field) -> bool:
    inner = field.entry or field
    return inner.kind == "native" or (inner.kind == "message" and holds_native(inner.descriptor.message_type))


def _function_name(message: Descriptor) -> str:
    name: str = message.full_name
    return "read_" + name.replace(".", "_")


_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_RAW: msgspec.json.Decoder[Any] = msgspec.json.Decoder(dict[str, msgspec.Raw] | list[msgspec.Raw])


# The field that takes the called name where one operation stands for many (Operation.name in options.proto).
CALLED = "method"


def parameter_fields(operation: Operation) -> tuple[Field, ...]:
    """Return the request's fields that `params` may hold."""
    fields = fields_of(operation.request.DESCRIPTOR)
    return tuple(field for field in fields if field.name != CALLED) if operation.stands_for_many else fields


def documented_order(operation: Operation) -> tuple[Field, ...]:
    """Return the fields that `params` may hold as documents show them and positions mean them: required ones first."""
    return tuple(sorted(parameter_fields(operation), key=lambda field: not field.options.required))


def parameters_reader(operation: Operation) -> Parameters:
    """Return the function that reads the raw `params` of the operation (empty bytes when there were none).

    It raises `Failure` (400) for everything that is not a request of this operation's shape.
    """
    if operation.takes_items:
        return _items_reader(operation)
    return _object_reader(operation)


def _object_reader(operation: Operation) -> Parameters:
    message = operation.request.DESCRIPTOR
    known = tuple(field.json for field in documented_order(operation))
    names = ", ".join(known) or "none"
    # The methods that one operation stands for take different parameters: only names say which.
    hides_some = operation.stands_for_many
    wanted = f"params must be an object with named members ({names})"
    if not hides_some:
        wanted += " or an array of their values in this order"
    members = message_reader(message)
    decode = (_RAW if holds_native(message) else _ANY).decode
    empty = operation.request

    def read(raw: bytes | msgspec.Raw) -> Message:
        if not raw:
            return empty()
        try:
            value = decode(raw)
        except msgspec.DecodeError:
            value = scalars.parsed(raw, "")
        if value.__class__ is dict:
            if hides_some and any(name not in known for name in value):
                raise scalars.unknown(value, known, "")
            return members(value, "")
        if value is None or value == []:
            return empty()
        if value.__class__ is list and not hides_some:
            if len(value) > len(known):
                several = f"params holds {len(value)} values; by position they are {names}"
                raise Failure(400, "INVALID_ARGUMENT", several, field="params")
            return members(dict(zip(known, value, strict=False)), "")
        raise Failure(400, "INVALID_ARGUMENT", f"{wanted}, not {scalars.described(value)}")

    return read


def _items_reader(operation: Operation) -> Parameters:
    message = operation.request.DESCRIPTOR
    items, *others = fields_of(message)
    if others or not items.repeated or items.kind != "message" or holds_native(message):
        raise UnsupportedField(f"{message.full_name}: a multi-item request has one repeated message field")
    item = items.descriptor.message_type
    members = message_reader(item)
    parts = fields_of(item)

    form = ":".join(part.json for part in parts)
    as_array = f"; or write params as an array of objects: {items.options.example}" if items.options.example else ""
    wanted = f'params must be an array of objects or {{"{items.json}": "{form},..."}}'

    def read(raw: bytes | msgspec.Raw) -> Message:
        value = scalars.parsed(raw, "") if raw else None
        if value.__class__ is dict:
            if len(value) > 1 or (value and items.json not in value):
                raise scalars.unknown(value, (items.json,), "", as_array)
            value = value.get(items.json)
            if value.__class__ is str:
                value = scalars.split(value, items.json, items.most)
        elif value.__class__ is list and len(value) == 1 and value[0].__class__ is list:
            # By position: no item is an array.
            [value] = value
        if value is None:
            value = []
        if value.__class__ is not list:
            message = f"{wanted}, not {scalars.described(value)}"
            raise Failure(400, "INVALID_ARGUMENT", message, field="params")
        scalars.bounded(value, "params", items)
        rows, missing = [], None
        for index, element in enumerate(value):
            try:
                rows.append(members(_row(element, index, parts), f"params[{index}]."))
            except scalars.Missing as failure:
                # What cannot be read in any row is said first.
                missing = missing or failure
        if missing is not None:
            raise missing
        return operation.request(**{items.name: rows})

    return read


def _row(element: Any, index: int, parts: tuple[Field, ...]) -> dict[str, Any]:
    """Return the members of one item, from an object or from text split at its first colons.

    Text may end before the parts that are not needed.
    """
    if element.__class__ is str:
        values = [value.strip() for value in element.split(":", len(parts) - 1)]
        if all(values) and not any(part.options.required for part in parts[len(values) :]):
            return {part.json: value for part, value in zip(parts, values, strict=False)}
        form = ":".join(part.json for part in parts)
        where = f"params[{index}]"
        raise Failure(400, "INVALID_ARGUMENT", f'{where} must be written "{form}"', field=where)
    return scalars.table(element, f"params[{index}]", None)
