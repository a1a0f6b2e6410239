"""HTTP answers whose head and body leave in one write (docs/decisions/0054).

The heads of two answers differ in a few values: one is a template for each status and list of header names. What asks
for more than that, by its request or its answer, is left to aiohttp.
"""

from __future__ import annotations

from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from time import time
from typing import TYPE_CHECKING, cast

from aiohttp import HttpVersion11, hdrs, web

from transcoder.dispatch import MIRRORED
from transcoder.errors import Failure, seconds
from transcoder.pages import accepts_gzip, document_response
from transcoder.requests import NULL, arrived, outline

if TYPE_CHECKING:
    from aiohttp.abc import AbstractStreamWriter
    from multidict import CIMultiDict

    from transcoder.dispatch import Answer, Batch
    from transcoder.exchange import Exchange
    from transcoder.pages import Parts

_METHODS = frozenset({hdrs.METH_POST, hdrs.METH_GET})
_FIRST_WITH_BODY = 200
_BODILESS = frozenset({204, 304})
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_MOST_HEADS = 256


class WholeResponse(web.Response):
    """A response that is sent as it is by `whole`, and by aiohttp as any other: only then it becomes one.

    `headers` are a plain dictionary until then, and its own.
    """

    _is_library_made = False

    def __init__(self, body: bytes | None, status: int, headers: dict[str, str]) -> None:
        # Not the library's: what that makes of every response takes longer than answering from a cache.
        self._body = body
        self._status = status
        self._headers = cast("CIMultiDict[str]", headers)

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send the head as aiohttp does."""
        if not self._is_library_made:
            self._is_library_made = True
            super().__init__(body=self._body, status=self._status, headers=self._headers)
        return await super().prepare(request)

    def whole(self, request: web.BaseRequest) -> bytes | None:
        """Return the head and the body that aiohttp would send, if it kept the connection; None where that decides.

        It decides about the end of a connection, other versions and methods of HTTP, answers without a body, and what
        must not stand in a header.
        """
        body, status = self._body, self._status
        if (
            self._keep_alive is False
            or not isinstance(body, bytes)
            or status in _BODILESS
            or status < _FIRST_WITH_BODY
            or request.method not in _METHODS
            or request.version != HttpVersion11
            or not request.keep_alive
        ):
            return None
        values = tuple(self._headers.values())
        if not "".join(values).isprintable():
            return None
        head = _head(status, *self._headers) % (*values, len(body), _date(int(time())))
        self._keep_alive = True
        return head.encode() + body


@lru_cache(maxsize=_MOST_HEADS)
def _head(status: int, *names: str) -> str:
    lines = [f"HTTP/1.1 {status} {_PHRASES.get(status, '')}", *(f"{name}: %s" for name in names)]
    return "\r\n".join([*lines, "Content-Length: %d", "Date: %s", "", ""])


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


def error_response(
    failure: Failure, status: int, exchange: Exchange, headers: dict[str, str], identity: bytes = NULL
) -> web.Response:
    """Return one error object as a whole HTTP answer."""
    if failure.retry_after_ms and status in MIRRORED:
        headers[hdrs.RETRY_AFTER] = seconds(failure.retry_after_ms)
    return WholeResponse(exchange.print_failure(failure, identity, exchange.request_id), status, headers)


def status_of(failure: Failure) -> int:
    """Return the HTTP status of an answer that is this failure alone."""
    return failure.code if failure.code in MIRRORED else 200


def closing(response: web.Response) -> web.Response:
    """Return the response as the last one of its connection."""
    response.force_close()
    return response


async def refused_response(
    request: web.BaseRequest,
    failure: Failure,
    calls: Batch,
    exchange: Exchange,
    headers: dict[str, str],
    began: float,
) -> web.Response:
    """Return the answer of a request whose body was not requested; it has the id if the body is there all the same."""
    body, identity = await arrived(request, began), NULL
    if body is not None:
        try:
            content = outline(body, calls.most_items)
            identity = NULL if isinstance(content, list) else calls.identity_of(content)
        except Failure:
            pass  # what has no shape has no id
    response = error_response(failure, status_of(failure), exchange, headers, identity)
    return response if body is not None else closing(response)


def single_response(answer: Answer, request: web.BaseRequest, headers: dict[str, str]) -> web.Response:
    """Return the HTTP answer of a message; its headers are added to `headers`."""
    if answer.headers:
        headers.update(answer.headers)
    if answer.retry_after_ms and answer.status in MIRRORED:
        headers[hdrs.RETRY_AFTER] = seconds(answer.retry_after_ms)
    return whole_response(answer.body, answer.status, request, headers)


def whole_response(
    body: bytes | Parts | None, status: int, request: web.BaseRequest, headers: dict[str, str]
) -> web.Response:
    """Return a body as a whole HTTP answer; one in parts is compressed where the client takes that."""
    if body is None:
        headers.pop(hdrs.CONTENT_TYPE, None)
    elif not isinstance(body, bytes):
        compressed = accepts_gzip(request.headers.get(hdrs.ACCEPT_ENCODING))
        return document_response(body, status, headers, compressed=compressed)
    return WholeResponse(body, status, headers)
