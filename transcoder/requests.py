"""`params` -> request message: an object, or one of the three forms of a multi-item operation (decisions 1.10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from transcoder import scalars
from transcoder.errors import Failure
from transcoder.fields import Field, UnsupportedField, fields_of, holds_native
from transcoder.params import message_reader

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

    from runtime.operations import Operation

    Parameters = Callable[[bytes | msgspec.Raw], Message]

_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_RAW: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])


# The field that takes the called name where one operation stands for many (Operation.name in options.proto).
CALLED = "method"


def stands_for_many(operation: Operation) -> bool:
    """Return whether the operation answers every name with its prefix (`svc_*`)."""
    return operation.name.endswith("*")


def parameter_fields(operation: Operation) -> tuple[Field, ...]:
    """Return the request's fields that `params` may hold."""
    fields = fields_of(operation.request.DESCRIPTOR)
    return tuple(field for field in fields if field.name != CALLED) if stands_for_many(operation) else fields


def parameters_reader(operation: Operation) -> Parameters:
    """Return the function that reads the raw `params` of the operation (empty bytes when there were none).

    It raises `Failure` (400) for everything that is not a request of this operation's shape.
    """
    if operation.takes_items:
        return _items_reader(operation)
    return _object_reader(operation)


def _object_reader(operation: Operation) -> Parameters:
    message = operation.request.DESCRIPTOR
    known = tuple(field.json for field in parameter_fields(operation))
    names = ", ".join(known) or "none"
    hides_some = stands_for_many(operation)
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
        wanted = f"params must be an object with named members ({names})"
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
        if value is None:
            value = []
        if value.__class__ is not list:
            message = f"{wanted}, not {scalars.described(value)}"
            raise Failure(400, "INVALID_ARGUMENT", message, field="params")
        scalars.bounded(value, "params", items)
        rows = [members(_row(element, index, parts), f"params[{index}].") for index, element in enumerate(value)]
        return operation.request(**{items.name: rows})

    return read


def _row(element: Any, index: int, parts: tuple[Field, ...]) -> dict[str, Any]:
    """Return the members of one item, from an object or from text split at its first colons."""
    if element.__class__ is str:
        values = [value.strip() for value in element.split(":", len(parts) - 1)]
        if len(values) == len(parts) and all(values):
            return {part.json: value for part, value in zip(parts, values, strict=True)}
        form = ":".join(part.json for part in parts)
        where = f"params[{index}]"
        raise Failure(400, "INVALID_ARGUMENT", f'{where} must be written "{form}"', field=where)
    return scalars.table(element, f"params[{index}]", None)
