"""JSON values -> field values: what a parameter may be written as, and the error for any other writing.

These functions decide JSON *types* only. Whether a value is required, well formed or within `min` and `max` is the
server's validation stage, so that both faces agree.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp
from waypost.options.v1 import options_pb2
from waypost.v1.common_pb2 import NativeJson

from runtime.config_errors import nearest
from runtime.operations import LATEST_BLOCK
from transcoder.errors import Failure, clipped
from transcoder.fields import SAFE, TEXT_LENGTH, Field, literals_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# Texts that may also be written as JSON integers, and how such an integer reads as text (Format's own comments in
# options.proto).
ALSO_INTEGERS: Mapping[int, Callable[[int], str]] = {
    options_pb2.FORMAT_UINT: str,
    options_pb2.FORMAT_BLOCK: str,
    options_pb2.FORMAT_CURSOR: str,
    options_pb2.FORMAT_HEX_BLOCK: hex,
}

# How JSON writes the blocks of a format: text, base of its digits, largest number, and what to write.
_BLOCKS: Mapping[int, tuple[re.Pattern[str], int, int, str]] = {
    options_pb2.FORMAT_BLOCK: (
        re.compile("[0-9]+"),
        10,
        SAFE,
        "a whole block number in decimal digits, or `latest`",
    ),
    options_pb2.FORMAT_HEX_BLOCK: (
        re.compile("0x[0-9a-fA-F]+"),
        16,
        (1 << 56) - 1,
        "a hex block number, or `latest`",
    ),
}
_LONGEST_BLOCK = 16
_LONGEST_BLOCK_SHOWN = 64
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_FRACTION = re.compile(r"(-?(?:0|[1-9][0-9]{0,18}))\.[0-9]{1,40}")
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
# Beyond it a double no longer distinguishes one whole number from the next.
_LARGEST_WHOLE = (1 << 53) - 1
# The seconds a Timestamp may hold: years 1 to 9999.
_MOMENTS = (-62135596800, 253402300799)

_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_OBJECT: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])


def text(value: Any, where: str, field: Field) -> str:
    """Return a text; integers pass for the formats that may be written as numbers."""
    if value.__class__ is str:
        return str(value)
    if value.__class__ is int and field.options.format in ALSO_INTEGERS:
        return ALSO_INTEGERS[field.options.format](value)
    if value.__class__ is float and field.options.format in ALSO_INTEGERS:
        raise refused(where, field, "a whole number", value)
    raise refused(where, field, "text", value)


def integer(value: Any, where: str, field: Field) -> int:
    """Return an integer that the field can carry, from a JSON integer or decimal text."""
    number = value
    if value.__class__ is str and _INTEGER.fullmatch(value):
        number = int(value)
    if number.__class__ is not int:
        fraction = value.__class__ is float or (value.__class__ is str and _FRACTION.fullmatch(value))
        raise refused(where, field, "a whole number" if fraction else "an integer", value)
    low, high = field.bounds
    if not low <= number <= high:
        low, high = narrowed(field)
        raise Failure(400, "INVALID_ARGUMENT", f"{where} must be an integer from {low} to {high}", field=where)
    return int(number)


def block(value: Any, where: str, field: Field) -> int:
    """Return a block number, from an integer or text in the field's own digits; -1 for `latest`."""
    if value == "latest":
        return LATEST_BLOCK
    written = text(value, where, field)
    pattern, base, largest, advice = _BLOCKS[field.options.format]
    if len(written) <= _LONGEST_BLOCK and pattern.fullmatch(written) and int(written, base) <= largest:
        return int(written, base)
    if len(written) > TEXT_LENGTH:
        message = f"{where} has {len(written)} characters; write at most {TEXT_LENGTH}"
        raise Failure(400, "INVALID_ARGUMENT", message, field=where)
    cut = written[:_LONGEST_BLOCK_SHOWN]
    shown = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in cut)
    shown += "…" if len(written) > _LONGEST_BLOCK_SHOWN else ""
    raise Failure(400, "INVALID_ARGUMENT", f"{where} is `{shown}`; write {advice}", field=where)


def narrowed(field: Field) -> tuple[int, int]:
    """Return the integers that the server accepts for the field, as far as the options limit them."""
    low, high = field.bounds
    options = field.options
    return (
        max(low, options.min) if options.HasField("min") else low,
        min(high, options.max) if options.HasField("max") else high,
    )


def given(value: Any, where: str, field: Field) -> Any:
    """Return a value that is none of those by which messages say that there is none; worded as the server does."""
    if value:
        return value
    if field.options.format == options_pb2.FORMAT_CURSOR:
        message = f"{where} is ``; write the cursor of the previous page as it was answered"
    else:
        message = f"{where} is {value}; write a number of at least {field.options.min}"
    raise Failure(400, "INVALID_ARGUMENT", message, field=where)


def number(value: Any, where: str, field: Field) -> float:
    """Return a finite number."""
    if value.__class__ is float or value.__class__ is int:
        try:
            result = float(value)
        except OverflowError:
            result = math.inf
        if math.isfinite(result):
            return result
    raise refused(where, field, "a number", value)


def boolean(value: Any, where: str, field: Field) -> bool:
    """Return true or false."""
    if value is True or value is False:
        return bool(value)
    raise refused(where, field, "true or false", value)


def choice(value: Any, where: str, field: Field) -> int:
    """Return the number of an enum literal."""
    known = literals_of(field.descriptor.enum_type)[1]
    if value.__class__ is str and value in known:
        return known[value]
    # Which of them this field takes is checked by the server; the hint is narrowed already.
    accepted = field.options.one_of or known
    raise refused(where, field, "one of " + ", ".join(f'"{name}"' for name in accepted), value)


def timestamp(value: Any, where: str, field: Field) -> Timestamp:
    """Return a time, from RFC 3339 text or unix seconds as the field's format requires."""
    if field.options.format == options_pb2.FORMAT_UNIX_SECONDS:
        if value.__class__ is int and _MOMENTS[0] <= value <= _MOMENTS[1]:
            return Timestamp(seconds=value)
        raise refused(where, field, "unix seconds", value)
    match = _MOMENT.fullmatch(value) if value.__class__ is str else None
    if match is not None:
        date, clock, fraction, zone = match.groups()
        try:
            moment = datetime.fromisoformat(f"{date}T{clock}{zone.upper().replace('Z', '+00:00')}").astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        else:
            passed = moment - datetime(1970, 1, 1, tzinfo=UTC)
            return Timestamp(seconds=passed.days * 86400 + passed.seconds, nanos=int((fraction or "").ljust(9, "0")))
    raise refused(where, field, "an RFC 3339 time with zone, for example 2026-01-31T12:00:00Z", value)


def table(value: Any, where: str, field: Field | None) -> dict[str, Any]:
    """Return an object's members."""
    if value.__class__ is dict:
        members: dict[str, Any] = value
        return members
    raise refused(where, field, "an object", value)


def elements(value: Any, where: str, field: Field) -> list[Any]:
    """Return a list's elements; a `csv` field may also be written as comma-separated text."""
    result: list[Any]
    if value.__class__ is list:
        result = value
    elif value.__class__ is str and field.options.csv:
        result = split(value, where, field.most)
    else:
        wanted = "an array or comma-separated text" if field.options.csv else "an array"
        raise refused(where, field, wanted, value)
    bounded(result, where, field)
    return result


def split(value: str, where: str, most: int) -> list[Any]:
    """Return the elements of comma-separated text without the spaces around them; an empty element is refused."""
    if not value.strip():
        return []
    # One more than allowed is enough to know that there are too many.
    parts = [part.strip() for part in value.split(",", most + 1)]
    if not all(parts):
        message = f"{where} has an empty element; remove the extra comma"
        raise Failure(400, "INVALID_ARGUMENT", message, field=where)
    return parts


def bounded(items: list[Any], where: str, field: Field) -> None:
    """Refuse a list longer than the field allows, before its elements cost anything."""
    if len(items) > field.most:
        # Worded as the server does for gRPC callers.
        message = f"{where} has {len(items)} elements; give at most {field.most}"
        raise Failure(400, "INVALID_ARGUMENT", message, field=where)


def parsed(raw: msgspec.Raw | bytes, where: str) -> Any:
    """Return the Python value of a raw JSON value; integers are exact."""
    try:
        return _ANY.decode(raw)
    except msgspec.DecodeError as error:
        # The whole body has been parsed already, so what is left is a number that no double holds.
        message = f"{where or 'params'} holds a number that cannot be read; write large amounts as text"
        raise Failure(400, "INVALID_ARGUMENT", message, field=where or None) from error


def raw_members(raw: msgspec.Raw, where: str, field: Field | None) -> dict[str, msgspec.Raw]:
    """Return an object's members unparsed."""
    try:
        return _OBJECT.decode(raw)
    except msgspec.DecodeError as error:
        raise refused(where, field, "an object", parsed(raw, where)) from error


def raw_elements(raw: msgspec.Raw, where: str, field: Field) -> list[msgspec.Raw]:
    """Return an array's elements unparsed."""
    try:
        result = _ARRAY.decode(raw)
    except msgspec.DecodeError as error:
        raise refused(where, field, "an array", parsed(raw, where)) from error
    bounded(result, where, field)
    return result


def native(raw: msgspec.Raw, where: str, field: Field) -> NativeJson:
    """Return a JSON value as the caller wrote it."""
    return NativeJson(json=bytes(raw).decode())


class Missing(Failure):
    """A required number is not given."""


def required(where: str, field: Field) -> Missing:
    """Return the failure for a parameter that is not given, in the words that the server has for those it sees."""
    message = f"{where} is required; for example {field.options.example}"
    return Missing(400, "INVALID_ARGUMENT", message, field=where)


def unknown(given: Iterable[str], known: tuple[str, ...], where: str, otherwise: str = "") -> Failure:
    """Return the failure for a member that the message does not have, with the nearest one that it has.

    `otherwise` is what may be written as well, in words that follow the hint.
    """
    name = next(member for member in given if member not in known)
    near = nearest(name, known)
    if near is not None:
        hint = f'did you mean "{near}"?'
    elif known:
        hint = "known: " + ", ".join(known)
    else:
        hint = "the operation takes none"
    message = f'unknown parameter "{clipped(name)}"; {hint}{otherwise}'
    return Failure(400, "UNKNOWN_PARAMETER", message, field=where + clipped(name))


def refused(where: str, field: Field | None, wanted: str, value: Any) -> Failure:
    """Return the failure for a value of the wrong JSON type: what it must be, what it was, what to write."""
    example = field.options.example if field is not None else ""
    fraction = _FRACTION.fullmatch(value) if value.__class__ is str and wanted == "a whole number" else None
    if fraction is not None and not value.partition(".")[2].strip("0"):
        hint = f"; write {fraction[1]}"
    elif value.__class__ is float and value.is_integer() and abs(value) <= _LARGEST_WHOLE:
        hint = f"; write {int(value)}" if wanted == "a whole number" else ""
    else:
        hint = f"; for example {example}" if example else ""
    return Failure(
        400, "INVALID_ARGUMENT", f"{where} must be {wanted}, not {described(value)}{hint}", field=where or None
    )


def described(value: Any) -> str:
    """Return a JSON value in words, short enough for a message."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return f'the text "{clipped(value)}"' if value else "an empty text"
    if isinstance(value, int):
        # Python refuses to print integers of thousands of digits.
        return f"the integer {value}" if abs(value) < 10**40 else "a very large integer"
    if isinstance(value, float):
        return f"the number {value}"
    return "an array" if isinstance(value, list) else "an object"
