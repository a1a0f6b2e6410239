"""Published contract methods as OpenRPC describes them: one method each, with the arguments of its ABI item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from transcoder import abi_schemas
from transcoder.requests import parameter_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from waypost.internal.v1.publication_pb2 import Publication

    from runtime.operations import Operation
    from transcoder.schemas import Schemas

    Describe = Callable[[Sequence[Any]], dict[str, Any]]

_PLACE = ("chain", "address")

# What each kind of method takes besides its place, does, and answers.
_TAKES: dict[str, tuple[str, ...]] = {
    "call": ("args", "from", "value", "height"),
    "simulateCall": ("args", "from", "value", "height"),
    "getLogs": ("args", "fromBlock", "toBlock", "cursor"),
}
_DOES = {
    "call": "Calls {name} of {app}.",
    "simulateCall": "Simulates {name} of {app}; nothing is sent.",
    "getLogs": "Finds the events {name} of {app}, newest first.",
}
_READS: dict[str, Describe] = {
    "call": abi_schemas.arguments,
    "simulateCall": abi_schemas.arguments,
    "getLogs": abi_schemas.filters,
}


def publication_document(publication: Publication, operation: Operation, schemas: Schemas) -> dict[str, Any]:
    """Return summary, description, params and result of a published method; `operation` is the one that calls it."""
    item = orjson.loads(publication.abi_item)
    where = (
        "Give the chain and the address of the contract."
        if publication.is_template
        else f"The contract is {publication.address} on {publication.chain}."
    )
    description = [f"{_declared(item)}.", where]
    if publication.is_overloaded:
        description.append("The ABI has several of this name: calls are refused as OVERLOADED.")
    return {
        "name": publication.method,
        "summary": _DOES[publication.operation].format(name=item["name"], app=publication.app_name),
        "description": " ".join(description),
        "paramStructure": "by-name",
        "params": _params(publication, item, operation, schemas),
        "result": {"name": "result", "schema": _result(publication.operation, item, operation, schemas)},
    }


def _params(
    publication: Publication, item: dict[str, Any], operation: Operation, schemas: Schemas
) -> list[dict[str, Any]]:
    place = _PLACE if publication.is_template else ()
    needed = {*place, "args"} if item["type"] == "function" and item["inputs"] else set(place)
    fields = {field.json: field for field in parameter_fields(operation)}
    params = [
        {
            "name": name,
            "description": schemas.comment(fields[name].descriptor.full_name),
            "required": name in needed,
            "schema": _READS[publication.operation](item["inputs"])
            if name == "args"
            else schemas.parameter(fields[name]),
        }
        for name in (*place, *_TAKES[publication.operation])
    ]
    return sorted(params, key=lambda param: not param["required"])


def _result(kind: str, item: dict[str, Any], operation: Operation, schemas: Schemas) -> dict[str, Any]:
    common = schemas.reference(operation.response.DESCRIPTOR)
    data = {"allOf": [common, {"type": "object", "properties": _RESULTS[kind](item)}]}
    return {"type": "object", "properties": {"data": data}, "required": ["data"]}


def _call_result(item: dict[str, Any]) -> dict[str, Any]:
    return {"outputs": abi_schemas.outputs(item["outputs"])}


def _simulation_result(item: dict[str, Any]) -> dict[str, Any]:
    # Empty after a failure.
    return {"outputs": {"anyOf": [abi_schemas.outputs(item["outputs"]), abi_schemas.row([])]}}


def _events_result(item: dict[str, Any]) -> dict[str, Any]:
    log = {"type": "object", "properties": {"args": abi_schemas.event_arguments(item["inputs"])}}
    return {"logs": {"type": "array", "items": log}}


_RESULTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "call": _call_result,
    "simulateCall": _simulation_result,
    "getLogs": _events_result,
}


def _declared(item: dict[str, Any]) -> str:
    inputs = ", ".join(map(_parameter, item["inputs"]))
    printed = ", ".join(map(_parameter, item.get("outputs", ())))
    return f"{item['name']}({inputs})" + (f" returns ({printed})" if printed else "")


def _parameter(parameter: dict[str, Any]) -> str:
    words = (parameter["type"], "indexed" if parameter.get("indexed") else "", parameter.get("name", ""))
    return " ".join(word for word in words if word)
