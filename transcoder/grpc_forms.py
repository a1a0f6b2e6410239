"""How the same call is written over gRPC and in the published clients: `x-` members beside what JSON-RPC takes.

A document names no language's types: these members map params to the JSON form of the request message (protobuf's own,
which grpcurl and `fromJson` of TypeScript read) and to the arguments of the Python client. docs/openrpc.md states them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from runtime.operations import LATEST_BLOCK, lower_camel
from transcoder.fields import literals_of
from transcoder.scalars import ALSO_INTEGERS

if TYPE_CHECKING:
    from runtime.operations import Operation
    from transcoder.fields import Field

    Members = dict[str, Any]

UNCOUNTABLE = {"cosmos", "funding", "gas", "marketplace", "raw", "registry", "system", "usage"}

# What text is split at where a list may be written as one, and where each element is a message.
LISTED = {"x-grpc-split": [","]}
LISTED_ITEMS = {"x-grpc-split": [",", ":"]}


def snake(name: str) -> str:
    """Return a name of words in capitals as Python writes it: `GetDexAV2Quote` becomes `get_dex_a_v2_quote`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Z])(?=V[0-9])", "_", name).lower()


def attribute(service: str) -> str:
    """Return the Python client's attribute for a service: its noun, in the plural where it can be counted."""
    noun = snake(service.rpartition(".")[2].removesuffix("Service"))
    return noun if noun in UNCOUNTABLE else f"{noun}s"


def call_members(operation: Operation) -> Members:
    """Return what the clients call an operation, and whether its items may be params itself."""
    method = operation.method.name
    called: Members = {
        "x-python": f"{attribute(operation.service)}.{snake(method)}",
        "x-typescript": {"service": operation.service.rpartition(".")[2], "method": lower_camel(method)},
    }
    return {**called, "x-items": True} if operation.takes_items else called


def field_members(field: Field) -> Members:
    """Return the name that a parameter has in the message, where it is another one."""
    return {} if field.name == snake(field.json) else {"x-grpc-name": field.name}


def value_members(field: Field) -> Members:
    """Return how one value of a parameter is written in the message, where that is written otherwise."""
    if field.is_block:
        return {"x-grpc-type": "integer", "x-grpc-values": {"latest": LATEST_BLOCK}}
    if field.kind == "string" and field.options.format in ALSO_INTEGERS:
        return {"x-grpc-type": "string"}
    if field.kind == "native":
        return {"x-grpc-type": "json"}
    if field.kind != "enum":
        return {}
    enum, read = field.descriptor.enum_type, literals_of(field.descriptor.enum_type)[1]
    known = {read[text] for text in field.options.one_of or read}
    return {
        "x-grpc-values": {text: enum.values_by_number[number].name for text, number in read.items() if number in known}
    }
