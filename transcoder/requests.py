"""Request bodies and the JSON-RPC 2.0 request objects in them (decisions 1.4, 1.6, 1.7).

Bodies are read within bounds of size, time and number, or not at all; request objects before any operation is looked
up.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import HttpVersion11, hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from runtime.bounds import DEEPEST, BadCodingError, TooLongError, decoded, nests_too_deeply
from transcoder.errors import Failure

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from runtime.fair_share import FairShare


SMALL = 64 * 1024
"""Most bytes of a body that is read of a caller without a key, and of a request that is refused."""
SOON = 0.1
"""How many seconds after the headers the body of a refused request may arrive, so that its id is echoed."""
GRACE = 5.0
"""Seconds from which on the least rate counts."""

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class BodyError(Exception):
    """A body that cannot be had: the failure and the HTTP status that answer it."""

    def __init__(self, failure: Failure, status: int) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.status = status


def too_busy(requests: FairShare, owner: str) -> Failure:
    """Return why the owner's request has no place among those in progress: 429 over its own part, else 503."""
    if requests.is_over_part(owner):
        message = (
            f"this key has {requests.held(owner)} of the gateway's {requests.total} requests in progress, its part"
            " while others have some too; wait for answers first"
        )
        return Failure(429, "RATE_LIMITED", message, retry_after_ms=250)
    message = f"the gateway already has {requests.total} requests in progress; try again shortly"
    return Failure(503, "UPSTREAM_UNAVAILABLE", message, retry_after_ms=1000)


class OpenBodies:
    """Bodies that are still arriving: how many there may be, of one owner and in all."""

    def __init__(self, most_per_owner: int, most: int) -> None:
        self._most_per_owner = most_per_owner
        self._most = most
        self._by_owner: defaultdict[str, int] = defaultdict(int)
        self.total = 0

    def enter(self, owner: str) -> AbstractContextManager[None]:
        """Return what counts one body of the owner while it is open. Raises Failure: 429 for the owner, 503 for all."""
        if self.total >= self._most:
            message = f"{self._most} other requests are still arriving; try again shortly"
            raise Failure(503, "UPSTREAM_UNAVAILABLE", message, retry_after_ms=1000)
        if self._by_owner[owner] >= self._most_per_owner:
            message = f"{self._most_per_owner} of your requests are still arriving; send each body with its headers"
            raise Failure(429, "RATE_LIMITED", message, retry_after_ms=1000)
        return _OpenBody(self, self._by_owner, owner)


class _OpenBody:
    def __init__(self, bodies: OpenBodies, by_owner: defaultdict[str, int], owner: str) -> None:
        self._bodies, self._by_owner, self._owner = bodies, by_owner, owner

    def __enter__(self) -> None:
        self._bodies.total += 1
        self._by_owner[self._owner] += 1

    def __exit__(self, *_: object) -> None:
        self._bodies.total -= 1
        self._by_owner[self._owner] -= 1
        if not self._by_owner[self._owner]:
            del self._by_owner[self._owner]


class BodyReader:
    """Reads bodies of at most `limit` bytes, within `timeout` seconds and at `min_rate` bytes a second at least."""

    def __init__(self, limit: int, timeout: float, min_rate: int, bodies: OpenBodies) -> None:
        self._limit = limit
        self._timeout = timeout
        self._min_rate = min_rate
        self._bodies = bodies

    async def items(
        self, request: web.BaseRequest, owner: str, began: float, most: int
    ) -> tuple[bytes | list[msgspec.Raw], BodyError | None, bool]:
        """Return what `outline` does of the body with `most` items, or what is wrong with it for the whole request.

        And whether the body came soon after the headers, at the loop's time `began`: only then a refusal has its id.
        Raises Failure where too many bodies are arriving.
        """
        payload = request.content
        soon = payload.is_eof()
        try:
            body = await self.read(request, owner)
        except BodyError as broken:
            return b"", broken, soon
        soon = (soon or is_soon(began)) and payload.total_bytes <= SMALL
        try:
            return outline(body, most), None, soon
        except Failure as failure:
            return b"", BodyError(failure, 200), soon

    async def read(self, request: web.BaseRequest, owner: str) -> bytes:
        """Return the whole body without its content encoding.

        Raises BodyError for one that is too large, too slow or broken, and Failure where too many are arriving; nothing
        more of such a body is read.
        """
        limit, payload = self._limit, request.content
        try:
            if payload.is_eof():
                if payload.total_bytes > limit:
                    raise TooLongError
                body = payload.read_nowait()
            else:
                length = request.content_length
                if length is not None and length > limit:
                    raise TooLongError
                with self._bodies.enter(owner):
                    body = await self._arriving(request)
            if len(body) > limit:
                raise TooLongError
            return _decoded(request, body, limit) if hdrs.CONTENT_ENCODING in request.headers else body
        except TooLongError:
            message = f"the body is larger than {limit} bytes; send less at once"
            raise BodyError(Failure(400, "BODY_TOO_LARGE", message), 413) from None
        except (HttpProcessingError, web.RequestPayloadError, BadCodingError):
            message = "the body's transfer or content encoding is broken"
            raise BodyError(Failure(400, "PARSE_ERROR", message), 400) from None
        except TimeoutError:
            message = (
                f"the body did not arrive within {self._timeout:g} s, or at less than {self._min_rate} bytes a second"
            )
            raise BodyError(Failure(400, "INVALID_REQUEST", message), 408) from None

    async def _arriving(self, request: web.BaseRequest) -> bytes:
        if hdrs.EXPECT in request.headers:
            await _invite(request)
        payload, body = request.content, bytearray()
        began = asyncio.get_running_loop().time()
        while True:
            allowed = self._timeout
            if self._min_rate:
                allowed = min(allowed, GRACE + len(body) / self._min_rate)
            async with asyncio.timeout_at(began + allowed):
                chunk = await payload.readany()
            if not chunk:
                return bytes(body)
            body += chunk
            if len(body) > self._limit:
                raise TooLongError


def unacceptable(request: web.BaseRequest) -> tuple[Failure, int] | None:
    """Return what is wrong with a request whatever it asks, with the HTTP status for that."""
    expectation = request.headers.get(hdrs.EXPECT)
    if expectation is not None and expectation.lower() != "100-continue":
        return Failure(400, "INVALID_REQUEST", 'the only expectation understood is "100-continue"'), 417
    if request.version < HttpVersion11 and hdrs.TRANSFER_ENCODING in request.headers:
        # RFC 9112, section 6.1: a proxy that forwards such a message may see its end elsewhere.
        return Failure(400, "INVALID_REQUEST", "HTTP/1.0 has no chunks; send Content-Length, or HTTP/1.1"), 400
    return None


def is_soon(began: float) -> bool:
    """Return whether a body that is whole now came soon after the headers, which were there at the loop's `began`."""
    return asyncio.get_running_loop().time() - began <= SOON


async def arrived(request: web.BaseRequest, began: float) -> bytes | None:
    """Return the body of a request that is refused, where all of it comes soon after the headers; else None.

    `began` is the loop's time at which the headers were there. At most 64 KiB are waited for, and nothing is reserved.
    """
    length, payload = request.content_length, request.content
    if length is not None and length > SMALL:
        return None
    try:
        if not payload.is_eof():
            if hdrs.EXPECT in request.headers:
                return None
            # A busy loop sees the end of the time before the body that came within it.
            with suppress(TimeoutError):
                async with asyncio.timeout_at(began + SOON):
                    await payload.wait_eof()
            if not payload.is_eof():
                return None
        if payload.total_bytes > SMALL:
            return None
        return _decoded(request, await payload.read(), SMALL)
    except (TooLongError, BadCodingError, HttpProcessingError, web.RequestPayloadError):
        return None


def _decoded(request: web.BaseRequest, body: bytes, limit: int) -> bytes:
    coding = ",".join(request.headers.getall(hdrs.CONTENT_ENCODING, ()))
    return decoded(body, coding, limit)


async def _invite(request: web.BaseRequest) -> None:
    """Invite the body of `Expect: 100-continue`."""
    await request.writer.write(_CONTINUE)
    await request.writer.drain()
    request.writer.output_size = 0  # the answer itself has not begun


MOST_ITEMS = 50
NULL = b"null"

_SPACE = b" \t\r\n"
_INTEGER = re.compile(rb"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(_INTEGER.pattern + rb"(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_VERSION = "2.0"
# What clients of nodes write besides, or leave out: those of JSON-RPC 1.
_OLD_VERSIONS = (None, "1.0", "1.1")
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


@dataclass(slots=True)
class Item:
    """One request object. `identity` is the id as it stood in the body, None for a notification.

    `is_old`: it is one of JSON-RPC 1.
    """

    method: str
    params: bytes | msgspec.Raw
    identity: bytes | None
    is_old: bool = False


class InvalidItem(Exception):
    """A request object that cannot be executed, with the id to answer under."""

    def __init__(self, failure: Failure, identity: bytes = NULL) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.identity = identity


def outline(body: bytes, most: int = MOST_ITEMS) -> bytes | list[msgspec.Raw]:
    """Return the body itself when it is one request object, or the items of a batch, unparsed.

    Raises Failure (400) for what is answered by one error object: text that is not UTF-8 or too deep, an array that is
    not JSON, an empty batch, a batch of more than `most` items. A single object is parsed later, by `read_item`.
    """
    if not body.isascii():
        try:
            str(body, "utf-8")
        except UnicodeDecodeError as error:
            raise _parse_error(f"the body is not UTF-8: {error.reason} at byte {error.start}") from None
    if body.count(b"[") + body.count(b"{") > DEEPEST and nests_too_deeply(body):
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
        raise Failure(400, "INVALID_REQUEST", f"the batch is empty; send 1 to {most} request objects")
    if len(items) > most:
        message = f"the batch holds {len(items)} items, at most {most} are allowed; nothing was executed"
        raise Failure(400, "BATCH_TOO_LARGE", message)
    return items


def read_item(raw: bytes | msgspec.Raw, *, is_native: bool = False) -> Item:
    """Return one request object of a body that `outline` passed. Raises InvalidItem for anything else.

    With `is_native` it is one for a node: of JSON-RPC 1 too, where a missing id is null, and with any number as its id.
    """
    try:
        envelope = _DECODER.decode(raw)
    except msgspec.ValidationError:
        message = "a request must be an object with jsonrpc, method, params and id"
        raise InvalidItem(Failure(400, "INVALID_REQUEST", message)) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unreadable(bytes(raw), error) from None
    text = bytes(envelope.id)
    is_integer = _INTEGER.fullmatch(text) or (is_native and _NUMBER.fullmatch(text))
    identity = text if is_integer else _identity(text)
    is_old = is_native and envelope.jsonrpc in _OLD_VERSIONS
    if envelope.jsonrpc != _VERSION and not is_old:
        raise _invalid('"jsonrpc" must be the text "2.0"', identity)
    if not isinstance(envelope.method, str):
        raise _invalid('"method" must be a text, the name of an operation', identity)
    return Item(envelope.method, envelope.params, (identity or NULL) if is_old else identity, is_old)


def identity_of(raw: bytes | msgspec.Raw, *, is_native: bool = False) -> bytes:
    """Return the id that an error for this request object is answered under, null where it has no usable one."""
    try:
        return read_item(raw, is_native=is_native).identity or NULL
    except InvalidItem as invalid:
        return invalid.identity


def _identity(text: bytes) -> bytes | None:
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
            identity = _identity(bytes(_DECODER.decode(mended).id)) or NULL
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
