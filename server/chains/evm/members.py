"""Members of a node's JSON objects: typed ones by a table, all others untouched in the node's own bytes.

A member is typed where its meaning is the same on every chain; all others go to `extra`, so that fields of layer-2
chains, blobs or forks to come are never lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from server.chains.evm.quantity import quantity
from server.checksum import checksum_address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Members = dict[str, msgspec.Raw]
    Convert = Callable[[msgspec.Raw], Any]
    MemberTable = Mapping[str, tuple[str, Convert]]

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NULL = b"null"

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


def convert_members(members: Members, table: MemberTable) -> tuple[dict[str, Any], bytes]:
    """Return typed members by field name, and a JSON object of the others; typed ones that are null count as absent.

    Raises:
        ValueError: a typed member is not of its type.
    """
    fields: dict[str, Any] = {}
    rest: list[bytes] = []
    try:
        for name, raw in members.items():
            entry = table.get(name)
            if entry is None:
                rest.append(msgspec.json.encode(name) + b":" + bytes(raw))
            elif bytes(raw) != _NULL:
                fields[entry[0]] = entry[1](raw)
    except msgspec.MsgspecError as error:
        raise ValueError("a member is not of its type") from error
    return fields, b"{" + b",".join(rest) + b"}" if rest else b""
