"""The OpenRPC 1.3 document of the operations that this build answers, derived from the descriptors.

Decisions 2.8 and 2.9: neutral names and products' names both appear; multi-item operations are described by `items`.
What the official tools ask of a document beyond its meta-schema stands in docs/decisions/0060.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from waypost.options.v1 import options_pb2
from waypost.v1.common_pb2 import Reason

from runtime.operations import literal
from transcoder.fields import fields_of
from transcoder.grpc_forms import LISTED_ITEMS, call_members
from transcoder.params import CALLED, documented_order, parameter_fields
from transcoder.publications import publication_document
from transcoder.schemas import Schemas, pascal, titled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from waypost_internal.v1.publication_pb2 import Publication

    from runtime.operations import Operation

    Document = dict[str, Any]

OPENRPC = "1.3.2"
VERSION = "1.1.0"

DESCRIPTION = (
    "Read-only data from 24 blockchains. Post JSON-RPC 2.0 requests, single or up to 50 in an array, to "
    "/<API_KEY>/v1. Parameters are given by name, or by position in the order shown where paramStructure is `either`. "
    "Error codes are HTTP-style numbers; error.data.reason says precisely what happened. x-cost is what one call, or "
    "one item of a call with items, takes of the quota; x-grpc the same operation over gRPC."
)
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

SUBSCRIBE, UNSUBSCRIBE, NOTIFICATION = "subscribe", "unsubscribe", "subscription"
"""Methods of sockets alone, the first two by themselves and in no batch, the last one of what they send."""

# The page of this document, and what it takes for that of the published contract methods.
PATH = "/openrpc.json"
APPS = "apps=all"


def openrpc(
    operations: Iterable[Operation],
    base: str,
    published: Sequence[Publication] | None = None,
    *,
    profile: str,
    watches: Sequence[Operation] = (),
) -> Document:
    """Return the document for operations served at a base URL (`http://host:port`, no trailing slash).

    Where an operation stands for many names, the `published` ones are described; None describes the pattern itself.
    The `watches` are described under `subscribe`. Examples are those of the profile, `mainnet` or `devnet`.
    """
    schemas = Schemas(profile)
    methods: list[Document] = []
    tags: dict[str, Document] = {}
    for operation in operations:
        if published is not None and operation.stands_for_many:
            methods += [_published(publication, operation, schemas) for publication in published]
        else:
            methods += [_method(operation, name, schemas) for name in (operation.name, *operation.aliases)]
        tags[service_of(operation)] = {
            "name": service_of(operation),
            "description": schemas.comment(operation.service),
        }
    if watches:
        methods += _socket_methods(watches, schemas)
        service = watches[0].service
        tags[service_of(watches[0])] = {"name": service_of(watches[0]), "description": schemas.comment(service)}
    other, what = (
        (PATH, "The operations") if published is not None else (f"{PATH}?{APPS}", "The published contract methods")
    )
    return {
        "openrpc": OPENRPC,
        "info": {"title": "Waypost", "version": VERSION, "description": DESCRIPTION},
        "externalDocs": {"description": f"{what}, in a document of their own.", "url": base + other},
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
        "components": {"schemas": schemas.components, "errors": _errors(schemas), "tags": tags},
    }


def service_of(operation: Operation) -> str:
    """Return the name of the operation's gRPC service without its package: `AccountService`."""
    return operation.service.rpartition(".")[2]


def summary_of(operation: Operation, schemas: Schemas) -> tuple[str, str]:
    """Return the first sentence of an operation's comment, and what follows it."""
    summary, _, rest = schemas.comment(operation.method.full_name).partition(". ")
    return summary.rstrip(".") + ".", rest


def _method(operation: Operation, name: str, schemas: Schemas) -> Document:
    summary, rest = summary_of(operation, schemas)
    description = [rest] if rest else []
    chainless = operation.families == {"chainless"}
    if name != operation.name:
        description.append(f"Another name of {operation.name}.")
    if not chainless:
        where = ", ".join(operation.chains) or "all of the family"
        description.append(f"Chain families: {', '.join(sorted(operation.available))}; chains: {where}.")
    if operation.takes_items:
        description.append("The items may also be given as params itself, an array of objects.")
    params = _params(operation, schemas)
    document: Document = {
        "name": name,
        **_served(operation),
        "summary": summary,
        "paramStructure": "by-name" if operation.stands_for_many else "either",
        "params": params,
        "result": {
            "name": "result",
            "schema": titled(_result(operation, schemas), f"ResultOf{pascal(operation.name)}"),
        },
        "errors": _references("errors", *ALWAYS, *(() if chainless else WITH_CHAIN)),
        "examples": _pairings(params, operation, schemas),
    }
    if description:
        document["description"] = " ".join(description)
    return document


def _served(operation: Operation) -> Document:
    return {
        "tags": _references("tags", service_of(operation)),
        "x-service": operation.service,
        "x-grpc": operation.path,
        "x-cost": operation.cost,
        **call_members(operation),
    }


def _socket_methods(watches: Sequence[Operation], schemas: Schemas) -> list[Document]:
    """Return what a WebSocket takes besides the operations. OpenRPC has no streams: `x-` members describe them."""
    described: Document = {}
    forms: list[Document] = []
    for watch in watches:
        summary, rest = summary_of(watch, schemas)
        request = watch.request.DESCRIPTOR
        shown = [field for field in fields_of(request) if field.options.example]
        # What is needed, and the first parameter that narrows: one of several may be needed.
        chosen = [field for field in shown if field.options.required] + [f for f in shown if not f.options.required][:1]
        example = {field.json: schemas.example(field) for field in chosen}
        params = titled({"description": f"Of {watch.name}.", **schemas.item(request)}, f"ParamsOf{pascal(watch.name)}")
        forms.append(params)
        described[watch.name] = {
            "summary": summary,
            "description": rest,
            "x-grpc": watch.path,
            "x-families": sorted(watch.available),
            "x-event-stream": f"/${{key}}/v1/stream/{watch.name}",
            **call_members(watch),
            "params": params,
            "example": example,
            # Tools resolve no references in `x-` members.
            "event": schemas.reference(watch.response.DESCRIPTOR)["$ref"],
        }
    by_position = {
        "title": "ParamsByPosition",
        "description": "The same values in their order.",
        "type": "array",
        "items": {},
    }
    name = {
        "name": "watch",
        "description": "What to watch.",
        "required": True,
        "schema": {"title": "WatchName", "type": "string", "enum": list(described)},
    }
    params = {
        "name": "params",
        "description": "Parameters of the watch, as operations take theirs.",
        "required": False,
        "schema": {"title": "ParamsOfWatch", "anyOf": [*forms, by_position]},
    }
    first = next(iter(described))
    text = {"title": "Subscription", "type": "string", "description": "Names the subscription on its socket."}
    subscribe = {
        "name": SUBSCRIBE,
        **_on_socket(watches[0]),
        "summary": "Begins to send the events of a watch as notifications.",
        "description": "Over the WebSocket alone. The answer names the subscription; notifications have the method"
        f" `{NOTIFICATION}` and say which one they are of.",
        "paramStructure": "either",
        "params": [name, params],
        "result": {"name": NOTIFICATION, "schema": text},
        "errors": _references("errors", *ALWAYS, *WITH_CHAIN, "METHOD_UNKNOWN", "CURSOR_TOO_OLD"),
        "examples": [
            {
                "name": first,
                "params": [
                    {"name": "watch", "value": first},
                    {"name": "params", "value": described[first]["example"]},
                ],
            }
        ],
        "x-watches": described,
        "x-notification": {"method": NOTIFICATION, "params": _notification(text)},
    }
    unsubscribe = {
        "name": UNSUBSCRIBE,
        **_on_socket(watches[0]),
        "summary": "Ends a subscription of the same socket.",
        "description": "Over the WebSocket alone; false where there is none of that name, or none any more.",
        "paramStructure": "either",
        "params": [
            {"name": "subscription", "description": "What subscribe answered.", "required": True, "schema": text}
        ],
        "result": {"name": "ended", "schema": {"title": "Ended", "type": "boolean"}},
        "errors": _references("errors", "INVALID_ARGUMENT", "RATE_LIMITED"),
    }
    return [subscribe, unsubscribe]


def _on_socket(watch: Operation) -> Document:
    return {"tags": _references("tags", service_of(watch)), "x-transport": "websocket", "x-path": "/${key}/v1/ws"}


def _notification(subscription: Document) -> Document:
    """Return what `params` of a notification are: an event, or why there are no more."""
    common = {"subscription": subscription}
    cursor = {"title": "Cursor", "type": "string", "description": "Where to go on; none of streams of values."}
    event = {"title": "Event", "type": "object", "description": "As `event` of the watch in `x-watches` refers to."}
    error = {
        "title": "Error",
        "type": "object",
        "description": "As answers have it; `data.cursor` says where to go on.",
    }
    end = {"title": "End", "const": True, "description": "The stream is complete."}
    forms: dict[str, Document] = {
        "EventNotification": {"event": event, "cursor": cursor},
        "ErrorNotification": {"error": error},
        "EndNotification": {"end": end},
    }
    return {
        "title": "Notification",
        "anyOf": [
            {
                "title": title,
                "type": "object",
                "properties": {**common, **members},
                "required": ["subscription", next(iter(members))],
                "additionalProperties": False,
            }
            for title, members in forms.items()
        ],
    }


def _published(publication: Publication, operation: Operation, schemas: Schemas) -> Document:
    document = {
        **publication_document(publication, operation, schemas),
        **_served(operation),
        "x-grpc-with": {CALLED: publication.method},
        "errors": _references("errors", *ALWAYS, *WITH_CHAIN, *WHEN_CALLED),
    }
    # The operation's examples are of the method that its own example names.
    called = next(field for field in fields_of(operation.request.DESCRIPTOR) if field.name == CALLED)
    if schemas.example(called) == publication.method:
        document["examples"] = _pairings(document["params"], operation, schemas)
    return document


def _references(kind: str, *names: str) -> list[dict[str, str]]:
    return [{"$ref": f"#/components/{kind}/{name}"} for name in names]


def _params(operation: Operation, schemas: Schemas) -> list[Document]:
    documents = []
    # OpenRPC wants the required ones first.
    for field in documented_order(operation):
        schema = schemas.parameter(field)
        if operation.takes_items:
            parts = [part.json for part in fields_of(field.descriptor.message_type)]
            form = ":".join(f"<{part}>" for part in parts)
            about = f"The same as text: {form}, separated by commas."
            text = {"type": "string", "description": about, **LISTED_ITEMS}
            schema = {"anyOf": [{key: value for key, value in schema.items() if key != "description"}, text]}
        documents.append(
            {
                "name": field.json,
                "description": schemas.comment(field.descriptor.full_name),
                "required": field.options.required,
                "schema": titled(schema, f"{pascal(field.json)}Of{operation.request.DESCRIPTOR.name}"),
            }
        )
    return documents


def _pairings(params: Sequence[Document], operation: Operation, schemas: Schemas) -> list[Document]:
    """Return pairings of the parameters' own examples: of the required ones, and of all where there are others."""
    values = {field.json: schemas.example(field) for field in parameter_fields(operation)}
    every = [param for param in params if values[param["name"]] is not None]
    required = [param for param in every if param["required"]]
    wanted = {"required parameters": required} | ({"all parameters": every} if every != required else {})
    return [
        {"name": name, "params": [{"name": param["name"], "value": values[param["name"]]} for param in chosen]}
        for name, chosen in wanted.items()
    ]


def _result(operation: Operation, schemas: Schemas) -> Document:
    message = operation.response.DESCRIPTOR
    if operation.options.result == options_pb2.RESULT_SHAPE_DATA_FIELD:
        (only,) = fields_of(message)
        data = schemas.result(only)
    else:
        data = schemas.reference(message)
    return {"type": "object", "properties": {"data": data}, "required": ["data"]}


def _errors(schemas: Schemas) -> Document:
    """Return every reason as an error object; the comments of the enum `Reason` begin with the code."""
    errors = {}
    for value in Reason.DESCRIPTOR.values:
        coded = _CODED.fullmatch(schemas.comment(f"{Reason.DESCRIPTOR.full_name}.{value.name}"))
        if coded is not None:
            reason = literal(value).wire
            errors[reason] = {"code": int(coded[1]), "message": coded[2], "data": {"reason": reason}}
    return errors
