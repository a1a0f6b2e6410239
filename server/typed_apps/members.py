"""ABI values between JSON and the fields of typed messages.

JSON is what `args` and `outputs` of CallMethod hold: integers as decimal text, bytes as hex, lists and tuples as
arrays. The fields are those of `server.typed_apps.values`; position in JSON and field number (from 1) belong together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from server.abi.composites import Array, Tuple
from server.typed_apps.values import ITEMS, scalar_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.abi.composites import Type

_FROM_JSON: dict[str, Callable[[Any], Any]] = {
    "string": str,
    "bool": bool,
    "bytes": lambda text: bytes.fromhex(text.removeprefix("0x")),
    **dict.fromkeys(("int32", "int64", "uint32", "uint64"), int),
}


def read_members(message: Any, kinds: Sequence[Type]) -> list[Any]:
    """Return the JSON of all fields of a message; null for a message field that is unset."""
    fields = message.DESCRIPTOR.fields_by_number
    return [_read(message, fields[number].name, kind) for number, kind in enumerate(kinds, 1)]


def read_filters(message: Any, kinds: Sequence[Type]) -> list[Any]:
    """Return the JSON of the fields that are set, null for the others and for kinds that have none."""
    fields = message.DESCRIPTOR.fields_by_number
    values: list[Any] = []
    for number, kind in enumerate(kinds, 1):
        if number not in fields or not message.HasField(fields[number].name):
            values.append(None)
        elif isinstance(kind, Array):
            values.append(_read(getattr(message, fields[number].name), ITEMS, kind))
        else:
            values.append(_read(message, fields[number].name, kind))
    return values


def write_members(message: Any, kinds: Sequence[Type], values: Sequence[Any]) -> None:
    """Set all fields of a message from JSON, the message itself too where there are none."""
    message.SetInParent()
    fields = message.DESCRIPTOR.fields_by_number
    for number, (kind, value) in enumerate(zip(kinds, values, strict=True), 1):
        write_member(message, fields[number].name, kind, value)


def write_member(message: Any, name: str, kind: Type, value: Any) -> None:
    """Set one field from JSON."""
    if isinstance(kind, Array):
        _write_list(getattr(message, name), kind.element, value)
    elif isinstance(kind, Tuple):
        write_members(getattr(message, name), kind.members, value)
    else:
        setattr(message, name, _FROM_JSON[str(scalar_of(kind))](value))


def _read(message: Any, name: str, kind: Type) -> Any:
    value = getattr(message, name)
    if isinstance(kind, Array):
        return [_read_element(element, kind.element) for element in value]
    if isinstance(kind, Tuple):
        return read_members(value, kind.members) if message.HasField(name) else None
    return _printed(value)


def _read_element(element: Any, kind: Type) -> Any:
    if isinstance(kind, Array):
        return [_read_element(inner, kind.element) for inner in getattr(element, ITEMS)]
    return read_members(element, kind.members) if isinstance(kind, Tuple) else _printed(element)


def _printed(value: Any) -> Any:
    return "0x" + value.hex() if isinstance(value, bytes) else value


def _write_list(field: Any, kind: Type, values: Sequence[Any]) -> None:
    if isinstance(kind, Array):
        for value in values:
            _write_list(getattr(field.add(), ITEMS), kind.element, value)
    elif isinstance(kind, Tuple):
        for value in values:
            write_members(field.add(), kind.members, value)
    else:
        convert = _FROM_JSON[str(scalar_of(kind))]
        field.extend(convert(value) for value in values)
