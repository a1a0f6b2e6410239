"""Message -> JSON: one generated Python function per message type, compiled on first use.

A function returns the message's members as a dict that orjson prints in one go. The generated text holds every
decision that the descriptors allow to take beforehand (names, order, presence, formats), so that at run time there are
only attribute reads. JSON rules: design section 4, decisions 1.7 and 2.3 to 2.6.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
from waypost.options.v1 import options_pb2

from transcoder.fields import REAL, SAFE, WIDE, Field, UnsupportedField, fields_of, holds_native, literals_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message
    from google.protobuf.timestamp_pb2 import Timestamp
    from waypost.v1.common_pb2 import NativeJson

    Members = Callable[[Message], dict[str, Any]]

_EPOCH = datetime(1970, 1, 1)  # naive on purpose: isoformat then prints no offset, and `Z` is appended
_WHOLE = re.compile(r"(?:0|[1-9][0-9]{0,15})")
_MEMBERS: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Unprintable(Exception):
    """An answer holds a value that JSON cannot carry unharmed: a defect of the code that made the message."""


def wide(value: int, where: str) -> int:
    """Return an integer beyond 2^53-1 if a reader that knows only doubles still gets it exactly (design section 4)."""
    if int(float(value)) != value:
        raise Unprintable(f"{where}: {value} does not survive as a JSON number")
    return value


def real(value: float, where: str) -> float:
    """Return a finite number."""
    if not math.isfinite(value):
        raise Unprintable(f"{where}: {value} is not a JSON number")
    return value


def rfc3339(moment: Timestamp) -> str:
    """Return the time in UTC with `Z`, with as many digits of a second as it has."""
    text = (_EPOCH + timedelta(seconds=moment.seconds)).isoformat()
    if moment.nanos:
        text = f"{text}.{moment.nanos:09d}".rstrip("0")
    return text + "Z"


def cursor(text: str) -> int | str:
    """Return a paging cursor as an integer where its text is one, else as it is."""
    if _WHOLE.fullmatch(text):
        number = int(text)
        if number <= SAFE:
            return number
    return text


def native(value: NativeJson) -> orjson.Fragment | None:
    """Return the source's own bytes, to be printed as they are; None when there are none."""
    return _fragment(value.json) if value.json else None


def native_members(value: NativeJson, where: str) -> dict[str, Any]:
    """Return the members of a native object, each value as the source's own bytes."""
    if not value.json:
        return {}
    try:
        return {name: _fragment(raw) for name, raw in _MEMBERS.decode(value.json).items()}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unprintable(f"{where}: the native payload is not a JSON object") from error


def _fragment(raw: bytes | msgspec.Raw) -> orjson.Fragment:
    content = bytes(raw)
    try:
        # Node answers reach us unparsed: their UTF-8 has not been looked at yet.
        return orjson.Fragment(content if content.isascii() else str(content, "utf-8"))
    except UnicodeDecodeError as error:
        raise Unprintable("a native payload is not UTF-8") from error


def in_order(entries: Mapping[str, Any], keys: Sequence[str]) -> list[tuple[str, Any]]:
    """Return the entries of a map in the order of the keys; those that it does not name come last, sorted."""
    named = {key: entries[key] for key in keys if key in entries}
    return [*named.items(), *sorted((key, entry) for key, entry in entries.items() if key not in named)]


PARENT = "parent"


def nested(
    rows: Sequence[Any], members: Callable[[Any], dict[str, Any]], children: str, where: str
) -> orjson.Fragment | None:
    """Return the first row with its descendants nested under the name `children`; None without rows.

    Each row but the first names an earlier row as its `parent`; anything else raises Unprintable.
    """
    if not rows:
        return None
    below: list[list[int]] = [[] for _ in rows]
    for index, row in enumerate(rows):
        if row.HasField(PARENT) != (index > 0) or (index and not 0 <= row.parent < index):
            raise Unprintable(f"{where}: row {index} does not follow its parent")
        if index:
            below[row.parent].append(index)
    opening = orjson.dumps(children) + b":["
    parts: list[bytes] = []
    waiting: list[bytes | int] = [0]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, bytes):
            parts.append(entry)
            continue
        own = members(rows[entry])
        own.pop(PARENT, None)
        text = orjson.dumps(own)
        if not below[entry]:
            parts.append(text)
            continue
        parts += [text[:-1], b"," if own else b"", opening]
        waiting.append(b"]}")
        for place, child in enumerate(reversed(below[entry])):
            if place:
                waiting.append(b",")
            waiting.append(child)
    return orjson.Fragment(b"".join(parts))


_NAMESPACE: dict[str, Any] = {
    "dumps": orjson.dumps,
    "wide": wide,
    "real": real,
    "rfc3339": rfc3339,
    "cursor": cursor,
    "native": native,
    "native_members": native_members,
    "in_order": in_order,
    "nested": nested,
}


def members_renderer(message: Descriptor) -> Members:
    """Return the function that turns a message of this type into its JSON members, compiling it on first use."""
    name = _function_name(message)
    if name not in _NAMESPACE:
        exec(compile(source_of(message), f"<render {message.full_name}>", "exec"), _NAMESPACE)
    function: Members = _NAMESPACE[name]
    return function


def result_renderer(message: Descriptor, shape: int) -> Callable[[Message], bytes]:
    """Return the function that prints a response message as the `result` value, `{"data": ...}`.

    Raises `Unprintable` (at run time) for a value that JSON cannot carry unharmed.
    """
    data, name = "d", f"print_{_function_name(message)}"
    if shape == options_pb2.RESULT_SHAPE_DATA_FIELD:
        (only,) = fields_of(message)
        data, name = f"d.get({only.json!r})", f"{name}_data"
    if name not in _NAMESPACE:
        source = source_of(message, name, f"""b'{{"data":' + dumps({data}) + b'}}'""")
        exec(compile(source, f"<print {message.full_name}>", "exec"), _NAMESPACE)
    function: Callable[[Message], bytes] = _NAMESPACE[name]
    return function


def source_of(message: Descriptor, name: str | None = None, returned: str = "d") -> str:
    """Return the generated source of one message type's renderer; `returned` is what it makes of the members, `d`."""
    lines = [f"def {name or _function_name(message)}(m):"]
    pending: list[str] = []
    started = False

    def flush() -> None:
        nonlocal started
        if pending or not started:
            literal = "{" + ", ".join(pending) + "}"
            lines.append(f"    d.update({literal})" if started else f"    d = {literal}")
        pending.clear()
        started = True

    refuse_clashes(message)
    for field in fields_of(message):
        value = _value(field)
        if field.options.inline:
            flush()
            lines += _inlined(field)
        elif field.presence and not field.options.nullable:
            flush()
            lines += [f"    if m.HasField({field.name!r}):", f"        d[{field.json!r}] = {value}"]
        elif field.presence:
            pending.append(f"{field.json!r}: {value} if m.HasField({field.name!r}) else None")
        elif field.options.nullable:
            pending.append(f"{field.json!r}: {value} if m.{field.name} else None")
        else:
            pending.append(f"{field.json!r}: {value}")
    flush()
    lines.append(f"    return {returned}")
    return "\n".join(lines)


def _inlined(field: Field) -> list[str]:
    if field.is_map:
        return [f"    d.update({_value(field)})"]
    if field.repeated or field.kind not in {"message", "native"}:
        raise UnsupportedField(f"{field.descriptor.full_name}: only a message or a map can be printed inline")
    part = f"m.{field.name}"
    if field.kind == "native":
        part = f"native_members({part}, {field.descriptor.full_name!r})"
        # The typed members come first and win; the source's own members of the same name are left out.
        merge = f"d = {{**d, **{part}, **d}}"
    else:
        child = field.descriptor.message_type
        part = _call(child, part)
        merge = f"d = {{**d, **{part}, **d}}" if holds_native(child) else f"d.update({part})"
    return [f"    if m.HasField({field.name!r}):", f"        {merge}"]


def _value(field: Field) -> str:
    source = f"m.{field.name}"
    if field.entry is not None:
        one = _one(field.entry, "e")
        if field.options.order:
            return f"{{k: {one} for k, e in in_order({source}, m.{field.options.order})}}"
        # A map has no order of its own: sorted, equal messages print as equal bytes.
        return f"{{k: {one} for k, e in sorted({source}.items())}}"
    if field.options.format == options_pb2.FORMAT_TREE:
        return _tree(field, source)
    if field.repeated:
        plain = _one(field, "e")
        return f"list({source})" if plain == "e" else f"[{plain} for e in {source}]"
    return _one(field, source)


def _tree(field: Field, source: str) -> str:
    row = field.descriptor.message_type
    if not field.repeated or PARENT not in row.fields_by_name or not field.options.children:
        raise UnsupportedField(f"{field.descriptor.full_name}: a tree needs rows with a parent, and `children`")
    members_renderer(row)
    return f"nested({source}, {_function_name(row)}, {field.options.children!r}, {field.descriptor.full_name!r})"


def _one(field: Field, source: str) -> str:
    where = repr(field.descriptor.full_name)
    kind, options = field.kind, field.options
    if kind == "string":
        return f"cursor({source})" if options.format == options_pb2.FORMAT_CURSOR else source
    if kind == "integer" and field.descriptor.cpp_type in WIDE:
        return f"(v if {-SAFE} <= (v := {source}) <= {SAFE} else wide(v, {where}))"
    if kind == "number" and field.descriptor.cpp_type in REAL:
        # inf - inf and nan - nan are nan, which is true; every finite number gives 0.0.
        return f"(real(v, {where}) if (v := {source}) - v else v)"
    if kind == "enum":
        table = f"T_{field.descriptor.enum_type.full_name.replace('.', '_')}"
        _NAMESPACE[table] = literals_of(field.descriptor.enum_type)[0]
        return f"{table}.get({source})"
    if kind == "timestamp":
        seconds = options.format == options_pb2.FORMAT_UNIX_SECONDS
        return f"{source}.seconds" if seconds else f"rfc3339({source})"
    if kind == "native":
        return f"native({source})"
    if kind == "message":
        return _call(field.descriptor.message_type, source)
    return source


def _call(message: Descriptor, argument: str) -> str:
    members_renderer(message)
    return f"{_function_name(message)}({argument})"


def refuse_clashes(message: Descriptor) -> None:
    """Refuse a message that would print two members under one name. Members of a `oneof` never meet each other."""
    owners: dict[str, Field] = {}
    for field in fields_of(message):
        for name in printed_names(field):
            other = owners.setdefault(name, field)
            if other is not field and not _exclude_each_other(other, field):
                raise UnsupportedField(f"{message.full_name}: two members are named {name}")


def printed_names(field: Field) -> tuple[str, ...]:
    """Return the names that the field adds to the object it is printed in, those of native payloads and maps aside."""
    if not field.options.inline:
        return (field.json,)
    if field.kind != "message" or field.is_map:
        return ()
    return tuple(name for inner in fields_of(field.descriptor.message_type) for name in printed_names(inner))


def _exclude_each_other(one: Field, other: Field) -> bool:
    return one.choice is not None and one.choice == other.choice


def _function_name(message: Descriptor) -> str:
    name: str = message.full_name
    return "render_" + name.replace(".", "_")
