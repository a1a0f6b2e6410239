"""Request bodies: read within bounds of size, time and number, or not at all."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError

from runtime.inflating import BadCodingError, TooLongError, decoded
from transcoder.errors import Failure

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

SMALL = 64 * 1024
"""Most bytes of a body that is read of a caller who has no key, and of a request that is refused."""
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

    async def read(self, request: web.BaseRequest, owner: str) -> bytes:
        """Return the whole body without its content encoding.

        Raises BodyError for one that is too large, too slow or broken, and Failure where too many are arriving; nothing
        more of such a body is read.
        """
        limit, payload = self._limit, request.content
        try:
            length = request.content_length
            if length is not None and length > limit:
                raise TooLongError
            if payload.is_eof():
                body = await payload.read()
            else:
                with self._bodies.enter(owner):
                    body = await self._arriving(request)
            if len(body) > limit:
                raise TooLongError
            return _decoded(request, body, limit)
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
