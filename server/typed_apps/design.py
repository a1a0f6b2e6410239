"""App -> the layout of its .proto file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.abi.events import Event
from server.abi.functions import Function
from server.typed_apps.layout import AppFile, Field, Message, Rpc
from server.typed_apps.names import Scope, pascal, started
from server.typed_apps.values import event_fields, filter_fields, scalar_of, value_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.abi.parameters import Parameter
    from server.catalog.apps import App, Catalogue, PublishedMethod

ROOT = "waypost_apps"
"""First part of the packages: apart from `waypost`, so that stubs of both can lie beside each other."""

_DOES = {
    "call": "Calls {signature}.",
    "simulateCall": "Simulates {signature}; nothing is sent.",
    "getLogs": "Finds logs of the event {signature}, newest first, at most 10,000 blocks at once.",
}
_CHAIN = Field("chain", 2, "string", "Chain slug, for example ethereum.")
_ADDRESS = Field("address", 3, "string", "Address of the contract.")
_SENDER = {
    operation: Field("from_address", 4, "string", f"Account to call from. Unset means {nobody}.", "optional", "from")
    for operation, nobody in (("call", "nobody in particular"), ("simulateCall", "the zero address"))
}
_VALUE = Field("value", 5, "string", "Native coin to send with the call, in wei. Unset means none.", "optional")
_HEIGHT = Field("height", 6, "string", "Block to call at, a number or latest, as which unset counts.", "optional")
_FROM_BLOCK = Field("from_block", 7, "string", "Oldest block. Unset means 9,999 below to_block.", "optional")
_TO_BLOCK = Field("to_block", 8, "string", "Newest block, a number or latest, as which unset counts.", "optional")
_CURSOR = Field("cursor", 9, "string", "Cursor of the previous answer, which holds its window.", "optional")


def design_app(app: App, catalogue: Catalogue) -> AppFile:
    """Return the file of an app: an rpc for each method, but overloaded ones, which cannot be called."""
    word = started(app.app_id)
    scope = Scope()
    rpcs = []
    for deployment in app.deployments:
        for name in deployment.methods:
            method = catalogue.methods[name]
            if not method.is_overloaded:
                parts = (deployment.chain or "", deployment.name, method.operation, method.abi_name)
                rpcs.append(_rpc(scope.claim("".join(map(pascal, parts))), method))
    return AppFile(
        app=app,
        path=f"{ROOT}/{word}/v1/{word}.proto",
        package=f"{ROOT}.{word}.v1",
        service=f"{pascal(app.app_id)}Service",
        comment=f"Published methods of {' '.join(app.name.split())}.",
        rpcs=tuple(rpcs),
    )


def hashed_inputs(method: PublishedMethod) -> list[bool]:
    """Return for each input of an event whether logs hold its hash only, in any version of the event."""
    versions = [Event.parse(item) for item in (method.abi_item, *method.variants)]
    return [
        any(one.is_indexed and _is_long(one) for one in inputs)
        for inputs in zip(*(v.inputs for v in versions), strict=True)
    ]


def _rpc(name: str, method: PublishedMethod) -> Rpc:
    request = Message(f"{name}Request", f"Asks for {name}.")
    response = Message(f"{name}Response", f"Answers {name}.")
    does = _DOES[method.operation].format(signature=_signature(method))
    if method.operation == "getLogs":
        _design_event(method, request, response)
    else:
        _design_function(method, request, response)
    return Rpc(name, f"{does} Published as {method.name}.", method, request, response)


def _design_function(method: PublishedMethod, request: Message, response: Message) -> None:
    function = Function.parse(method.abi_item)
    if function.inputs:
        request.add(Field("args", 1, _group("Args", "The arguments.", value_fields(function.inputs)), "The arguments."))
    _add_place(method, request)
    request.add(_SENDER[method.operation], _VALUE, _HEIGHT)
    outputs = _group("Outputs", "The outputs.", value_fields(function.outputs))
    _add_answered_place(response)
    response.add(Field("block_height", 3, "int64", "Block that it was called at."))
    if method.operation == "call":
        response.add(Field("outputs", 4, outputs, "The outputs."))
        return
    log = _group(
        "Log",
        "A log that the call would write.",
        [
            Field("address", 1, "string", "Contract that would write it."),
            Field("topics", 2, "string", "Topics of 32 bytes, hex.", "repeated"),
            Field("data", 3, "string", "Data, hex."),
        ],
    )
    response.add(
        Field("outputs", 4, outputs, "The outputs; unset after a failure."),
        Field("status", 5, "string", "0x1 after success, 0x0 after a failure."),
        Field("gas_used", 6, "string", "Gas that the call would use, in decimal."),
        Field("logs", 7, log, "Logs that the call would write.", "repeated"),
        Field("logs_available", 8, "bool", "False when the node cannot tell the logs; unset when it can.", "optional"),
        Field("reason", 9, "string", "Decoded reason of a failure; unset after success.", "optional"),
        Field(
            "gas_used_available", 10, "bool", "False when the node cannot tell the gas; unset when it can.", "optional"
        ),
    )


def _design_event(method: PublishedMethod, request: Message, response: Message) -> None:
    event = Event.parse(method.abi_item)
    filters = filter_fields(event.inputs)
    if filters:
        request.add(Field("args", 1, _group("Args", "Arguments to look for.", filters), "Arguments to look for."))
    _add_place(method, request)
    request.add(_FROM_BLOCK, _TO_BLOCK, _CURSOR)
    arguments = _group("Args", "Arguments of an event.", event_fields(event.inputs, hashed_inputs(method)))
    log = _group(
        "Log",
        "A log of the event.",
        [
            Field("address", 1, "string", "Contract that wrote it."),
            Field("block_number", 2, "int64", "Block that holds it."),
            Field("transaction_hash", 3, "string", "Transaction that wrote it."),
            Field("log_index", 4, "int32", "Place among the block's logs, counted from 0."),
            Field("args", 5, arguments, "Its arguments."),
        ],
    )
    _add_answered_place(response)
    response.add(
        Field("count", 3, "int32", "Number of logs in this page."),
        Field("limit", 4, "int32", "Most logs that a page holds."),
        Field("has_more", 5, "bool", "Whether older ones may remain in the window."),
        Field("cursor", 6, "string", "Cursor of the next page; unset when has_more is false.", "optional"),
        Field("logs", 7, log, "The logs, newest first.", "repeated"),
    )


def _add_place(method: PublishedMethod, request: Message) -> None:
    if method.app.is_template:
        request.add(_CHAIN, _ADDRESS)


def _add_answered_place(response: Message) -> None:
    response.add(
        Field("chain", 1, "string", "Chain slug."),
        Field("address", 2, "string", "Contract address, checksummed."),
    )


def _group(name: str, comment: str, fields: Sequence[Field]) -> Message:
    message = Message(name, comment)
    message.add(*fields)
    return message


def _is_long(parameter: Parameter) -> bool:
    """Return whether a value does not fit a topic: lists, tuples, and bytes and texts of any length."""
    return parameter.type.is_dynamic or scalar_of(parameter.type) is None


def _signature(method: PublishedMethod) -> str:
    inputs = ", ".join(_declared(one) for one in method.abi_item["inputs"])
    outputs = ", ".join(_declared(one) for one in method.abi_item.get("outputs", ()))
    return f"{method.abi_name}({inputs})" + (f" returns ({outputs})" if outputs else "")


def _declared(parameter: dict[str, object]) -> str:
    words = (parameter["type"], "indexed" if parameter.get("indexed") else "", parameter.get("name", ""))
    return " ".join(str(word) for word in words if word)
