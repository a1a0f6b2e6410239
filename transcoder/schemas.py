"""Descriptors -> JSON Schema (draft 7), for parameters and for results, with the comments of the proto files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from waypost.options.v1 import options_pb2

from transcoder.comments import load_comments
from transcoder.fields import TEXT_LENGTH, Field, fields_of, literals_of
from transcoder.grpc_forms import LISTED, field_members, value_members
from transcoder.render import PARENT
from transcoder.scalars import ALSO_INTEGERS, narrowed

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

    Schema = dict[str, Any]

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

# Other names (`@type`) are described as patterns: generators write names of properties as they are.
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
NULL = {"title": "Null", "type": "null"}
_INNER = {"items": "Item", "additionalProperties": "Value", "anyOf": "Form", "allOf": "Part"}


class Schemas:
    """Builds schemas and collects, under `components`, those of the messages that results refer to.

    `profile` is whose examples parameters have: those of the real chains (`mainnet`) or of the local ones (`devnet`).
    Every schema has a title that no other one has, or none but its equals: tools name types by it. Nothing refers to
    itself, which tools that resolve references do not survive.
    """

    def __init__(self, profile: str) -> None:
        self.components: dict[str, Schema] = {}
        self._profile = profile
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
            self.components[name] = titled(self._message(message), name)
        return {"$ref": f"#/components/schemas/{name}"}

    def _message(self, message: Descriptor) -> Schema:
        properties: dict[str, Schema] = {}
        patterns: dict[str, Schema] = {}
        required: list[str] = []
        always: list[Schema] = []
        choices: dict[str, list[Schema]] = {}
        named: dict[str, list[Schema]] = {}
        entries: Schema | None = None
        for field in fields_of(message):
            if not field.options.inline:
                if _NAME.fullmatch(field.json):
                    properties[field.json] = self.result(field)
                else:
                    patterns[f"^{field.json}$"] = self.result(field)
                if field.choice is not None:
                    named.setdefault(field.choice, []).append({"type": "object", "required": [field.json]})
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
        schema: Schema = {"type": "object", "properties": properties}
        if comment := self.comment(message.full_name):
            schema["description"] = comment
        if required:
            schema["required"] = required
        if patterns:
            schema["patternProperties"] = patterns
        if entries is not None:
            schema["additionalProperties"] = entries
        # An inline member's own members stand in this object; which ones depends on the chain family.
        always += [{"anyOf": parts + named.get(choice, [])} for choice, parts in choices.items()]
        if always:
            schema["allOf"] = always
        return schema

    def example(self, field: Field) -> Any:
        """Return the profile's example of a parameter, None where there is none."""
        options = field.options
        written = (options.mainnet_example if self._profile == "mainnet" else "") or options.example
        return json.loads(written) if written else None

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
            if (example := self.example(field)) is not None:
                schema["examples"] = [example]
            schema |= field_members(field)
        return schema

    def _list(self, field: Field, *, request: bool) -> Schema:
        schema: Schema = {"type": "array", "items": self._one(field, request=request)}
        if request:
            schema["maxItems"] = field.most
            if field.options.min_length:
                schema["minItems"] = field.options.min_length
            if field.options.csv:
                text = {"type": "string", "description": "The same, separated by commas.", **LISTED}
                return {"anyOf": [schema, text]}
        return schema

    def _tree(self, field: Field) -> Schema:
        """Return the schema of rows that are printed nested: a row, rows below it, and what stands below those."""
        row = field.descriptor.message_type
        tree, branch = f"{row.name}Tree", f"{row.name}Branch"
        if tree not in self.components:
            flat = self._message(row)
            properties = {key: value for key, value in flat["properties"].items() if key != PARENT}
            twig = {"type": "object", "description": f"A {branch} again, as deep as rows are nested."}
            for name, below in ((branch, twig), (tree, {"$ref": f"#/components/schemas/{branch}"})):
                nested = {field.options.children: {"type": "array", "items": below}}
                self.components[name] = titled({**flat, "properties": {**properties, **nested}}, name)
        return {"anyOf": [{"$ref": f"#/components/schemas/{tree}"}, NULL]}

    def _one(self, field: Field, *, request: bool) -> Schema:
        schema = self._value(field, request=request)
        return {**schema, **value_members(field)} if request else schema

    def _value(self, field: Field, *, request: bool) -> Schema:
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
        is_text = field.options.format == options_pb2.FORMAT_INTEGER_TEXT
        return {"type": "string", "pattern": PATTERNS[options_pb2.FORMAT_UINT]} if is_text else {"type": "integer"}
    if field.is_block:
        return _text(field, request=True)
    if field.options.one_of:
        return {"type": "integer", "enum": [int(text) for text in field.options.one_of]}
    low, high = narrowed(field)
    return {"type": "integer", "minimum": low, "maximum": high}


def titled(schema: Schema, title: str) -> Schema:
    """Return the schema with a title, and every schema within it with one that says where it stands."""
    if "$ref" in schema or schema is NULL:
        return schema
    named: Schema = {"title": title, **schema}
    for word in ("properties", "patternProperties"):
        if word in schema:
            named[word] = {name: titled(one, f"{pascal(name)}Of{title}") for name, one in schema[word].items()}
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            named[word] = titled(schema[word], f"{title}{_INNER[word]}")
    for word in ("items", "anyOf", "allOf"):
        if isinstance(schema.get(word), list):
            named[word] = [titled(one, f"{title}{_INNER[word]}{place}") for place, one in enumerate(schema[word])]
    return named


def pascal(name: str) -> str:
    """Return a name as types are written: `blockHeight` and `block_height` become `BlockHeight`."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name))


def _nullable(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, NULL]} if schema else schema


def _default(field: Field) -> Any:
    text = field.options.default_value
    if field.kind in {"integer", "number", "boolean"} and not field.repeated and not field.is_block:
        return json.loads(text)
    return text
