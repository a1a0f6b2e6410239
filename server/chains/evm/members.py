"""Members of a node's JSON objects: typed ones by a table, all others in the node's own bytes.

A member is typed where its meaning is the same on every chain; all others go to `extra`, so that fields of layer-2
chains, blobs or forks to come are never lost. Those of them that are quantities are written as decimals
(quantities.toml), the rest stays untouched.
"""

from __future__ import annotations

import tomllib
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from server.checksum import checksum_address
from server.contracts.quantity import json_quantity, quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Members = dict[str, msgspec.Raw]
    Convert = Callable[[msgspec.Raw], Any]
    MemberTable = Mapping[str, tuple[str, Convert]]
    # How untyped members are written, by name: the JSON of a value for the node's JSON of it.
    Forms = Mapping[str, Callable[[bytes], bytes]]

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OBJECTS = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_NULL = b"null"
_QUANTITIES = Path(__file__).with_name("quantities.toml")
# The longest quantity, 32 bytes, in quotes; longer text is data.
_LONGEST = len('"0x"') + 64
# What every JSON reader takes for the same integer.
_MOST_INTEGER = (1 << 53) - 1

text = msgspec.json.Decoder(str).decode
texts = msgspec.json.Decoder(list[str]).decode
items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def number(raw: msgspec.Raw) -> int:
    """Return the number of a hex quantity."""
    return quantity(text(raw))


def decimal(raw: msgspec.Raw) -> str:
    """Return a hex quantity as decimal text."""
    return str(number(raw))


def address(raw: msgspec.Raw) -> str:
    """Return an address with its checksum."""
    return checksum_address(text(raw))


def read_members(result: bytes) -> Members:
    """Return the members of a JSON object.

    Raises:
        ValueError: the JSON is no object.
    """
    try:
        return _OBJECT.decode(result)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError("not a JSON object") from error


def is_null(raw: msgspec.Raw | None) -> bool:
    """Return whether a member is absent or null."""
    return raw is None or bytes(raw) == _NULL


@cache
def load_forms(document: str) -> Forms:
    """Return how the untyped quantities of a document (a table of quantities.toml) are written."""
    return _forms_of(tomllib.loads(_QUANTITIES.read_text(encoding="utf-8"))[document])


def convert_members(members: Members, table: MemberTable, forms: Forms) -> tuple[dict[str, Any], bytes]:
    """Return typed members by field name, and a JSON object of the others; typed ones that are null count as absent.

    Of the others those that have a form are written in it.

    Raises:
        ValueError: a typed member is not of its type.
    """
    fields: dict[str, Any] = {}
    rest: list[bytes] = []
    try:
        for name, raw in members.items():
            entry = table.get(name)
            if entry is None:
                form = forms.get(name)
                value = bytes(raw) if form is None else form(bytes(raw))
                rest.append(msgspec.json.encode(name) + b":" + value)
            elif bytes(raw) != _NULL:
                fields[entry[0]] = entry[1](raw)
    except msgspec.MsgspecError as error:
        raise ValueError("a member is not of its type") from error
    return fields, b"{" + b",".join(rest) + b"}" if rest else b""


def _forms_of(table: dict[str, Any]) -> Forms:
    forms: dict[str, Callable[[bytes], bytes]] = dict.fromkeys(table.get("text", ()), _as_text)
    forms |= dict.fromkeys(table.get("integer", ()), _as_integer)
    for name, inner in table.get("items", {}).items():
        forms[name] = partial(_each, _forms_of(inner))
    return forms


def _as_text(raw: bytes) -> bytes:
    number = _read_quantity(raw)
    return raw if number is None else b'"%d"' % number


def _as_integer(raw: bytes) -> bytes:
    number = _read_quantity(raw)
    return raw if number is None or number > _MOST_INTEGER else b"%d" % number


def _read_quantity(raw: bytes) -> int | None:
    """Return the number of a JSON hex quantity, None for anything else."""
    if len(raw) > _LONGEST:
        return None
    try:
        return json_quantity(raw)
    except ValueError:
        return None


def _each(forms: Forms, raw: bytes) -> bytes:
    """Return a list of objects with their members in their forms; what is no such list as it is."""
    try:
        rows = _OBJECTS.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return raw
    return b"[" + b",".join(convert_members(row, {}, forms)[1] or b"{}" for row in rows) + b"]"
