"""The syntax of metadata, as gRPC's HTTP/2 mapping has it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    Entries = tuple[tuple[str, str | bytes], ...]

_WANTED = "trailing metadata is a sequence of (text, text or bytes) tuples"
_legal_key = re.compile(r"[0-9a-z_.-]+").fullmatch
_legal_text = re.compile(r"[\x20-\x7e]*").fullmatch


def received(metadata: Iterable[tuple[str, str | bytes]] | None) -> Entries:
    """Return the metadata as the other side receives it: bytes under `-bin` keys, text under all others.

    Raises TypeError for entries that are not pairs of text and text or bytes, and ValueError for keys with other
    characters than `[0-9a-z_.-]` and for text outside of printable ASCII.
    """
    if not metadata:
        return ()
    entries: list[tuple[str, str | bytes]] = []
    for key, value in metadata:
        # Every call comes by here a few times: what both faces send with each is known at a glance.
        if key in _known_keys and value.__class__ is str and value.isascii() and value.isprintable():
            entries.append((key, value))
        else:
            entries.append(_received(key, value))
    return tuple(entries)


def check_types(metadata: object) -> None:
    """Raise TypeError unless the metadata is an iterable of (text, text or bytes) tuples; keys may be illegal still."""
    if isinstance(metadata, dict) or not hasattr(metadata, "__iter__"):
        raise TypeError(_WANTED)
    for entry in metadata:
        if not isinstance(entry, tuple) or len(entry) != 2:
            raise TypeError(_WANTED)
        if not isinstance(entry[0], str) or not isinstance(entry[1], str | bytes):
            raise TypeError(_WANTED)


# Keys found legal, of text values: both faces send the same few with every call.
_known_keys: set[str] = set()
_MOST_KNOWN = 256


def _received(key: str, value: str | bytes) -> tuple[str, str | bytes]:
    if not isinstance(key, str):
        raise TypeError(f"metadata keys are text, not {type(key).__name__}")
    if not _legal_key(key):
        raise ValueError(f"metadata key {key!r} is not made of 0-9 a-z _ . -")
    if key.endswith("-bin"):
        if not isinstance(value, bytes):
            raise TypeError(f"metadata {key} holds bytes, not {type(value).__name__}")
        return key, value
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if not isinstance(value, str):
        raise TypeError(f"metadata {key} holds text, not {type(value).__name__}")
    if not _legal_text(value):
        raise ValueError(f"metadata {key} holds more than printable ASCII; name it {key}-bin and give bytes")
    if len(_known_keys) < _MOST_KNOWN:
        _known_keys.add(key)
    return key, value
