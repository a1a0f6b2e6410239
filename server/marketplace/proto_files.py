"""A .proto file of an app: what it holds, its identifiers, its text for stub generators and its descriptor for serving.

Identifiers are made out of names in an ABI, each unlike the others of its scope, in the forms that `buf lint` asks for.
Two names count as alike when they differ in casing and underscores only: protobuf refuses fields of one JSON name, and
generators of several languages fold them together. The text is formatted as `buf format` does.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from dataclasses import field as made_by
from textwrap import wrap
from typing import TYPE_CHECKING

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodOptions,
    ServiceDescriptorProto,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.marketplace.catalogue import App, PublishedMethod

    Path = tuple[int, ...]

_PARTS = re.compile(r"[A-Za-z0-9]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TYPES = {
    name: FieldDescriptorProto.Type.Value(f"TYPE_{name.upper()}")
    for name in ("string", "bytes", "bool", "int32", "int64", "uint32", "uint64")
}
_WIDTH = 120
# Numbers of fields in descriptor.proto, which paths to comments are made of.
_MESSAGE = FileDescriptorProto.MESSAGE_TYPE_FIELD_NUMBER
_SERVICE = FileDescriptorProto.SERVICE_FIELD_NUMBER
_METHOD = ServiceDescriptorProto.METHOD_FIELD_NUMBER
_FIELD = DescriptorProto.FIELD_FIELD_NUMBER
_NESTED = DescriptorProto.NESTED_TYPE_FIELD_NUMBER


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
    fields: list[Field] = made_by(default_factory=list)
    nested: list[Message] = made_by(default_factory=list)

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


class Scope:
    """Names that are taken."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def claim(self, name: str) -> str:
        """Return the name, numbered from 2 on where one like it is taken."""
        candidate, number = name, 2
        while _folded(candidate) in self._taken:
            candidate = f"{name}{number}"
            number += 1
        self._taken.add(_folded(candidate))
        return candidate


def snake(name: str) -> str:
    """Return the name in lower_snake_case, empty where nothing is left of it: `_stETHAmount` is `st_eth_amount`."""
    parts = [word for part in _PARTS.findall(name) for word in _HUMP.split(part)]
    return started("_".join(parts).lower())


def pascal(name: str) -> str:
    """Return the name in PascalCase, inner capitals kept: `balanceOf` is `BalanceOf`."""
    joined = "".join(part[:1].upper() + part[1:] for part in _PARTS.findall(name))
    return "N" + joined if joined[:1].isdigit() else joined


def started(name: str) -> str:
    """Return the name, begun with a letter as identifiers are."""
    return f"n_{name}" if name[:1].isdigit() else name


def is_reserved(name: str) -> bool:
    """Return whether a Python stub could not name the field in its constructor."""
    return keyword.iskeyword(name)


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def proto_text(file: AppFile) -> str:
    """Return the file's text."""
    parts = file.package.split(".")
    go_name = "".join(parts[1:]).replace("_", "")
    rpcs = {rpc.name for rpc in file.rpcs}

    def named(message: Message) -> str:
        # Inside of the service an rpc of that name comes first: those of get() and getRequest() are such.
        return f".{file.package}.{message.name}" if message.name in rpcs else message.name

    lines = [
        *_comment_lines(file.comment, 0),
        'syntax = "proto3";',
        "",
        f"package {file.package};",
        "",
        f'option go_package = "{"/".join(parts)};{go_name}";',
        "option java_multiple_files = true;",
        f'option java_package = "dev.waypost.apps.{".".join(parts[1:])}";',
        "",
        *_comment_lines(file.comment, 0),
        f"service {file.service} {{",
    ]
    for rpc in file.rpcs:
        lines += _comment_lines(rpc.comment, 1)
        lines += [
            f"  rpc {rpc.name}({named(rpc.request)}) returns ({named(rpc.response)}) {{",
            "    option idempotency_level = NO_SIDE_EFFECTS;",
            "  }",
        ]
    lines.append("}")
    for rpc in file.rpcs:
        for message in (rpc.request, rpc.response):
            lines += ["", *_message_lines(message, 0)]
    return "\n".join(lines) + "\n"


def _message_lines(message: Message, depth: int) -> Iterator[str]:
    indent = "  " * depth
    yield from _comment_lines(message.comment, depth)
    if not message.fields:
        yield f"{indent}message {message.name} {{}}"
        return
    yield f"{indent}message {message.name} {{"
    for nested in message.nested:
        yield from _message_lines(nested, depth + 1)
        yield ""
    for field in message.fields:
        yield from _comment_lines(field.comment, depth + 1)
        yield f"{indent}  {_declaration(field)}"
    yield f"{indent}}}"


def _declaration(field: Field) -> str:
    kind = field.type.name if isinstance(field.type, Message) else field.type
    label = f"{field.label} " if field.label else ""
    json = f' [json_name = "{field.json}"]' if field.json else ""
    return f"{label}{kind} {field.name} = {field.number}{json};"


def _comment_lines(text: str, depth: int) -> list[str]:
    prefix = "  " * depth + "// "
    return [prefix + line for line in wrap(text, _WIDTH - len(prefix), break_long_words=False)]


def file_descriptor(file: AppFile) -> FileDescriptorProto:
    """Return the file's descriptor with its comments; what `protoc` makes of its text, language options aside.

    The places of comments are numbered in their order: the text itself is not there.
    """
    proto = FileDescriptorProto(name=file.path, package=file.package, syntax="proto3")
    service = proto.service.add(name=file.service)
    _add_comment(proto, file.comment, _SERVICE, 0)
    for number, rpc in enumerate(file.rpcs):
        _add_comment(proto, rpc.comment, _SERVICE, 0, _METHOD, number)
        for message in (rpc.request, rpc.response):
            path = (_MESSAGE, len(proto.message_type))
            _fill(proto, proto.message_type.add(), message, f".{file.package}", path)
        service.method.add(
            name=rpc.name,
            input_type=f".{file.package}.{rpc.request.name}",
            output_type=f".{file.package}.{rpc.response.name}",
            options=MethodOptions(idempotency_level=MethodOptions.NO_SIDE_EFFECTS),
        )
    return proto


def _fill(file: FileDescriptorProto, proto: DescriptorProto, message: Message, scope: str, path: Path) -> None:
    proto.name = message.name
    scope = f"{scope}.{message.name}"
    _add_comment(file, message.comment, *path)
    for number, nested in enumerate(message.nested):
        _fill(file, proto.nested_type.add(), nested, scope, (*path, _NESTED, number))
    for number, field in enumerate(message.fields):
        _add_comment(file, field.comment, *path, _FIELD, number)
        _add_field(proto, field, scope)


def _add_comment(file: FileDescriptorProto, text: str, *path: int) -> None:
    places = file.source_code_info.location
    places.add(path=path, span=(len(places), 0, 0), leading_comments=f" {text}\n")


def _add_field(proto: DescriptorProto, field: Field, scope: str) -> None:
    repeated = field.label == "repeated"
    added = proto.field.add(
        name=field.name,
        number=field.number,
        label=FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL,
        json_name=field.json or _camel(field.name),
    )
    if isinstance(field.type, Message):
        added.type = FieldDescriptorProto.TYPE_MESSAGE
        added.type_name = f"{scope}.{field.type.name}"
    else:
        added.type = _TYPES[field.type]
    if field.label == "optional":
        # Presence of a scalar is a oneof of its own in descriptors (protobuf, "Implementing proto3 presence").
        added.proto3_optional = True
        added.oneof_index = len(proto.oneof_decl)
        proto.oneof_decl.add(name=f"_{field.name}")


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)
