"""Fields for ABI values: integers of up to 64 bits as such, wider ones as decimal text, bytes as bytes.

Tuples become nested messages. Protobuf has no list of lists: an inner list becomes a message with the field `items`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.abi.composites import Array, Bytes, Text, Tuple
from server.abi.parameters import Parameter
from server.abi.words import Boolean, FixedBytes, Integer
from server.typed_apps.layout import Field, Message
from server.typed_apps.names import Scope, is_reserved, pascal, snake

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.abi.composites import Type

ITEMS = "items"


def value_fields(parameters: Sequence[Parameter], around: tuple[str, ...] = ()) -> list[Field]:
    """Return one field for each parameter, numbered by position from 1; `around` are the messages that they are in."""
    return [_field(one, position, name, around) for position, (one, name) in enumerate(_named(parameters), 1)]


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
        else _field(one, position, name)
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


def _field(parameter: Parameter, number: int, name: str, around: tuple[str, ...] = ()) -> Field:
    kind = parameter.type
    if isinstance(kind, Array):
        return Field(name, number, _type(kind.element, name, around), _comment(parameter), "repeated")
    return Field(name, number, _type(kind, name, around), _comment(parameter))


def _filter(parameter: Parameter, number: int, name: str) -> Field:
    comment = f"{_comment(parameter)} Unset means any."
    label = "" if scalar_of(parameter.type) is None else "optional"
    return Field(name, number, _type(parameter.type, name), comment, label)


def _type(kind: Type, name: str, around: tuple[str, ...] = ()) -> str | Message:
    scalar = scalar_of(kind)
    if scalar is not None:
        return scalar
    if isinstance(kind, Tuple):
        message = Message(_unlike(around, f"{pascal(name)}Value"), f"The tuple {kind.canonical}.")
        message.add(*value_fields(members_of(kind), (*around, message.name)))
        return message
    assert isinstance(kind, Array)
    message = Message(_unlike(around, f"{pascal(name)}List"), f"The list {kind.canonical}.")
    elements = _type(kind.element, name, (*around, message.name))
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


def _comment(parameter: Parameter) -> str:
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
