"""JSON-RPC 2.0 request objects: what a body holds, before any operation is looked up (decisions 1.4, 1.6, 1.7)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from runtime.nesting import DEEPEST, nests_too_deeply
from transcoder.errors import Failure

MOST_ITEMS = 50
NULL = b"null"

_SPACE = b" \t\r\n"
_INTEGER = re.compile(rb"-?(?:0|[1-9][0-9]*)")
_ABSENT = msgspec.Raw(b"")
# Escapes in their order, so that a backslash that is escaped begins none: pairs of surrogates, halves of one, others.
_HALF = rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>" + _HALF + rb")|\\.", re.DOTALL
)
_MENDED = rb"\ufffd"


class _Envelope(msgspec.Struct):
    jsonrpc: Any = None
    method: Any = None
    params: msgspec.Raw = _ABSENT
    id: msgspec.Raw = _ABSENT


_DECODER = msgspec.json.Decoder(_Envelope)
_ARRAY: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Item:
    """One request object. `identity` is the id as it stood in the body, None for a notification."""

    method: str
    params: bytes | msgspec.Raw
    identity: bytes | None


class InvalidItem(Exception):
    """A request object that cannot be executed, with the id to answer under."""

    def __init__(self, failure: Failure, identity: bytes = NULL) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.identity = identity


def outline(body: bytes) -> bytes | list[msgspec.Raw]:
    """Return the body itself when it is one request object, or the items of a batch, unparsed.

    Raises Failure (400) for what is answered by one error object: text that is not UTF-8 or too deep, an array that is
    not JSON, an empty batch, a batch of more than 50 items. A single object is parsed later, by `read_item`.
    """
    if not body.isascii():
        try:
            str(body, "utf-8")
        except UnicodeDecodeError as error:
            raise _parse_error(f"the body is not UTF-8: {error.reason} at byte {error.start}") from None
    if nests_too_deeply(body):
        raise _parse_error(f"the body is nested more than {DEEPEST} levels deep")
    if not body[:1].strip(_SPACE) and not body.strip(_SPACE):
        raise _parse_error("the body is empty; send a JSON-RPC 2.0 request object")
    if body.lstrip(_SPACE)[:1] != b"[":
        return body
    try:
        items = _ARRAY.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        found = _around_halves(body)
        if found is None:
            raise _parse_error(f"the body is not JSON: {error}") from None
        items = found
    if not items:
        raise Failure(400, "INVALID_REQUEST", "the batch is empty; send 1 to 50 request objects")
    if len(items) > MOST_ITEMS:
        message = f"the batch holds {len(items)} items, at most {MOST_ITEMS} are allowed; nothing was executed"
        raise Failure(400, "BATCH_TOO_LARGE", message)
    return items


def read_item(raw: bytes | msgspec.Raw) -> Item:
    """Return one request object of a body that `outline` passed. Raises InvalidItem for anything else."""
    try:
        envelope = _DECODER.decode(raw)
    except msgspec.ValidationError:
        message = "a request must be an object with jsonrpc, method, params and id"
        raise InvalidItem(Failure(400, "INVALID_REQUEST", message)) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unreadable(bytes(raw), error) from None
    identity = _identity(envelope.id)
    if envelope.jsonrpc != "2.0":
        raise _invalid('"jsonrpc" must be the text "2.0"', identity)
    if not isinstance(envelope.method, str):
        raise _invalid('"method" must be a text, the name of an operation', identity)
    return Item(envelope.method, envelope.params, identity)


def identity_of(raw: bytes | msgspec.Raw) -> bytes:
    """Return the id that an error for this request object is answered under, null where it has no usable one."""
    try:
        return read_item(raw).identity or NULL
    except InvalidItem as invalid:
        return invalid.identity


def _identity(raw: msgspec.Raw) -> bytes | None:
    text = bytes(raw)
    if not text:
        return None
    # Strings were parsed with the body; integers of any size are echoed without ever becoming numbers.
    if text[:1] == b'"' or text == NULL or _INTEGER.fullmatch(text):
        return text
    raise _invalid('"id" must be an integer, a text or null', None)


def _around_halves(body: bytes) -> list[msgspec.Raw] | None:
    """Return the items of an array that is no JSON only because of halves of surrogate pairs, with these; else None.

    What holds one cannot be read, and fails by itself: the other items are none the worse.
    """
    mended = _mended(body)
    try:
        items = _ARRAY.decode(mended)
    except (msgspec.DecodeError, RecursionError):
        return None
    place, found = 0, []
    for item in items:
        text = bytes(item)
        # Between items there are commas and spaces alone.
        place = mended.index(text, place)
        found.append(msgspec.Raw(body[place : place + len(text)]))
        place += len(text)
    return found


def _unreadable(text: bytes, error: Exception) -> InvalidItem:
    """Return the failure of a request object that is no JSON, with its id where only a half of a pair is in the way."""
    mended = _mended(text)
    if mended is not text:
        try:
            identity = _identity(_DECODER.decode(mended).id) or NULL
        except (msgspec.DecodeError, RecursionError, InvalidItem):
            pass
        else:
            message = "the request holds half of a surrogate pair (\\ud800 to \\udfff) alone; write both or none"
            return InvalidItem(_parse_error(message), NULL if _MENDED in identity else identity)
    return InvalidItem(_parse_error(f"the body is not JSON: {error}"))


def _mended(text: bytes) -> bytes:
    """Return a text of the same length in which every half of a surrogate pair is the replacement character."""
    if re.search(_HALF, text) is None:
        return text
    return _ESCAPES.sub(lambda match: match[0] if match["half"] is None else _MENDED, text)


def _invalid(message: str, identity: bytes | None) -> InvalidItem:
    return InvalidItem(Failure(400, "INVALID_REQUEST", message), identity or NULL)


def _parse_error(message: str) -> Failure:
    return Failure(400, "PARSE_ERROR", message)
