"""Descriptors -> JSON Schema (draft 7), for parameters and for results, with the comments of the proto files."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from waypost.options.v1 import options_pb2

from runtime.operations import load_operations, read_file_set
from transcoder.fields import TEXT_LENGTH, Field, fields_of, literals_of
from transcoder.render import PARENT
from transcoder.scalars import ALSO_INTEGERS, narrowed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.descriptor import Descriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    Schema = dict[str, Any]

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
    methods = {operation.method.name: operation.name for operation in load_operations()}
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


PATTERNS = {
    options_pb2.FORMAT_CHAIN: "^[a-z0-9]+$",
    options_pb2.FORMAT_EVM_ADDRESS: "^0x[0-9a-fA-F]{40}$",
    options_pb2.FORMAT_EVM_HASH: "^0x[0-9a-fA-F]{64}$",
    options_pb2.FORMAT_HEX_DATA: "^0x([0-9a-fA-F]{2})*$",
    options_pb2.FORMAT_HEX_QUANTITY: "^0x[0-9a-fA-F]{1,64}$",
    options_pb2.FORMAT_DECIMAL: r"^-?[0-9]+(\.[0-9]+)?$",
    options_pb2.FORMAT_UINT: "^[0-9]+$",
    options_pb2.FORMAT_BLOCK: "^([0-9]+|latest)$",
    options_pb2.FORMAT_HEX_BLOCK: "^(0x[0-9a-fA-F]{1,14}|latest)$",
    options_pb2.FORMAT_DATE: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    options_pb2.FORMAT_BASE58: "^[1-9A-HJ-NP-Za-km-z]{32,44}$",
    options_pb2.FORMAT_COSMOS_HASH: "^[0-9a-fA-F]{64}$",
    options_pb2.FORMAT_BECH32: "^[a-z]+1[02-9ac-hj-np-z]{6,90}$",
    options_pb2.FORMAT_URL: "^https?://",
}


class Schemas:
    """Builds schemas and collects, under `components`, those of the messages that results refer to."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}
        self._comments = load_comments()

    def comment(self, name: str) -> str:
        """Return the comment of a descriptor by its full name, empty where there is none."""
        return self._comments.get(name, "")

    def parameter(self, field: Field) -> Schema:
        """Return what one request field accepts."""
        return self._field(field, request=True)

    def item(self, message: Descriptor) -> Schema:
        """Return what an object within a request accepts."""
        fields = fields_of(message)
        return {
            "type": "object",
            "properties": {field.json: self.parameter(field) for field in fields},
            "required": [field.json for field in fields if field.options.required],
            "additionalProperties": False,
        }

    def result(self, field: Field) -> Schema:
        """Return how one response field is printed."""
        return self._field(field, request=False)

    def reference(self, message: Descriptor) -> Schema:
        """Return a reference to a response message's schema, building it once."""
        name = message.full_name.rpartition(".")[2]
        if name not in self.components:
            self.components[name] = {}  # claimed before it is built, so that nothing builds it twice
            self.components[name] = self._message(message)
        return {"$ref": f"#/components/schemas/{name}"}

    def _message(self, message: Descriptor) -> Schema:
        properties: dict[str, Schema] = {}
        required: list[str] = []
        always: list[Schema] = []
        choices: dict[str, list[Schema]] = {}
        entries: Schema | None = None
        for field in fields_of(message):
            if not field.options.inline:
                properties[field.json] = self.result(field)
                if field.choice is not None:
                    # A null stands for none of the choice: nothing is required then.
                    part = {} if field.options.nullable else {"required": [field.json]}
                    choices.setdefault(field.choice, []).append(part)
                if not field.presence or field.options.nullable:
                    required.append(field.json)
            elif field.is_map and field.entry is not None:
                entries = self._one(field.entry, request=False)
            elif field.kind == "message":
                part = self.reference(field.descriptor.message_type)
                if field.choice is not None:
                    choices.setdefault(field.choice, []).append(part)
                else:
                    # An optional part is described, but need not be there (a row with an error has none).
                    always.append({"anyOf": [part, {}]} if field.optional else part)
        schema: Schema = {"title": message.name, "type": "object", "properties": properties}
        if comment := self.comment(message.full_name):
            schema["description"] = comment
        if required:
            schema["required"] = required
        if entries is not None:
            schema["additionalProperties"] = entries
        # An inline member's own members stand in this object; which ones depends on the chain family.
        always += [{"anyOf": parts} for parts in choices.values()]
        if always:
            schema["allOf"] = always
        return schema

    def _field(self, field: Field, *, request: bool) -> Schema:
        if field.entry is not None:
            schema: Schema = {"type": "object", "additionalProperties": self._one(field.entry, request=request)}
        elif field.options.format == options_pb2.FORMAT_TREE:
            schema = self._tree(field)
        elif field.repeated:
            schema = self._list(field, request=request)
        else:
            schema = self._one(field, request=request)
        if field.options.nullable:
            schema = _nullable(schema)
        if comment := self.comment(field.descriptor.full_name):
            # Draft 7 ignores what stands beside $ref.
            schema = {"allOf": [schema]} if "$ref" in schema else schema
            schema["description"] = comment
        if request:
            if field.options.default_value:
                schema["default"] = _default(field)
            if field.options.example:
                # The first is of the local chains, which most readers ask first.
                written = (field.options.example, field.options.mainnet_example)
                schema["examples"] = [json.loads(example) for example in written if example]
        return schema

    def _list(self, field: Field, *, request: bool) -> Schema:
        schema: Schema = {"type": "array", "items": self._one(field, request=request)}
        if request:
            schema["maxItems"] = field.most
            if field.options.min_length:
                schema["minItems"] = field.options.min_length
            if field.options.csv:
                return {"anyOf": [schema, {"type": "string", "description": "The same, separated by commas."}]}
        return schema

    def _tree(self, field: Field) -> Schema:
        """Return the schema of rows that are printed nested: a row, and rows of the same kind below it."""
        row = field.descriptor.message_type
        name = f"{row.name}Tree"
        if name not in self.components:
            self.components[name] = {}
            flat = self._message(row)
            properties = {key: value for key, value in flat["properties"].items() if key != PARENT}
            below = {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}
            self.components[name] = {**flat, "title": name, "properties": {**properties, field.options.children: below}}
        return {"anyOf": [{"$ref": f"#/components/schemas/{name}"}, {"type": "null"}]}

    def _one(self, field: Field, *, request: bool) -> Schema:
        kind = field.kind
        if kind == "string":
            return _text(field, request=request)
        if kind == "integer":
            return _integer(field, request=request)
        if kind == "enum":
            return {"type": "string", "enum": _literals(field, request=request)}
        if kind == "timestamp":
            if field.options.format == options_pb2.FORMAT_UNIX_SECONDS:
                return {"type": "integer"}
            return {"type": "string", "format": "date-time"}
        if kind == "native":
            return {}
        if kind == "message":
            message = field.descriptor.message_type
            return self.item(message) if request else self.reference(message)
        return {"type": kind}


def _literals(field: Field, *, request: bool) -> list[str]:
    printed, read = literals_of(field.descriptor.enum_type)
    if not request:
        return [text for text in printed.values() if text]
    if not field.options.one_of:
        return list(read)
    numbers = {read[text] for text in field.options.one_of}
    return [text for text, number in read.items() if number in numbers]


def _text(field: Field, *, request: bool) -> Schema:
    options = field.options
    schema: Schema = {"type": "string"}
    integers = options.format in ALSO_INTEGERS if request else options.format == options_pb2.FORMAT_CURSOR
    if integers:
        schema["type"] = ["string", "integer"]
    if options.format in PATTERNS:
        schema["pattern"] = PATTERNS[options.format]
    if options.one_of:
        schema["enum"] = list(options.one_of)
    elif request and not field.repeated:
        schema["maxLength"] = options.max_length or TEXT_LENGTH
        if options.min_length:
            schema["minLength"] = options.min_length
    return schema


def _integer(field: Field, *, request: bool) -> Schema:
    if not request:
        return {"type": "integer"}
    if field.options.one_of:
        return {"type": "integer", "enum": [int(text) for text in field.options.one_of]}
    low, high = narrowed(field)
    return {"type": "integer", "minimum": low, "maximum": high}


def _nullable(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]} if schema else schema


def _default(field: Field) -> Any:
    text = field.options.default_value
    if field.kind in {"integer", "number", "boolean"} and not field.repeated:
        return json.loads(text)
    return text
