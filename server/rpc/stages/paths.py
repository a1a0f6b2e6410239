"""How error messages name a parameter and show what was got."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.protobuf.descriptor import FieldDescriptor

    from runtime.operations import Operation

_LONGEST_SHOWN = 64
_REPEATED = 3  # google.protobuf.FieldDescriptorProto.Label.LABEL_REPEATED


def item_root(operation: Operation | None) -> str:
    """Return the name under which callers know the items of a multi-item operation, "" for other operations."""
    return "params" if operation is not None and operation.takes_items else ""


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
