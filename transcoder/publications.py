"""Published contract methods as OpenRPC describes them: one method each, with the arguments of its ABI item.

ABI parameters become JSON Schema (draft 7), as arguments are read and as outputs are printed (contract section 4.16).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson

from transcoder.grpc_forms import value_members
from transcoder.params import parameter_fields
from transcoder.schemas import NULL, pascal, titled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from waypost_internal.v1.publication_pb2 import Publication

    from runtime.operations import Operation
    from transcoder.schemas import Schemas

    Schema = dict[str, Any]
    Parameter = Mapping[str, Any]
    Describe = Callable[[Sequence[Any]], dict[str, Any]]

ADDRESS = "^0x[0-9a-fA-F]{40}$"
HASH = "^0x[0-9a-f]{64}$"
_DIGITS = "[0-9]{1,78}"
_HEX = "0x[0-9a-fA-F]{1,64}"
_FUNCTION_BYTES = 24

_LIST = re.compile(r"(.*)\[([0-9]*)\]")
_SIZED = re.compile(r"([a-z]+)([0-9]*)")


def arguments(parameters: Sequence[Parameter]) -> Schema:
    """Return what the array of a function's arguments accepts."""
    return row([_read(parameter) for parameter in parameters])


def filters(parameters: Sequence[Parameter]) -> Schema:
    """Return what the array of an event's filters accepts: null for any value, and where an input is not indexed."""
    items = [{"anyOf": [_read(parameter), NULL]} if parameter.get("indexed") else NULL for parameter in parameters]
    return {**row(items), "minItems": 0}


def outputs(parameters: Sequence[Parameter]) -> Schema:
    """Return how the array of a function's outputs is printed."""
    return row([_printed(parameter) for parameter in parameters])


def event_arguments(parameters: Sequence[Parameter]) -> Schema:
    """Return how the array of an event's arguments is printed; of long indexed ones logs hold a hash only.

    Versions of a contract differ in what is indexed, so that either form may come.
    """
    return row(
        [
            {"anyOf": [_printed(parameter), {"type": "string", "pattern": HASH}]}
            if _is_long(str(parameter["type"]))
            else _printed(parameter)
            for parameter in parameters
        ]
    )


def row(items: list[Schema]) -> Schema:
    """Return the schema of an array with one schema for each place."""
    if not items:
        return {"type": "array", "items": {}, "maxItems": 0}
    return {"type": "array", "items": items, "minItems": len(items), "maxItems": len(items)}


def _read(parameter: Parameter) -> Schema:
    return _described(parameter, _schema(parameter, _argument_text, _tuple_argument))


def _printed(parameter: Parameter) -> Schema:
    return _described(parameter, _schema(parameter, _output_text, _tuple_output))


def _described(parameter: Parameter, schema: Schema) -> Schema:
    words = (str(parameter["type"]), str(parameter.get("name", "")))
    return {"description": " ".join(word for word in words if word), **schema}


def _schema(
    parameter: Parameter, text: Callable[[str], Schema], members: Callable[[Sequence[Parameter]], Schema]
) -> Schema:
    written = str(parameter["type"])
    nested = _LIST.fullmatch(written)
    if nested is not None:
        inner = _schema({**parameter, "type": nested[1]}, text, members)
        length = {"minItems": int(nested[2]), "maxItems": int(nested[2])} if nested[2] else {}
        return {"type": "array", "items": inner, **length}
    if written == "tuple":
        return members(parameter["components"])
    return text(written)


def _tuple_argument(components: Sequence[Parameter]) -> Schema:
    by_place = row([_read(component) for component in components])
    names = [str(component.get("name", "")) for component in components]
    if not all(names) or len(set(names)) < len(names):
        return by_place
    members = {name: _read(component) for name, component in zip(names, components, strict=True)}
    by_name = {"type": "object", "properties": members, "required": names, "additionalProperties": False}
    return {"anyOf": [by_place, by_name]}


def _tuple_output(components: Sequence[Parameter]) -> Schema:
    return row([_printed(component) for component in components])


def _argument_text(written: str) -> Schema:
    if written.startswith("uint"):
        return {"type": ["string", "integer"], "pattern": f"^({_DIGITS}|{_HEX})$", "minimum": 0}
    if written.startswith("int"):
        return {"type": ["string", "integer"], "pattern": f"^(-?{_DIGITS}|{_HEX})$"}
    return _output_text(written)


def _output_text(written: str) -> Schema:
    if written == "bool":
        return {"type": "boolean"}
    return {"type": "string", **({"pattern": pattern} if (pattern := _pattern(written)) else {})}


def _pattern(written: str) -> str | None:
    if written == "address":
        return ADDRESS
    if written.startswith(("uint", "int")):
        return f"^{'' if written.startswith('uint') else '-?'}{_DIGITS}$"
    sized = _SIZED.fullmatch(written)
    if sized is None or sized[1] not in ("bytes", "function"):
        return None
    size = sized[2] or (_FUNCTION_BYTES if sized[1] == "function" else "")
    return f"^0x[0-9a-fA-F]{{{2 * int(size)}}}$" if size else "^0x([0-9a-fA-F]{2})*$"


def _is_long(written: str) -> bool:
    return written.endswith("]") or written in ("tuple", "bytes", "string")


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
    "call": arguments,
    "simulateCall": arguments,
    "getLogs": filters,
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
        "result": {
            "name": "result",
            "schema": titled(
                _result(publication.operation, item, operation, schemas), f"ResultOf{pascal(publication.method)}"
            ),
        },
    }


def _params(
    publication: Publication, item: dict[str, Any], operation: Operation, schemas: Schemas
) -> list[dict[str, Any]]:
    place = _PLACE if publication.is_template else ()
    needed = {*place, "args"} if item["type"] == "function" and item["inputs"] else set(place)
    fields = {field.json: field for field in parameter_fields(operation)}
    params = []
    for name in (*place, *_TAKES[publication.operation]):
        if name == "args":
            written = {**_READS[publication.operation](item["inputs"]), **value_members(fields[name])}
            schema = titled(written, f"ArgsOf{pascal(publication.method)}")
        else:
            schema = titled(schemas.parameter(fields[name]), f"{pascal(name)}Of{operation.request.DESCRIPTOR.name}")
            # What answers for one method need not for another.
            schema.pop("examples", None)
        comment = schemas.comment(fields[name].descriptor.full_name)
        params.append({"name": name, "description": comment, "required": name in needed, "schema": schema})
    return sorted(params, key=lambda param: not param["required"])


def _result(kind: str, item: dict[str, Any], operation: Operation, schemas: Schemas) -> dict[str, Any]:
    common = schemas.reference(operation.response.DESCRIPTOR)
    data = {"allOf": [common, {"type": "object", "properties": _RESULTS[kind](item)}]}
    return {"type": "object", "properties": {"data": data}, "required": ["data"]}


def _call_result(item: dict[str, Any]) -> dict[str, Any]:
    return {"outputs": outputs(item["outputs"])}


def _simulation_result(item: dict[str, Any]) -> dict[str, Any]:
    # Empty after a failure.
    return {"outputs": {"anyOf": [outputs(item["outputs"]), row([])]}}


def _events_result(item: dict[str, Any]) -> dict[str, Any]:
    log = {"type": "object", "properties": {"args": event_arguments(item["inputs"])}}
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
