"""Executes request objects: each on its own, all at once, answered in their order (contract section 4.1)."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from transcoder.calls import begin, finish, headers_of
from transcoder.discover import DISCOVER, Discovered
from transcoder.envelope import NULL, InvalidItem, Item, read_item
from transcoder.errors import Failure, internal
from transcoder.names import clipped
from transcoder.scalars import parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import msgspec

    from transcoder.discover import Discovery
    from transcoder.documents import Parts, Shared
    from transcoder.exchange import Exchange
    from transcoder.index import Index, Method

MIRRORED = frozenset({401, 429, 503})
REFUSED = frozenset({401, 429})

# Why a notification is answered after all (decisions 1.6): it never was a request of ours, or its caller may not ask.
UNEXECUTED = frozenset(
    {
        *("PARSE_ERROR", "INVALID_REQUEST", "METHOD_UNKNOWN", "INVALID_ARGUMENT", "UNKNOWN_PARAMETER"),
        *("CHAIN_UNKNOWN", "CHAIN_UNSUPPORTED", "KEY_MISSING", "KEY_INVALID", "RATE_LIMITED"),
    }
)

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Answer:
    """What one item is answered: a response object, None for a notification.

    A body that holds what others hold too is in parts. The rest is for the HTTP answer of a single call: its status,
    when to come back, further headers. `headers` is None where the server was not asked: nobody has charged the caller.
    `refusal` is the failure of a caller who was not admitted: by the key, or by the quota.
    """

    body: bytes | Parts | None
    status: int = 200
    retry_after_ms: int | None = None
    headers: dict[str, str] | None = None
    refusal: Failure | None = None


@dataclass(frozen=True, slots=True)
class _Started:
    """A call on its way."""

    method: Method | Discovered
    call: Any
    identity: bytes | None


class NotAdmitted(Exception):
    """The request leads to a call that admits nobody by itself: it is for callers who are admitted already."""


class Batch:
    """Executes the items of HTTP requests over the index's channel."""

    def __init__(self, index: Index, discovery: Discovery) -> None:
        self._index = index
        self._discovery = discovery

    async def run_single(self, item: bytes, exchange: Exchange, base: Callable[[], str]) -> Answer:
        """Return the answer of the only item of a request, with the headers that the server gave it.

        Raises NotAdmitted for `rpc.discover` in an exchange that the server has not admitted.
        """
        entry = self._start(item, exchange, base)
        if isinstance(entry, Answer):
            return entry
        try:
            answer = await self._finish(entry, exchange)
            answer.headers = await headers_of(entry.call)
            return answer
        except asyncio.CancelledError:
            entry.call.cancel()
            raise

    async def run(
        self, items: Sequence[bytes | msgspec.Raw], exchange: Exchange, base: Callable[[], str]
    ) -> list[Answer]:
        """Return the answers of the items, in their order; one that fails leaves the others alone.

        Every call leaves before the first answer is awaited. When the HTTP client goes away (this coroutine is
        cancelled) the calls still on their way are cancelled.
        """
        started = [self._start(item, exchange, base) for item in items]
        answers: list[Answer] = []
        try:
            for entry in started:
                answers.append(entry if isinstance(entry, Answer) else await self._finish(entry, exchange))
        except asyncio.CancelledError:
            for entry in started[len(answers) :]:
                if isinstance(entry, _Started):
                    entry.call.cancel()
            raise
        return answers

    def _start(self, raw: bytes | msgspec.Raw, exchange: Exchange, base: Callable[[], str]) -> _Started | Answer:
        try:
            item = read_item(raw)
        except InvalidItem as invalid:
            return failed(invalid.failure, invalid.identity, exchange)
        try:
            if item.method == DISCOVER:
                return self._discover(item, exchange, base)
            method = self._index.find(item.method)
            request = method.request(item.method, item.params)
            call = begin(method.call, request, method.timeout, exchange)
        except Failure as failure:
            return failed(failure, item.identity, exchange)
        except NotAdmitted:
            raise
        except Exception:
            return _defect(item.method, item.identity, exchange)
        return _Started(method, call, item.identity)

    async def _finish(self, started: _Started, exchange: Exchange) -> Answer:
        method = started.method
        try:
            response = await finish(started.call)
            return succeeded(method.render(response), started.identity, method.status_of(response))
        except Failure as failure:
            return failed(failure, started.identity, exchange)
        except Exception:
            return _defect(method.name, started.identity, exchange)

    def _discover(self, item: Item, exchange: Exchange, base: Callable[[], str]) -> _Started:
        if bytes(item.params) and parsed(item.params, "") not in ({}, [], None):
            raise Failure(400, "INVALID_ARGUMENT", "rpc.discover takes no parameters; send an empty object")
        if not exchange.admitted:
            raise NotAdmitted
        call = self._discovery.begin(exchange)
        return _Started(Discovered(self._discovery, base()), call, item.identity)


def joined(bodies: Sequence[bytes | Parts]) -> bytes | Parts:
    """Return the bodies of answers as one array."""
    if all(body.__class__ is bytes for body in bodies):
        return b"[" + b",".join(bodies) + b"]"  # type: ignore[arg-type]  # all are
    parts: list[bytes | Shared] = []
    for body in bodies:
        parts.append(b"," if parts else b"[")
        parts += [body] if isinstance(body, bytes) else body
    return [*parts, b"]"]


def succeeded(result: bytes | Parts, identity: bytes | None, status: int = 200) -> Answer:
    """Return the answer of an item that has a result."""
    if identity is None:
        return Answer(None, 204)
    if not isinstance(result, bytes):
        return Answer((b'{"jsonrpc":"2.0","result":', *result, b',"id":' + identity + b"}"), status)
    return Answer(b"".join((b'{"jsonrpc":"2.0","result":', result, b',"id":', identity, b"}")), status)


def failed(failure: Failure, identity: bytes | None, exchange: Exchange) -> Answer:
    """Return the answer of an item that has none."""
    if identity is None:
        if failure.reason not in UNEXECUTED:
            return Answer(None, 204)
        identity = NULL
    status = failure.code if failure.code in MIRRORED else 200
    refusal = failure if status in REFUSED else None
    return Answer(failure.body(identity, exchange.request_id), status, failure.retry_after_ms, refusal=refusal)


def _defect(method: str, identity: bytes | None, exchange: Exchange) -> Answer:
    _log.exception("an item failed", extra={"operation": clipped(method), "request_id": exchange.request_id})
    return failed(internal(), identity, exchange)
