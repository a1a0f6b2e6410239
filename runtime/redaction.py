"""Removes secrets from texts and values: URLs, API keys, bearer tokens.

Endpoint URLs hold their providers' keys and the JSON face's paths hold callers' keys, so nothing that looks like
either leaves the process in a log, an error, a metric or a trace (design section 5).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

URL = "<url>"
KEY = "<key>"

# Order matters: a URL swallows the key in its path.
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[a-z][a-z0-9+.-]{0,30}(?:://|%3a%2f%2f)[^\s'\"<>`]+", re.IGNORECASE), URL),
    # aiohttp names the host of a connection that failed, asyncio its socket address.
    (re.compile(r"(?<=\bhost=')[^']*"), URL),
    (re.compile(r"(?<=\bhost )[^\s:]+:\d+|\('[^'\s]+', \d+(?:, \d+, \d+)?\)"), URL),
    (re.compile(r"/[A-Za-z0-9_%.~-]+/v1(?![0-9A-Za-z_])"), f"/{KEY}/v1"),
    (re.compile(r"wp_[A-Za-z0-9_-]{6,}"), KEY),
    (re.compile(r"\b(bearer|basic)\s+(?!<key>)[A-Za-z0-9._~+/=-]+", re.IGNORECASE), rf"\1 {KEY}"),
    (
        re.compile(
            r"(?i)(\b(?:x-api-key|x-waypost-credential|x-waypost-principal|authorization|api[_-]?key|password|credential)"
            r"['\"]?\s*[:=,]\s*['\"]?)(?!<|bearer|basic)[^\s'\",;&)\]}]+"
        ),
        rf"\1{KEY}",
    ),
)

# Member, header and metadata names whose value is a secret whatever it looks like.
_SECRET_NAME = re.compile(
    r"(?i)(^|[_-])(key|keys|token|secret|password|passwd|credential|credentials|authorization|cookie|principal)$|api[_-]?key"
)

_DEPTH = 8
# Looking through a character takes 0.4 us: a megabyte out of somebody's exception would hold everybody up.
_LONGEST = 64 * 1024
_BLANKS = " \n\t"


def redact_text(text: str) -> str:
    """Return the text with every URL as `<url>` and every key, token and path key as `<key>`; a very long one cut."""
    left_out = 0
    if len(text) > _LONGEST:
        # Between words, so that no half of a key stays behind.
        start = text[:_LONGEST]
        end = max(map(start.rfind, _BLANKS)) + 1
        left_out, text = len(text) - end, start[:end]
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return f"{text}... ({left_out} more characters)" if left_out else text


def redact(value: Any, depth: int = _DEPTH) -> Any:
    """Return the value with `redact_text` applied to every text in it, keys of mappings included.

    Numbers, booleans and None pass unchanged; mappings become dicts, sequences and sets lists; bytes, exceptions and
    other objects become their redacted text. Nesting beyond eight levels is cut off as `...`.
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return redact_text(bytes(value).decode("utf-8", "replace"))
    if depth == 0:
        return "..."
    if isinstance(value, Mapping):
        return {redact_text(str(key)): redact_member(str(key), member, depth - 1) for key, member in value.items()}
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return [redact_text(value[0]), redact_member(value[0], value[1], depth - 1)]
    if isinstance(value, list | tuple | set | frozenset):
        return [redact(member, depth - 1) for member in value]
    return redact_text(describe(value))


def redact_member(name: str, value: Any, depth: int = _DEPTH) -> Any:
    """Return a named value redacted; wholly hidden when the name says that it is a secret."""
    if isinstance(value, str | bytes) and _SECRET_NAME.search(name):
        return KEY
    return redact(value, depth)


def describe(value: object) -> str:
    """Return an object's text; one whose text cannot be had is named by its type."""
    try:
        return f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else str(value)
    except Exception:
        return f"<{type(value).__name__}>"
