"""What a .proto file of an app holds, before it becomes text or descriptors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from server.catalog.apps import App, PublishedMethod


@dataclass(frozen=True, slots=True)
class Field:
    """One field: a scalar type by its protobuf name, or a message nested in the same one.

    `label` is empty, `optional` or `repeated`; `json` is the JSON name where it is not the usual one.
    """

    name: str
    number: int
    type: str | Message
    comment: str
    label: str = ""
    json: str = ""


@dataclass(slots=True)
class Message:
    """A message with the messages that only it uses."""

    name: str
    comment: str
    fields: list[Field] = field(default_factory=list)
    nested: list[Message] = field(default_factory=list)

    def add(self, *fields: Field) -> None:
        """Add fields, and under them the messages that they are of."""
        for one in fields:
            self.fields.append(one)
            if isinstance(one.type, Message):
                self.nested.append(one.type)


@dataclass(frozen=True, slots=True)
class Rpc:
    """One published method; `request` and `response` are messages of the file."""

    name: str
    comment: str
    method: PublishedMethod
    request: Message
    response: Message


@dataclass(frozen=True, slots=True)
class AppFile:
    """The file of one app. `path` is where it lies below an import root."""

    app: App
    path: str
    package: str
    service: str
    comment: str
    rpcs: tuple[Rpc, ...]

    @property
    def service_name(self) -> str:
        """Full name of the service."""
        return f"{self.package}.{self.service}"
