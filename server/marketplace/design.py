"""App -> the layout of its .proto file.

ABI values are fields: integers of up to 64 bits as such, wider ones as decimal text, bytes as bytes. Tuples become
nested messages. Protobuf has no list of lists: an inner list becomes a message with the field `items`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.contracts.events import Event, is_hashed
from server.contracts.interface import Function
from server.contracts.types import Array, Bytes, Parameter, Text, Tuple
from server.contracts.words import Boolean, FixedBytes, Integer
from server.marketplace.proto_files import (
    AppFile,
    Field,
    Message,
    Rpc,
    Scope,
    is_reserved,
    pascal,
    snake,
    started,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.contracts.types import Type
    from server.marketplace.catalogue import App, Catalogue, PublishedMethod

ROOT = "waypost_apps"
"""First part of the packages: apart from `waypost`, so that stubs of both can lie beside each other."""

_DOES = {
    "call": "Calls {signature}.",
    "simulateCall": "Simulates {signature}; nothing is sent.",
    "getLogs": "Finds logs of the event {signature}, newest first, at most 10,000 blocks at once.",
}
ITEMS = "items"
"""Field of a message that stands for an inner list."""

_CHAIN = Field("chain", 2, "string", "Chain slug, for example ethereum.")
_ADDRESS = Field("address", 3, "string", "Address of the contract.")
_SENDER = {
    operation: Field("from_address", 4, "string", f"Account to call from. Unset means {default}.", "optional", "from")
    for operation, default in (("call", "no account in particular"), ("simulateCall", "the zero address"))
}
_VALUE = Field("value", 5, "string", "Native coin to send with the call, in wei. Unset means none.", "optional")
_HEIGHT = Field("height", 6, "string", "Block to call at, a number or latest, as which unset counts.", "optional")
_FROM_BLOCK = Field("from_block", 7, "string", "Oldest block. Unset means 9,999 below to_block.", "optional")
_TO_BLOCK = Field("to_block", 8, "string", "Newest block, a number or latest, as which unset counts.", "optional")
_PAGE_TOKEN = Field(
    "page_token", 9, "string", "next_page_token of the page before, which holds its window.", json="cursor"
)
_PAGE_SIZE = Field("page_size", 10, "int32", "Most logs of this page, up to 100, as which 0 counts.")


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
        any(one.is_indexed and is_hashed(one.type) for one in inputs)
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
    function = Function(method.abi_item)
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
        Field(
            "logs_available", 8, "bool", "False when the node cannot return the logs; unset when it can.", "optional"
        ),
        Field("reason", 9, "string", "Decoded reason of a failure; unset after success.", "optional"),
        Field(
            "gas_used_available",
            10,
            "bool",
            "False when the node cannot return the gas; unset when it can.",
            "optional",
        ),
    )


def _design_event(method: PublishedMethod, request: Message, response: Message) -> None:
    event = Event.parse(method.abi_item)
    filters = filter_fields(event.inputs)
    if filters:
        request.add(Field("args", 1, _group("Args", "Arguments to look for.", filters), "Arguments to look for."))
    _add_place(method, request)
    request.add(_FROM_BLOCK, _TO_BLOCK, _PAGE_TOKEN, _PAGE_SIZE)
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
        Field("page_size", 4, "int32", "Most logs that the page could hold.", json="limit"),
        Field("has_more", 5, "bool", "Whether older ones may remain in the window."),
        Field(
            "next_page_token", 6, "string", "page_token of the next page; empty when has_more is false.", json="cursor"
        ),
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


def _signature(method: PublishedMethod) -> str:
    inputs = ", ".join(_declared(one) for one in method.abi_item["inputs"])
    outputs = ", ".join(_declared(one) for one in method.abi_item.get("outputs", ()))
    return f"{method.abi_name}({inputs})" + (f" returns ({outputs})" if outputs else "")


def _declared(parameter: dict[str, object]) -> str:
    words = (parameter["type"], "indexed" if parameter.get("indexed") else "", parameter.get("name", ""))
    return " ".join(str(word) for word in words if word)


def value_fields(parameters: Sequence[Parameter], around: tuple[str, ...] = ()) -> list[Field]:
    """Return one field for each parameter, numbered by position from 1; `around` are the messages that they are in."""
    return [_field_of(one, position, name, around) for position, (one, name) in enumerate(_named(parameters), 1)]


def filter_fields(parameters: Sequence[Parameter]) -> list[Field]:
    """Return a field for each indexed parameter, numbered by its position among all; absent means any value."""
    return [
        _filter(one, position, name) for position, (one, name) in enumerate(_named(parameters), 1) if one.is_indexed
    ]


def event_fields(parameters: Sequence[Parameter], hashed: Sequence[bool]) -> list[Field]:
    """Return one field for each argument of an event; of hashed ones logs hold a hash only, which is text here."""
    return [
        Field(
            name,
            position,
            "string",
            f"{one.type.canonical}. Indexed, so that the log holds its Keccak-256 hash only: 0x and hex.",
        )
        if is_hashed
        else _field_of(one, position, name)
        for position, ((one, name), is_hashed) in enumerate(zip(_named(parameters), hashed, strict=True), 1)
    ]


def scalar_of(kind: Type) -> str | None:
    """Return the protobuf type of an ABI type that is one value, None for lists and tuples."""
    if isinstance(kind, Integer):
        if kind.bits > 64:
            return "string"
        return ("int" if kind.is_signed else "uint") + ("32" if kind.bits <= 32 else "64")
    if isinstance(kind, Boolean):
        return "bool"
    if isinstance(kind, FixedBytes | Bytes):
        return "bytes"
    return None if isinstance(kind, Array | Tuple) else "string"


def _named(parameters: Sequence[Parameter]) -> list[tuple[Parameter, str]]:
    scope = Scope()
    named = []
    for position, one in enumerate(parameters, 1):
        name = snake(one.name) or ("value" if len(parameters) == 1 else f"value{position}")
        if is_reserved(name):
            name = f"{name}_{snake(_word(one.type))}"
        named.append((one, scope.claim(name)))
    return named


def _field_of(parameter: Parameter, number: int, name: str, around: tuple[str, ...] = ()) -> Field:
    kind = parameter.type
    if isinstance(kind, Array):
        return Field(name, number, _type_of(kind.element, name, around), _comment_of(parameter), "repeated")
    return Field(name, number, _type_of(kind, name, around), _comment_of(parameter))


def _filter(parameter: Parameter, number: int, name: str) -> Field:
    comment = f"{_comment_of(parameter)} Unset means any."
    label = "" if scalar_of(parameter.type) is None else "optional"
    return Field(name, number, _type_of(parameter.type, name), comment, label)


def _type_of(kind: Type, name: str, around: tuple[str, ...] = ()) -> str | Message:
    scalar = scalar_of(kind)
    if scalar is not None:
        return scalar
    if isinstance(kind, Tuple):
        message = Message(_unlike(around, f"{pascal(name)}Value"), f"The tuple {kind.canonical}.")
        message.add(*value_fields(members_of(kind), (*around, message.name)))
        return message
    assert isinstance(kind, Array)
    message = Message(_unlike(around, f"{pascal(name)}List"), f"The list {kind.canonical}.")
    elements = _type_of(kind.element, name, (*around, message.name))
    message.add(Field(ITEMS, 1, elements, f"Its elements, {kind.element.canonical}.", "repeated"))
    return message


def _unlike(around: tuple[str, ...], name: str) -> str:
    """Return the name, numbered where a message around has it: Java has no class inside of one of its name."""
    scope = Scope()
    for taken in around:
        scope.claim(taken)
    return scope.claim(name)


def members_of(kind: Tuple) -> list[Parameter]:
    """Return a tuple's members as parameters."""
    return [Parameter(name, member) for name, member in zip(kind.names, kind.members, strict=True)]


def _comment_of(parameter: Parameter) -> str:
    kind = parameter.type
    named = f"{kind.canonical} {parameter.name}".strip()
    while isinstance(kind, Array):
        kind = kind.element
    if isinstance(kind, Integer) and kind.bits > 64:
        return f"{named}, in decimal."
    if isinstance(kind, Text):
        return f"{named}, UTF-8."
    return f"{named}."


def _word(kind: Type) -> str:
    return "list" if isinstance(kind, Array) else "tuple" if isinstance(kind, Tuple) else kind.canonical
