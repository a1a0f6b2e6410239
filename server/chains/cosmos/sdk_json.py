"""Protobuf messages of the Cosmos SDK as JSON, written as the SDK's REST gateway writes them.

That is not the JSON of protobuf: members keep the names of the fields, members without a value are there (`null` for
bytes, and for messages that may be missing), and the types of Go that a field is read into decide its text (decimals,
contract messages that are JSON themselves, hashes in hex), which stand in the options of gogoproto.
"""

from __future__ import annotations

import base64
import importlib
import json
import math
import re
import tomllib
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec
from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

Json: TypeAlias = dict[str, Any]
_Write: TypeAlias = "Callable[[Writing, Any, _Place], Any]"
_Element: TypeAlias = "Callable[[Writing, Any, _Place], Any]"

MOST_ANYS = 10
"""How deep messages in a `google.protobuf.Any` are taken apart, as by the SDK; a deeper one stays bytes."""

MOST_DEPTH = 64
"""How deep messages lie in each other at most."""

MOST_VALUES = 200_000
"""How many members and elements are written at most: two bytes of a transaction may be an element of twenty members."""

_TABLE = Path(__file__).with_name("sdk_types.toml")
# The seconds of the years 1 to 9999.
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
_LONGEST_DURATION = 315_576_000_000
_EPOCH, _NANOS = datetime(1970, 1, 1), 10**9
# What Go writes of a time that was never set.
_ZERO_TIME = "0001-01-01T00:00:00Z"
_WHOLE = re.compile(r"-?[0-9]{1,100}", re.ASCII)
_DECIMALS = 18


class _Place(NamedTuple):
    """How deep a message lies: in messages, and in messages packed in an `Any`."""

    depth: int = 0
    anys: int = 0


_TOP = _Place()


class Unwritable(ValueError):
    """Bytes that are no such message, or one that has no such JSON."""


class Writing:
    """One transaction that is being written: what is left of its bounds, of values outside and inside of an `Any`."""

    def __init__(self) -> None:
        self._values = {False: MOST_VALUES, True: MOST_VALUES}

    def take(self, values: int, place: _Place) -> None:
        """Count so many values; Unwritable beyond the bound."""
        is_packed = place.anys > 0
        self._values[is_packed] -= values
        if self._values[is_packed] < 0:
            raise Unwritable("of too many values")

    def read(self, kind: type[Message], data: bytes, place: _Place = _TOP) -> Any:
        """Return a message of that kind; Unwritable for bytes that are none, or that hold fields unknown to it."""
        self.take(1, place)
        try:
            message: Any = kind.FromString(data)
        except DecodeError:
            raise Unwritable("not of its type") from None
        size = message.ByteSize()
        message.DiscardUnknownFields()
        if message.ByteSize() != size:
            # Of a newer version of its module: without these fields it would say something else.
            raise Unwritable("of fields that its type does not have")
        return message

    def write(self, message: Any, place: _Place = _TOP) -> Json:
        """Return the members of a message; Unwritable where it has no JSON, or beyond the bounds."""
        fields = _fields_of(message.DESCRIPTOR)
        self.take(len(fields) + 1, place)
        if place.depth > MOST_DEPTH:
            raise Unwritable("too deep")
        inside = _Place(place.depth + 1, place.anys)
        return {
            field.name: field.write(self, message, inside)
            for field in fields
            if not field.is_choice or message.HasField(field.name)
        }

    def write_any(self, packed: Any, place: _Place) -> Json:
        """Return an `Any`: its type and the members of what it holds, or its type and `value`, the bytes in base64.

        The second is written of types that are not known, of bytes that are not of their type, beyond ten levels, and
        of what is left once the bound of values is reached.
        """
        self.take(2, place)
        kind = None if place.anys >= MOST_ANYS else kind_of(packed.type_url)
        if kind is not None:
            inside = _Place(place.depth, place.anys + 1)
            try:
                return {"@type": packed.type_url, **self.write(self.read(kind, packed.value, inside), inside)}
            except Unwritable:
                pass
        return {"@type": packed.type_url, "value": _base64(packed.value)}


class _Field(NamedTuple):
    """A member: `is_choice` is one of which only the chosen is written."""

    name: str
    is_choice: bool
    write: _Write


def kind_of(type_url: str) -> type[Message] | None:
    """Return the message type of an `Any`'s type, importing its package; None for one that is not decoded."""
    name = type_url[1:]
    package = name.rpartition(".")[0]
    if not type_url.startswith("/") or package not in _table()["packages"]:
        return None
    return _kinds(package).get(name)


def load_module(name: str) -> Any:
    """Return a module of cosmpy's generated types by its name below the folder of the protos."""
    # Puts that folder on the path: the generated modules import each other from there.
    importlib.import_module("cosmpy.protos")
    return importlib.import_module(name)


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))


@cache
def _kinds(package: str) -> dict[str, type[Message]]:
    modules = [load_module(f"{package}.{module}") for module in _table()["packages"][package]]
    return {
        kind.full_name: message_factory.GetMessageClass(kind)
        for module in modules
        for kind in module.DESCRIPTOR.message_types_by_name.values()
    }


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _integer(value: str | bytes) -> str:
    text = (value if isinstance(value, str) else value.decode("latin-1")) or "0"
    if _WHOLE.fullmatch(text) is None:
        raise Unwritable("a number that is none")
    return text


def _decimal(value: str | bytes) -> str:
    """Return a number that is kept as a whole one of 10^-18, with its places; one that was never set has none."""
    text = _integer(value)
    if not value:
        return text
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    digits = digits.zfill(_DECIMALS + 1)
    return f"{sign}{digits[:-_DECIMALS]}.{digits[-_DECIMALS:]}"


def _contract_message(value: bytes) -> Any:
    if not value:
        return None
    try:
        return msgspec.Raw(msgspec.json.format(value.decode(), indent=-1).encode())
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        # Nodes have no JSON for it at all.
        raise Unwritable("a contract's message that is no JSON") from None


def _float(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _hexadecimal(value: bytes) -> str:
    return value.hex().upper()


# What is written of a value that Go reads into a type of its own.
_GO_TYPES: dict[str, Callable[[Any], Any]] = {
    "cosmossdk.io/math.Int": _integer,
    "cosmossdk.io/math.LegacyDec": _decimal,
    "RawContractMessage": _contract_message,
    "github.com/cometbft/cometbft/libs/bytes.HexBytes": _hexadecimal,
}


_PLAIN_TYPES: dict[int, Callable[[Any], Any]] = {
    FieldDescriptor.CPPTYPE_INT64: str,
    FieldDescriptor.CPPTYPE_UINT64: str,
    FieldDescriptor.CPPTYPE_FLOAT: _float,
    FieldDescriptor.CPPTYPE_DOUBLE: _float,
}


@cache
def _fields_of(kind: Descriptor) -> tuple[_Field, ...]:
    """Return the members of messages of a kind, in the order of its fields."""
    options = load_module("gogoproto.gogo_pb2")
    return tuple(_field_of(field, options) for field in kind.fields)


def _field_of(field: FieldDescriptor, options: Any) -> _Field:
    name, own, group = field.name, field.GetOptions(), field.containing_oneof
    is_optional = group is not None and group.name == f"_{name}"
    is_choice = group is not None and not is_optional
    is_pointer = not own.HasExtension(options.nullable) or own.Extensions[options.nullable]
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return _Field(name, is_choice, _map(name, _element_of(field.message_type.fields_by_name["value"], options)))
    element = _element_of(field, options)
    if field.label == FieldDescriptor.LABEL_REPEATED:
        return _Field(name, is_choice, _list(name, element))
    if is_choice:
        return _Field(name, is_choice, _value(name, element))
    if is_optional or (field.message_type is not None and is_pointer):
        return _Field(name, is_choice, _value_if_set(name, element, None))
    if own.Extensions[options.stdtime]:
        return _Field(name, is_choice, _value_if_set(name, element, _ZERO_TIME))
    is_null = is_pointer and own.Extensions[options.customtype]
    if is_null or (field.type == FieldDescriptor.TYPE_BYTES and _go_type_of(field, options) is None):
        return _Field(name, is_choice, _value_if_filled(name, element))
    return _Field(name, is_choice, _value(name, element))


def _value(name: str, element: _Element) -> _Write:
    return lambda writing, message, place: element(writing, getattr(message, name), place)


def _value_if_set(name: str, element: _Element, otherwise: str | None) -> _Write:
    return lambda writing, message, place: (
        element(writing, getattr(message, name), place) if message.HasField(name) else otherwise
    )


def _value_if_filled(name: str, element: _Element) -> _Write:
    return lambda writing, message, place: element(writing, value, place) if (value := getattr(message, name)) else None


def _list(name: str, element: _Element) -> _Write:
    def write(writing: Writing, message: Any, place: _Place) -> list[Any]:
        values = getattr(message, name)
        writing.take(len(values), place)
        return [element(writing, value, place) for value in values]

    return write


def _map(name: str, element: _Element) -> _Write:
    def write(writing: Writing, message: Any, place: _Place) -> Json:
        values = getattr(message, name)
        writing.take(len(values), place)
        return {
            key if isinstance(key, str) else json.dumps(key): element(writing, values[key], place)
            for key in sorted(values)
        }

    return write


def _element_of(field: FieldDescriptor, options: Any) -> _Element:
    """Return what writes one value of a field."""
    if (kind := field.message_type) is not None:
        return _MESSAGES.get(kind.full_name, Writing.write)
    if (enum := field.enum_type) is not None:
        words = _table()["enums"].get(enum.full_name, {})
        names = {number: words.get(str(number), value.name) for number, value in enum.values_by_number.items()}
        unnamed = words.get("")
        return lambda _writing, value, _place: names.get(value, unnamed or value)
    write = _go_type_of(field, options)
    if write is None and field.type == FieldDescriptor.TYPE_BYTES:
        write = _base64
    if write is None:
        write = _PLAIN_TYPES.get(field.cpp_type)
    if write is None:
        return lambda _writing, value, _place: value
    plain = write
    return lambda _writing, value, _place: plain(value)


def _go_type_of(field: FieldDescriptor, options: Any) -> Callable[[Any], Any] | None:
    own = field.GetOptions().Extensions
    return _GO_TYPES.get(own[options.customtype] or own[options.casttype])


# Messages with a JSON of their own.
_MESSAGES: dict[str, _Element] = {
    "google.protobuf.Any": Writing.write_any,
    "google.protobuf.Timestamp": lambda _writing, value, _place: _time(value),
    "google.protobuf.Duration": lambda _writing, value, _place: _duration(value),
}


def _time(value: Any) -> str:
    if not (_FIRST_SECOND <= value.seconds <= _LAST_SECOND and 0 <= value.nanos < _NANOS):
        raise Unwritable("a time out of all years")
    at = _EPOCH + timedelta(seconds=value.seconds)
    return f"{at.isoformat()}{_fraction(value.nanos)}Z"


def _duration(value: Any) -> str:
    if abs(value.seconds) > _LONGEST_DURATION or abs(value.nanos) >= _NANOS or value.seconds * value.nanos < 0:
        raise Unwritable("a duration that is none")
    sign = "-" if value.seconds < 0 or value.nanos < 0 else ""
    return f"{sign}{abs(value.seconds)}{_fraction(abs(value.nanos))}s"


def _fraction(nanos: int) -> str:
    """Return nanoseconds as a fraction of a second, of no, 3, 6 or 9 places."""
    text = f"{nanos:09}"
    while text.endswith("000"):
        text = text[:-3]
    return f".{text}" if text else ""
