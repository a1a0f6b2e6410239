"""How single values are printed; the generated renderers call these where a plain attribute does not do."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from transcoder.fields import SAFE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from google.protobuf.timestamp_pb2 import Timestamp
    from waypost.v1.common_pb2 import NativeJson

_EPOCH = datetime(1970, 1, 1)  # naive on purpose: isoformat then prints no offset, and `Z` is appended
_WHOLE = re.compile(r"(?:0|[1-9][0-9]{0,15})")
_MEMBERS: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Unprintable(Exception):
    """An answer holds a value that JSON cannot carry unharmed: a defect of whoever made the message."""


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
