"""The OpenRPC 1.3 document of the operations that this build answers, derived from the descriptors.

Decisions 2.8 and 2.9: neutral names and products' names both appear; multi-item operations are described by `items`.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import orjson
from waypost.options.v1 import options_pb2
from waypost.v1.common_pb2 import Reason
from waypost_internal.v1 import publication_pb2

from runtime.operations import literal
from transcoder.calls import begin
from transcoder.fields import fields_of
from transcoder.pages import Shared
from transcoder.params import parameter_fields
from transcoder.publications import publication_document
from transcoder.schemas import Schemas

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runtime.operations import Operation
    from transcoder.exchange import Exchange
    from transcoder.pages import Parts

OPENRPC = "1.3.2"
VERSION = "1.1.0"

DESCRIPTION = (
    "Read-only data from 24 blockchains. Post JSON-RPC 2.0 requests, single or up to 50 in an array, to "
    "/<API_KEY>/v1. Error codes are HTTP-style numbers; error.data.reason says precisely what happened."
)
_KEPT = 4  # versions: servers of several releases may stand behind one transcoder for a while
# Stands for the base URL, which comes out of the Host header: any client can write that, and nothing is built for it.
_BASE = "http://base.invalid"
_CODED = re.compile(r"([0-9]{3}): (.*)")

ALWAYS = (
    "INVALID_ARGUMENT",
    "UNKNOWN_PARAMETER",
    "KEY_MISSING",
    "KEY_INVALID",
    "KEY_NOT_ALLOWED",
    "RATE_LIMITED",
    "UPSTREAM_UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    "INTERNAL",
)
WITH_CHAIN = ("CHAIN_UNKNOWN", "CHAIN_UNSUPPORTED", "NOT_AVAILABLE", "NOT_FOUND")
WHEN_CALLED = ("REVERTED", "OVERLOADED", "RANGE_TOO_LARGE", "ARCHIVE_REQUIRED")

DISCOVER = "rpc.discover"
PUBLICATIONS = "/waypost_internal.v1.PublicationService/ListPublications"
TIMEOUT = 5.0


class Document:
    """The document of one version: what stands before the base URL, and the rest."""

    def __init__(self, text: bytes) -> None:
        self._head, _, rest = text.partition(_BASE.encode())
        self._rest = Shared(rest)
        self._digest = sha256(text).hexdigest()[:32]

    def parts(self, base: str) -> tuple[bytes, Shared]:
        """Return its text for a base URL."""
        return self._head + base.encode(), self._rest

    def tag(self, base: str, *, compressed: bool) -> str:
        """Return the entity tag of its text for a base URL."""
        own = sha256(base.encode()).hexdigest()[:8]
        return f'"{self._digest}-{own}{"-gzip" if compressed else ""}"'


class Discovery:
    """Prints the OpenRPC document, once for each content; the server lists the published contract methods."""

    def __init__(self, operations: Iterable[Operation], channel: Any) -> None:
        self._operations = tuple(operation for operation in operations if operation.available)
        self._ask = channel.unary_unary(
            PUBLICATIONS,
            request_serializer=publication_pb2.ListPublicationsRequest.SerializeToString,
            response_deserializer=publication_pb2.ListPublicationsResponse.FromString,
        )
        self._documents: OrderedDict[str, Document] = OrderedDict()
        self._latest = ""

    def begin(self, exchange: Exchange) -> Any:
        """Request what the document needs and return the call in progress. Raises Failure (503)."""
        request = publication_pb2.ListPublicationsRequest(known_version=self._latest)
        return begin(self._ask, request, TIMEOUT, exchange)

    def document(self, published: publication_pb2.ListPublicationsResponse) -> Document:
        """Return the document of what the server has answered."""
        self._latest = published.version
        document = self._documents.get(published.version)
        if document is None:
            text = orjson.dumps(openrpc(self._operations, _BASE, published.publications))
            document = self._documents[published.version] = Document(text)
            if len(self._documents) > _KEPT:
                self._documents.popitem(last=False)
        return document


class Discovered:
    """Stands where a called operation stands: renders what was asked for as the document itself."""

    name = DISCOVER
    status_of = None

    def __init__(self, discovery: Discovery, base: str) -> None:
        self._discovery = discovery
        self._base = base

    def render(self, response: Any) -> Parts:
        """Return the parts of `result`."""
        return self._discovery.document(response).parts(self._base)


def openrpc(
    operations: Iterable[Operation], base: str, published: Sequence[publication_pb2.Publication] | None = None
) -> dict[str, Any]:
    """Return the document for operations served at a base URL (`http://host:port`, no trailing slash).

    Where an operation stands for many names, the `published` ones are described; None describes the pattern itself.
    """
    schemas = Schemas()
    methods = []
    for operation in operations:
        if published is not None and operation.stands_for_many:
            methods += [_published(publication, operation, schemas) for publication in published]
        else:
            methods += [_method(operation, name, schemas) for name in (operation.name, *operation.aliases)]
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
        "errors": _references(*ALWAYS, *(() if chainless else WITH_CHAIN)),
    }
    if description:
        document["description"] = " ".join(description)
    if operation.options.group:
        document["tags"] = [{"name": operation.options.group}]
    return document


def _published(publication: publication_pb2.Publication, operation: Operation, schemas: Schemas) -> dict[str, Any]:
    return {
        **publication_document(publication, operation, schemas),
        "errors": _references(*ALWAYS, *WITH_CHAIN, *WHEN_CALLED),
        "tags": [{"name": operation.options.group}],
    }


def _references(*reasons: str) -> list[dict[str, str]]:
    return [{"$ref": f"#/components/errors/{reason}"} for reason in reasons]


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
