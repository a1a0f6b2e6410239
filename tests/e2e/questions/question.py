"""A question asked of the devnet over both faces."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import ParseDict

from runtime.operations import Operation, literal, load_operations

if TYPE_CHECKING:
    from google.protobuf.message import Message

OPERATIONS = {operation.name: operation for operation in load_operations()}
# The operation that answers every name with its prefix.
PUBLISHED = OPERATIONS["svc_*"]


@dataclass(frozen=True)
class Question:
    """What is asked: the method and its parameters, items as an array."""

    method: str
    params: Any = field(default_factory=dict)
    note: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.note}".strip()

    @property
    def operation(self) -> Operation:
        """The operation asked."""
        return PUBLISHED if self.method.startswith("svc_") else OPERATIONS[self.method]

    def message(self) -> Message:
        """Return the same question as a request message, through protobuf's own JSON reader."""
        members = {"items": self.params} if isinstance(self.params, list) else self.params
        if self.operation is PUBLISHED:
            args = json.dumps(members.get("args"))
            members = {**members, "method": self.method, "args": {"json": args}}
        return ParseDict(with_enum_names(members, self.operation), self.operation.request())


def with_enum_names(members: dict[str, Any], operation: Operation) -> dict[str, Any]:
    """Return the members with enum values by their protobuf names, which is what protobuf's reader knows."""
    fields = {one.json_name: one for one in operation.method.input_type.fields if one.enum_type is not None}
    names = {(name, literal(value).wire): value.name for name, one in fields.items() for value in one.enum_type.values}
    return {name: names.get((name, value), value) if name in fields else value for name, value in members.items()}


def ethereum(**params: Any) -> dict[str, Any]:
    """Return parameters on ethereum; `from_` becomes `from`."""
    return {"chain": "ethereum", **{name.rstrip("_"): value for name, value in params.items()}}
