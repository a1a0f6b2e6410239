"""The OpenRPC 1.3 document of the operations that this build answers, derived from the descriptors.

Decisions 2.8 and 2.9: neutral names and products' names both appear; multi-item operations are described by `items`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson
from waypost.v1 import options_pb2
from waypost.v1.common_pb2 import Reason

from runtime.operations import literal
from transcoder.fields import fields_of
from transcoder.requests import parameter_fields
from transcoder.schemas import Schemas

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runtime.operations import Operation

OPENRPC = "1.3.2"
VERSION = "1.1.0"

DESCRIPTION = (
    "Read-only data from 24 blockchains. Post JSON-RPC 2.0 requests, single or up to 50 in an array, to "
    "/<API_KEY>/v1. Error codes are HTTP-style numbers; error.data.reason says precisely what happened."
)
_BASES_KEPT = 8  # the base comes out of the Host header, which anybody can write
_CODED = re.compile(r"([0-9]{3}): (.*)")

ALWAYS = (
    "INVALID_ARGUMENT",
    "UNKNOWN_PARAMETER",
    "KEY_MISSING",
    "KEY_INVALID",
    "RATE_LIMITED",
    "UPSTREAM_UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    "INTERNAL",
)
WITH_CHAIN = ("CHAIN_UNKNOWN", "CHAIN_UNSUPPORTED", "NOT_AVAILABLE", "NOT_FOUND")


class Discovery:
    """Prints the OpenRPC document."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._operations = tuple(operation for operation in operations if operation.available)
        self.document = lru_cache(maxsize=_BASES_KEPT)(self._document)

    def _document(self, base: str) -> bytes:
        return orjson.dumps(openrpc(self._operations, base))


def openrpc(operations: Iterable[Operation], base: str) -> dict[str, Any]:
    """Return the document for operations served at a base URL (`http://host:port`, no trailing slash)."""
    schemas = Schemas()
    methods = [
        _method(operation, name, schemas) for operation in operations for name in (operation.name, *operation.aliases)
    ]
    return {
        "openrpc": OPENRPC,
        "info": {"title": "Waypost", "version": VERSION, "description": DESCRIPTION},
        "servers": [
            {
                "name": "This gateway",
                "url": base + "/${key}/v1",
                "variables": {
                    "key": {"default": "demo", "description": "API key; demo takes one request per second without one."}
                },
            }
        ],
        "methods": methods,
        "components": {"schemas": schemas.components, "errors": _errors(schemas)},
    }


def _method(operation: Operation, name: str, schemas: Schemas) -> dict[str, Any]:
    comment = schemas.comment(operation.method.full_name)
    summary, _, rest = comment.partition(". ")
    description = [rest] if rest else []
    chainless = operation.families == {"chainless"}
    if name != operation.name:
        description.append(f"Another name of {operation.name}.")
    if not chainless:
        where = ", ".join(operation.chains) or "all of the family"
        description.append(f"Chain families: {', '.join(sorted(operation.available))}; chains: {where}.")
    if operation.takes_items:
        description.append("The items may also be given as params itself, an array of objects.")
    document: dict[str, Any] = {
        "name": name,
        "summary": summary.rstrip(".") + ".",
        "paramStructure": "by-name",
        "params": _params(operation, schemas),
        "result": {"name": "result", "schema": _result(operation, schemas)},
        "errors": [
            {"$ref": f"#/components/errors/{reason}"} for reason in (*ALWAYS, *(() if chainless else WITH_CHAIN))
        ],
    }
    if description:
        document["description"] = " ".join(description)
    if operation.options.group:
        document["tags"] = [{"name": operation.options.group}]
    return document


def _params(operation: Operation, schemas: Schemas) -> list[dict[str, Any]]:
    documents = []
    for field in parameter_fields(operation):
        schema = schemas.parameter(field)
        if operation.takes_items:
            parts = [part.json for part in fields_of(field.descriptor.message_type)]
            form = ":".join(f"<{part}>" for part in parts)
            text = {"type": "string", "description": f"The same as text: {form}, separated by commas."}
            schema = {"anyOf": [{key: value for key, value in schema.items() if key != "description"}, text]}
        documents.append(
            {
                "name": field.json,
                "description": schemas.comment(field.descriptor.full_name),
                "required": field.options.required,
                "schema": schema,
            }
        )
    # OpenRPC wants the required ones first.
    return sorted(documents, key=lambda document: not document["required"])


def _result(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    message = operation.response.DESCRIPTOR
    if operation.options.result == options_pb2.RESULT_SHAPE_DATA_FIELD:
        (only,) = fields_of(message)
        data = schemas.result(only)
    else:
        data = schemas.reference(message)
    return {"type": "object", "properties": {"data": data}, "required": ["data"]}


def _errors(schemas: Schemas) -> dict[str, Any]:
    """Return every reason as an error object; the comments of the enum `Reason` begin with the code."""
    errors = {}
    for value in Reason.DESCRIPTOR.values:
        coded = _CODED.fullmatch(schemas.comment(f"{Reason.DESCRIPTOR.full_name}.{value.name}"))
        if coded is not None:
            reason = literal(value).wire
            errors[reason] = {"code": int(coded[1]), "message": coded[2], "data": {"reason": reason}}
    return errors
