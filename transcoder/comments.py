"""Comments of the proto files as callers of JSON-RPC read them, by the full name of what they are about."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from runtime.operations import load_operations, load_watches, read_file_set

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.descriptor_pb2 import FileDescriptorProto

# Field numbers within descriptor.proto, of which the paths of SourceCodeInfo are made.
_FILE_MESSAGES, _FILE_ENUMS, _FILE_SERVICES = 4, 5, 6
_MESSAGE_FIELDS, _MESSAGE_NESTED, _MESSAGE_ENUMS = 2, 3, 4
_ENUM_VALUES = 2
_SERVICE_METHODS = 2

_RPC = re.compile(r"\b(?:\w+Service\.)?([A-Z][A-Za-z0-9]+)\b")
_FIELD = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")


@cache
def load_comments() -> dict[str, str]:
    """Return the comment of every message, field, enum, enum value, service and rpc by its full name, as one line.

    Rpcs and fields that a comment mentions have their JSON-RPC names: `getPrice`, `balanceRaw`. The full name of an
    enum value includes its enum's. Raises FileNotFoundError without generated/descriptors.binpb.
    """
    written, members = _read()
    operations = (*load_operations(), *load_watches())
    methods = {operation.method.name: operation.name for operation in operations}
    # A name that several messages write differently is left to those that have it.
    everywhere = {name: only for name, (only, *others) in _writings(members).items() if not others}

    def in_json(name: str, comment: str) -> str:
        known = everywhere | members.get(name, {}) | members.get(name.rpartition(".")[0], {})
        comment = _RPC.sub(lambda found: methods.get(found[1], found[0]), comment)
        return _FIELD.sub(lambda found: known.get(found[0], found[0]), comment)

    return {name: in_json(name, comment) for name, comment in written.items()}


def _read() -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the comments as they stand in the files, and of every message its fields with their JSON names."""
    comments: dict[str, str] = {}
    members: dict[str, dict[str, str]] = {}
    for file in read_file_set().file:
        written = {
            tuple(place.path): re.sub(r"\s+", " ", place.leading_comments).strip()
            for place in file.source_code_info.location
            if place.leading_comments
        }
        for path, name in _elements(file):
            if path in written:
                comments[name] = written[path]
        for message in file.message_type:
            members.update(_members(message, f"{file.package}.{message.name}"))
    return comments, members


def _members(message: Any, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    yield name, {field.name: field.json_name for field in message.field}
    for nested in message.nested_type:
        yield from _members(nested, f"{name}.{nested.name}")


def _writings(members: dict[str, dict[str, str]]) -> dict[str, set[str]]:
    writings: dict[str, set[str]] = {}
    for fields in members.values():
        for name, written in fields.items():
            writings.setdefault(name, set()).add(written)
    return writings


def _elements(file: FileDescriptorProto) -> Iterator[tuple[tuple[int, ...], str]]:
    scope = file.package
    for index, message in enumerate(file.message_type):
        yield from _message(message, (_FILE_MESSAGES, index), scope)
    for index, enum in enumerate(file.enum_type):
        yield from _enum(enum, (_FILE_ENUMS, index), scope)
    for index, service in enumerate(file.service):
        name = f"{scope}.{service.name}"
        yield (_FILE_SERVICES, index), name
        for number, method in enumerate(service.method):
            yield (_FILE_SERVICES, index, _SERVICE_METHODS, number), f"{name}.{method.name}"


def _message(message: Any, path: tuple[int, ...], scope: str) -> Iterator[tuple[tuple[int, ...], str]]:
    name = f"{scope}.{message.name}"
    yield path, name
    for index, field in enumerate(message.field):
        yield (*path, _MESSAGE_FIELDS, index), f"{name}.{field.name}"
    for index, nested in enumerate(message.nested_type):
        yield from _message(nested, (*path, _MESSAGE_NESTED, index), name)
    for index, enum in enumerate(message.enum_type):
        yield from _enum(enum, (*path, _MESSAGE_ENUMS, index), name)


def _enum(enum: Any, path: tuple[int, ...], scope: str) -> Iterator[tuple[tuple[int, ...], str]]:
    name = f"{scope}.{enum.name}"
    yield path, name
    for index, value in enumerate(enum.value):
        yield (*path, _ENUM_VALUES, index), f"{name}.{value.name}"
