"""JSON-RPC 2.0 as nodes implement it: writing requests, and reading answers without touching the bytes of a result.

Results stay the node's own bytes (`msgspec.Raw`): integers of any size, key order and unknown members survive. Nodes
bend the standard, so reading is lenient where nothing can be mixed up (an id echoed as text, `"error": null`, an error
object without a code) and strict where it can (an unknown id answers no request).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from server.upstream.failures import Failure, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_MESSAGE_CHARACTERS = 500
# Of a longer message only this much is looked at: enough for what is passed on, long addresses in it left out.
_READ_CHARACTERS = 8 * _MESSAGE_CHARACTERS
# Schemes are bounded: a search for longer ones costs the square of a text like "a.a.a.a", which contracts can
# return.
_URL = re.compile(r"[a-z][a-z0-9+.-]{0,30}://\S+", re.IGNORECASE)


# An escaped character takes six bytes.
_READ_BYTES = 6 * _READ_CHARACTERS
# A character cut in two, or a pair of escapes, takes fewer.
_LONGEST_CHARACTER = 12
_NULL = b"null"
LONGEST_WHOLE = 1024 * 1024
"""Most bytes of a member of an error that is passed on whole."""


class _ErrorObject(msgspec.Struct, gc=False):
    code: msgspec.Raw = msgspec.Raw()
    message: msgspec.Raw = msgspec.Raw()
    data: msgspec.Raw = msgspec.Raw()


class _Envelope(msgspec.Struct):
    id: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()
    error: _ErrorObject | None = None


class _OddEnvelope(msgspec.Struct):
    """One whose error is no object."""

    id: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


@dataclass(frozen=True, slots=True)
class NodeError:
    """A JSON-RPC error object: integer code or None, the node's text, the JSON of `data` or None.

    `message` is cut and has no addresses; `written` is the JSON of the text as it came, empty where that is too long.
    Of a REST endpoint's refusal that is the body, and `status` is its HTTP status.
    """

    code: int | None
    message: str
    data: bytes | None
    written: bytes = field(default=b"", compare=False, repr=False)
    status: int = field(default=0, compare=False)


Outcome = bytes | NodeError | Failure
"""The outcome of one request: the JSON of its result, the node's error, or why there is no answer."""

_encoder = msgspec.json.Encoder()
# Answers may be 32 MiB long: one pass over them finds all their parts.
_envelope = msgspec.json.Decoder(_Envelope)
_envelopes = msgspec.json.Decoder(list[_Envelope])
_odd_envelope = msgspec.json.Decoder(_OddEnvelope)
_odd_envelopes = msgspec.json.Decoder(list[_OddEnvelope])
_error_object = msgspec.json.Decoder(_ErrorObject)


def encode_call(method: str, params: Sequence[object]) -> bytes:
    """Return the JSON of a request from its method on, to be completed by `encode_request` with an id."""
    return b'"method":%b,"params":%b}' % (_encoder.encode(method), _encoder.encode(params))


def encode_request(number: int, call: bytes) -> bytes:
    """Return one request object."""
    return b'{"jsonrpc":"2.0","id":%d,%b' % (number, call)


def decode_single(body: bytes, number: int) -> Outcome:
    """Return the outcome of request `number`, sent alone.

    An error with another id or none is still this request's: nothing else was asked on that exchange. A result is
    believed only under its own id.
    """
    if not is_utf8(body):
        return Failure(Kind.NOT_JSON_RPC, "an answer that is not UTF-8")
    try:
        try:
            envelope: _Envelope | _OddEnvelope = _envelope.decode(body)
        except msgspec.ValidationError:
            envelope = _odd_envelope.decode(body)
    except RecursionError:
        return _decode_deep(body, number)
    except msgspec.DecodeError:
        return _describe_body(body)
    if envelope.error is not None and (error := _error_of(envelope.error)) is not None:
        return error
    if not envelope.result:
        return Failure(Kind.NOT_JSON_RPC, "an answer with neither result nor error")
    if bytes(envelope.id) != b"%d" % number and _number(envelope.id) != number:
        return Failure(Kind.WRONG_ID, "the answer to another request")
    return bytes(envelope.result)


def decode_batch(body: bytes, numbers: Sequence[int]) -> dict[int, Outcome] | NodeError | Failure:
    """Return the outcomes of a batch by request number; numbers without an answer are absent.

    A single error object instead of a list is returned as such: the node refused the batch as a whole. A number that
    is answered twice has no believable answer.
    """
    if not is_utf8(body):
        return Failure(Kind.NOT_JSON_RPC, "an answer that is not UTF-8")
    try:
        envelopes = _open_all(body)
    except (msgspec.DecodeError, RecursionError):
        return _decode_refusal(body)
    asked = set(numbers)
    outcomes: dict[int, Outcome] = {}
    for envelope in envelopes:
        number = _number(envelope.id)
        if number is None or number not in asked:
            continue
        if number in outcomes:
            outcomes[number] = Failure(Kind.WRONG_ID, "two answers to one request")
        elif envelope.error is not None and (error := _error_of(envelope.error)) is not None:
            outcomes[number] = error
        elif envelope.result:
            outcomes[number] = bytes(envelope.result)
        else:
            outcomes[number] = Failure(Kind.NOT_JSON_RPC, "an answer with neither result nor error")
    if not outcomes and numbers:
        if len(envelopes) == 1 and (error := _error_of(envelopes[0].error)) is not None:
            return error
        kind = Kind.WRONG_ID if envelopes else Kind.MISSING
        return Failure(kind, "the answers to other requests" if envelopes else "an empty batch")
    return outcomes


def _open(body: bytes) -> _Envelope | _OddEnvelope:
    try:
        return _envelope.decode(body)
    except msgspec.ValidationError:
        return _odd_envelope.decode(body)


def _open_all(body: bytes) -> Sequence[_Envelope | _OddEnvelope]:
    try:
        return _envelopes.decode(body)
    except msgspec.ValidationError:
        return _odd_envelopes.decode(body)


def _error_of(error: _ErrorObject | msgspec.Raw | None) -> NodeError | None:
    """Return an error member, whatever shape the node gave it; None where it has none."""
    if error is None:
        return None
    if isinstance(error, msgspec.Raw):
        # An object would have been read as one, unless another answer of the batch has an error of another shape.
        text = error
        if not _is_present(text):
            return None
        try:
            error = _error_object.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return NodeError(None, _text(text), None)
    data = bytes(error.data) if _is_present(error.data) else None
    return NodeError(_number(error.code), _text(error.message), data, _written(error.message))


def _decode_deep(body: bytes, number: int) -> Outcome:
    """Return the outcome of a request whose answer is nested more deeply than the parser goes."""
    try:
        members = split_members(body)
    except ValueError:
        return _describe_body(body)
    if _number(msgspec.Raw(members.get("id", b""))) != number or "result" not in members:
        return _describe_body(body)
    return members["result"]


def _decode_refusal(body: bytes) -> NodeError | Failure:
    try:
        envelope = _open(body)
    except (msgspec.DecodeError, RecursionError):
        return _describe_body(body)
    error = _error_of(envelope.error)
    return Failure(Kind.NOT_JSON_RPC, "one object instead of a batch") if error is None else error


def _describe_body(body: bytes) -> Failure:
    start = body[:64].lstrip()
    if not start:
        return Failure(Kind.NOT_JSON_RPC, "an empty answer")
    if start.startswith(b"<"):
        return Failure(Kind.NOT_JSON_RPC, "a web page instead of an answer")
    if start[:1] in b"{[":
        return Failure(Kind.NOT_JSON_RPC, "a damaged or cut-off answer")
    return Failure(Kind.NOT_JSON_RPC, "not a JSON-RPC answer")


def _is_present(raw: msgspec.Raw) -> bool:
    return len(raw) > len(_NULL) or (bool(raw) and bytes(raw) != _NULL)


def is_utf8(body: bytes) -> bool:
    """Return whether the body of an answer is UTF-8: parsers look at no texts that they pass over."""
    if body.isascii():
        return True
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _written(message: msgspec.Raw) -> bytes:
    """Return the JSON of a message that may be passed on whole, empty where it is too long for that."""
    return bytes(message) if len(message) <= LONGEST_WHOLE else b""


def _number(raw: msgspec.Raw) -> int | None:
    text = bytes(raw).strip(b'"')
    digits = text.removeprefix(b"-")
    if not digits.isdigit() or len(digits) > 18:
        return None
    return int(text)


def _text(raw: msgspec.Raw) -> str:
    """Return a message, as much of it as is passed on."""
    if not _is_present(raw):
        return ""
    if len(raw) > _READ_BYTES:
        return describe_text(_beginning(bytes(memoryview(raw)[:_READ_BYTES])))
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return ""
    return describe_text(value if isinstance(value, str) else bytes(raw).decode(errors="replace"))


def _beginning(cut: bytes) -> str:
    """Return the text of a JSON value that is cut off somewhere."""
    if not cut.startswith(b'"'):
        return cut.decode(errors="ignore")
    for end in range(len(cut), len(cut) - _LONGEST_CHARACTER, -1):
        try:
            return msgspec.json.decode(cut[:end] + b'"', type=str)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
    return ""


def describe_text(text: str) -> str:
    """Return a node's own text, cut, without the addresses (and keys) that nodes behind proxies quote."""
    return _URL.sub("(address)", text[:_READ_CHARACTERS])[:_MESSAGE_CHARACTERS]


# A string that does not end reaches to the end of the text. If it were none, the search would start anew at every
# quote in it.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
# Twice of what 1024 calls come to, two levels each: a text of brackets alone is rejected early.
_DEEPEST = 4096
_COLON = re.compile(rb"\s*:\s*")


def tokens(text: bytes) -> Iterator[re.Match[bytes]]:
    """Return the strings and brackets of a JSON text in their order."""
    return _TOKEN.finditer(text)


def split_members(text: bytes) -> dict[str, bytes]:
    """Return the members of a JSON object by name, each value in its own bytes, however deep they are.

    Raises:
        ValueError: the text is no object, nests deeper than traces do, or its brackets do not match.
    """
    members: dict[str, bytes] = {}
    open_brackets: list[bytes] = []
    name, start = "", -1
    for token in tokens(text):
        mark = token[0]
        if mark in (b"{", b"["):
            open_brackets.append(mark)
            if len(open_brackets) > _DEEPEST:
                raise ValueError("nested more deeply than any trace")
        elif mark in (b"}", b"]"):
            if not open_brackets or open_brackets.pop() != (b"{" if mark == b"}" else b"["):
                raise ValueError("brackets that do not match")
            if not open_brackets:
                if mark != b"}" or text[token.end() :].strip():
                    raise ValueError("not one object")
                if start >= 0:
                    members[name] = text[start : token.start()].strip()
                return members
        elif len(open_brackets) == 1 and (colon := _COLON.match(text, token.end())):
            if start >= 0:
                members[name] = text[start : token.start()].strip().removesuffix(b",").strip()
            name, start = mark[1:-1].decode(), colon.end()
    raise ValueError("an object that does not end")
