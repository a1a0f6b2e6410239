"""How error messages name a parameter and show what was got."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from runtime.operations import member

if TYPE_CHECKING:
    from google.protobuf.descriptor import FieldDescriptor

    from runtime.operations import Operation

_LONGEST_SHOWN = 64
_REPEATED = 3  # google.protobuf.FieldDescriptorProto.Label.LABEL_REPEATED


def item_root(operation: Operation | None) -> str:
    """Return the name under which callers know the items of a multi-item operation, "" for other operations."""
    return "params" if operation is not None and operation.takes_items else ""


@cache
def subject_path(operation: Operation) -> str | None:
    """Return how errors name what the operation looks up, None where it looks up nothing by one parameter.

    For a multi-item operation that is the first item's: it fails as a whole only with the failure of its first item.
    """
    message = operation.method.input_type
    if operation.takes_items:
        message = message.fields_by_name["items"].message_type
    name = next((json_name(field) for field in message.fields if member(field).subject), None)
    return f"{item_root(operation)}[0].{name}" if name and operation.takes_items else name


def shown(value: object) -> str:
    """Return the value as an error message may carry it: quoted, on one line, printable, at most 64 characters."""
    if isinstance(value, bytes):
        value = value.hex()
    if not isinstance(value, str):
        return str(value)
    short = value[:_LONGEST_SHOWN]
    safe = "".join(character if character.isprintable() else "�" for character in short)
    return f"`{safe}{'…' if len(value) > _LONGEST_SHOWN else ''}`"


def is_repeated(field: FieldDescriptor) -> bool:
    """Return whether the field is a list (or a map)."""
    return bool(field.label == _REPEATED)


def json_name(field: FieldDescriptor) -> str:
    """Return the name by which callers know the field."""
    name: str = field.json_name  # type: ignore[attr-defined]  # missing in types-protobuf
    return name
