"""A node's own texts for callers who asked that node: cut, and without the addresses and keys that may stand in them.

Nodes behind proxies quote what they are configured with: URLs, hosts, addresses of machines, keys. What is known of the
endpoint itself (its host, the keys in its URL and headers) is taken out wherever it stands, the rest by its form.
"""

from __future__ import annotations

import ipaddress
import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from runtime.logs import redact
from server.errors import NodeWords
from server.upstream.jsonrpc import LONGEST_WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from server.upstream.jsonrpc import NodeError

MAX_MESSAGE_CHARACTERS = 500
"""Longest message that is passed on."""

MAX_DATA_CHARACTERS = 1000
"""Longest `data`, as JSON, that is passed on whole; of a longer one its beginning is, as text."""

_MOST_MESSAGE_BYTES = 800
_HEX_TEXT = re.compile(rb'"0x[0-9A-Fa-f]*"')
# Between words, as far as there are any: `redact` looks at so much at once.
_PARTS = re.compile(r".{1,32768}(?:\s|$)|.{1,65536}", re.DOTALL)
_HIDDEN = "(address)"
_CUT = "…"
# What is cut is read so far, so that nothing that has to be hidden is cut in two before it is looked at.
_MOST_READ = 4 * MAX_DATA_CHARACTERS
# As long as what may stand cut in two at the end of it.
_DOUBTFUL_END = 256

_NUMBERED = re.compile(
    r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?!\d)(?::\d{1,5})?|(?<![\w:.])[0-9A-Fa-f]*(?::[0-9A-Fa-f.]*){2,}(?!\w)"
    r"|\[[0-9A-Fa-f:.]{2,45}\](?::\d{1,5})?"
)
_HOST = re.compile(r"(?<![\w.-])(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)+|localhost):\d{2,5}(?!\w)", re.IGNORECASE)
_LOOKED_UP = re.compile(r"(?<=\blookup )[^\s:]+|(?<=\bno such host )[^\s:]+", re.IGNORECASE)
# A part of a URL that is a key and no plain word.
_KEY = re.compile(r"(?=.*\d).{12,}|.{24,}", re.DOTALL)
_SHORTEST_HOST = 4


def secrets_of(urls: Sequence[str], headers: Mapping[str, str]) -> re.Pattern[str] | None:
    """Return the pattern of an endpoint's hosts and the keys in its URLs and headers; None where it has none."""
    found = sorted({text for url in urls for text in _secrets(url, headers) if text}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, found)), re.IGNORECASE) if found else None


def quote_node(error: NodeError, secrets: re.Pattern[str] | None) -> NodeWords:
    """Return a node's error object as callers may read it, cut; its `whole` is that of `quote_whole`."""
    message = _cut(_clean(error.message, secrets), MAX_MESSAGE_CHARACTERS)
    message = message.encode("utf-8", "replace")[:_MOST_MESSAGE_BYTES].decode("utf-8", "ignore")
    data = None if error.data is None else _quote_data(error.data, secrets)
    size = len(error.written) + len(error.data or b"")
    return NodeWords(error.code, message, data, whole=partial(quote_whole, error, secrets), size=size)


def quote_whole(error: NodeError, secrets: re.Pattern[str] | None) -> NodeWords:
    """Return a node's error object as callers may read it, 1 MiB of each member; long texts take a while.

    Data that are a hex text, or need no cleaning, stay as the node wrote them.
    """
    is_rest = error.status != 0
    message = error.message if is_rest or not error.written else _whole_text(error.written)
    message = _cut(_hide(_redact_whole(message), secrets), LONGEST_WHOLE // 4)
    data = error.written if is_rest else error.data
    if data is not None and _HEX_TEXT.fullmatch(data) is None:
        try:
            value = json.loads(data)
            cleaned = _clean_all(_redact_all(value), secrets)
        except (ValueError, RecursionError):
            cleaned = value = None
        if cleaned != value:
            data = json.dumps(cleaned, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
        elif value is None:
            data = None
    data = None if data is None else shorten_data(data, LONGEST_WHOLE)
    return NodeWords(error.code, message, data, status=error.status)


def shorten_data(data: bytes, most: int) -> bytes:
    """Return the JSON of a `data` in about so many bytes: of longer ones the beginning, as text."""
    if len(data) <= most:
        return data
    # Half as many: quotes and the like take two bytes once they stand in a text.
    beginning = data[: max(most // 2, 0)].decode("utf-8", "ignore").removeprefix('"')
    return json.dumps(beginning + _CUT, ensure_ascii=False).encode()


def _secrets(url: str, headers: Mapping[str, str]) -> Iterator[str]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if len(host) >= _SHORTEST_HOST:
        yield host
    for text in (parts.username, parts.password):
        yield unquote(text or "")
    written = re.split(r"[/?&=#]", f"{parts.path}?{parts.query}")
    for text in (*written, *map(unquote, written), *(word for value in headers.values() for word in value.split())):
        if _KEY.fullmatch(text):
            yield text


def _quote_data(data: bytes, secrets: re.Pattern[str] | None) -> bytes:
    """Return the JSON of an error's `data` to be passed on."""
    if len(data) <= _MOST_READ:
        try:
            value = _clean_all(redact(json.loads(data)), secrets)
            text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace").decode()
        except (ValueError, RecursionError):
            text = ""
        if text and len(text) <= MAX_DATA_CHARACTERS:
            return text.encode()
    beginning = data[:_MOST_READ].decode("utf-8", "ignore")
    cleaned = _clean(beginning.removeprefix('"'), secrets)
    if len(data) > _MOST_READ:
        cleaned = cleaned[:-_DOUBTFUL_END]
    return json.dumps(_cut(cleaned + _CUT, MAX_DATA_CHARACTERS), ensure_ascii=False).encode("utf-8", "replace")


def _clean_all(value: Any, secrets: re.Pattern[str] | None) -> Any:
    if isinstance(value, str):
        return _hide(value, secrets)
    if isinstance(value, list):
        return [_clean_all(element, secrets) for element in value]
    if isinstance(value, dict):
        return {_hide(name, secrets): _clean_all(member, secrets) for name, member in value.items()}
    return value


def _whole_text(written: bytes) -> str:
    try:
        value = json.loads(written)
    except (ValueError, RecursionError):
        return ""
    if value is None:
        return ""
    return value if isinstance(value, str) else written.decode("utf-8", "replace")


def _redact_whole(text: str) -> str:
    """Return a text of any length without URLs and keys."""
    return "".join(str(redact(part)) for part in _PARTS.findall(text))


def _redact_all(value: Any) -> Any:
    if isinstance(value, str):
        return _redact_whole(value)
    if isinstance(value, list):
        return [_redact_all(element) for element in value]
    if isinstance(value, dict):
        return {_redact_whole(name): _redact_member(name, member) for name, member in value.items()}
    return value


def _redact_member(name: str, value: Any) -> Any:
    # Wholly hidden where the name is that of a secret.
    hidden = redact({name: ""}).popitem()[1] if isinstance(value, str) else ""
    return hidden or _redact_all(value)


def _clean(text: str, secrets: re.Pattern[str] | None) -> str:
    return _hide(str(redact(text)), secrets)


def _hide(text: str, secrets: re.Pattern[str] | None) -> str:
    if secrets is not None:
        text = secrets.sub(_HIDDEN, text)
    text = _LOOKED_UP.sub(_HIDDEN, _HOST.sub(_HIDDEN, text))
    return _NUMBERED.sub(_hide_numbered, text)


def _hide_numbered(match: re.Match[str]) -> str:
    """Return what stands for the address of a machine; times and the like stay."""
    text = match[0]
    bare = text[1 : text.index("]")] if text.startswith("[") else text
    if not bare.strip(":"):
        return text
    for written in (bare, bare.rstrip(":."), bare.partition(":")[0]):
        try:
            ipaddress.ip_address(written)
        except ValueError:
            continue
        return _HIDDEN + text[len(text.rstrip(":")) :]
    return text


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + _CUT
