"""Reads the documents of tokens, wherever they are, through the guarded fetcher.

A document that cannot be had is an answer: the reason stands beside it. It is kept for seconds only, so that a
host that comes back is noticed and one that does not is not asked without end.
"""

from __future__ import annotations

import asyncio
import hashlib
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, TypeVar, TypeVarTuple

from server.fetch import FetchError, Unreachable
from server.nfts.documents import Document, DocumentError, parse_document, rewrite
from server.nfts.locations import fill_in
from server.upstream.cache import key_prefix
from server.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.fetch import GuardedFetcher
    from server.nfts.locations import Gateways, Location
    from server.upstream.cache import Cache

Given = TypeVarTuple("Given")
Result = TypeVar("Result")

KEPT_SECONDS = 300.0
"""How long a document is reused (contract section 4.6)."""

FAILED_SECONDS = 5.0
"""How long a failure to get one is reused."""

_ACCEPT = "application/json, text/plain;q=0.9, */*;q=0.5"
# What is left of a call's time when the last fetch has to have ended.
_RESERVE_SECONDS = 1.0
_LONGEST_SECONDS = 20.0
_LONG = 64 * 1024
# How long a host that took no connection is asked after the others, and how many such hosts are kept.
_REST_SECONDS, _MOST_RESTING = 30.0, 64
_FOUND = key_prefix("nft", "document")
_FAILED = key_prefix("nft", "failure")


class Metadata(NamedTuple):
    """A token's document and its address as callers can use it, None for none.

    Where there is no document, `problem` states why. `seconds` is how long this may be reused; None where it is as
    lasting as the contract's own answer.
    """

    uri: str | None
    document: Document | None
    problem: str | None
    seconds: float | None


class _Found(NamedTuple):
    """What a location has: a document with its bytes, or the reason why there is none."""

    document: Document | None
    body: bytes = b""
    problem: str | None = None


class MetadataReader:
    """Reads documents. `cache` None keeps none."""

    def __init__(self, fetcher: GuardedFetcher, gateways: Gateways, cache: Cache | None) -> None:
        self._fetcher = fetcher
        self._gateways = gateways
        self._cache = cache
        self._in_flight: SingleFlight[_Found] = SingleFlight()
        self._resting: dict[str, float] = {}

    async def read(
        self, uri: str | None, token_id: int, *, is_multi: bool, deadline: float | None, is_fresh: bool = False
    ) -> Metadata:
        """Return the document at the address that a contract stated, the addresses in it rewritten; raises nothing.

        `is_multi` fills the token id in where EIP-1155 has a place for it, in the address and in the document.
        `deadline` is in seconds of the monotonic clock. `is_fresh` passes by what is kept.
        """
        if uri is None:
            return Metadata(None, None, "the contract states no address of a document", FAILED_SECONDS)
        stated = fill_in(uri, token_id) if is_multi else uri
        location = await _apart(len(stated), self._gateways.locate, stated)
        if location.problem is not None:
            problem = f"the document was not fetched: {location.problem}"
            return Metadata(location.shown or None, None, problem, FAILED_SECONDS)
        if location.inline:
            found = await _first_document(location.inline)
            seconds = None if found.problem is None else FAILED_SECONDS
        else:
            found, seconds = await self._remembered(location, deadline, is_fresh)
        if found.document is None:
            return Metadata(location.shown, None, found.problem, seconds)
        multi_id = token_id if is_multi else None
        size = len(found.document.others) + len(found.document.image or "")
        document = await _apart(size, rewrite, found.document, self._gateways, multi_id)
        return Metadata(location.shown, document, None, seconds)

    async def close(self) -> None:
        """Give up every fetch."""
        await self._in_flight.close()

    async def _remembered(
        self, location: Location, deadline: float | None, is_fresh: bool
    ) -> tuple[_Found, float | None]:
        """Return what is at the location and for how many seconds that may be reused."""
        digest = hashlib.sha256("\n".join(location.candidates).encode("utf-8", "surrogatepass")).digest()
        cache = self._cache
        if cache is not None and not is_fresh:
            body = await cache.get_lasting(_FOUND + digest)
            if body is not None:
                return _Found(await _apart(len(body), parse_document, body)), self._left(_FOUND + digest)
            failed = cache.lasting.get(_FAILED + digest)
            if failed is not None:
                return _Found(None, problem=failed.decode()), self._left(_FAILED + digest)
        until = monotonic() + 2 * _LONGEST_SECONDS if deadline is None else deadline - _RESERVE_SECONDS
        try:
            found = await self._in_flight.join(digest, until, lambda _: self._fetch(location), monotonic)
        except TimeoutError:
            # It is this caller whose time is over: others, with more of it, do not get this error.
            return _Found(None, problem="the document was not fetched: it took too long to answer"), 0.0
        if found.problem is not None:
            if cache is not None:
                cache.lasting.put(_FAILED + digest, found.problem.encode(), FAILED_SECONDS)
            return found, FAILED_SECONDS
        if cache is not None:
            cache.keep(_FOUND + digest, found.body, KEPT_SECONDS)
        return found, KEPT_SECONDS

    def _left(self, key: bytes) -> float | None:
        assert self._cache is not None
        until = self._cache.lasting.until(key)
        return None if until is None else max(until - self._cache.clock(), 0.0)

    async def _fetch(self, location: Location) -> _Found:
        """Return what the first address has that has a document; else why the last one has none."""
        problem = ""
        now = monotonic()
        deadline = now + _LONGEST_SECONDS
        for url in sorted(location.candidates, key=lambda url: self._resting.get(_host(url), 0.0) > now):
            try:
                answer = await self._fetcher.fetch(url, accept=_ACCEPT, deadline=deadline)
                if answer.status != 200:
                    problem = f"{answer.url_label} answered with HTTP {answer.status}"
                    continue
                return _Found(await _apart(len(answer.body), parse_document, answer.body), answer.body)
            except FetchError as error:
                if isinstance(error, Unreachable) and len(location.candidates) > 1:
                    self._rest(_host(url))
                problem = f"the document was not fetched: {error.message}"
            except DocumentError as error:
                problem = str(error)
        return _Found(None, problem=problem)

    def _rest(self, host: str) -> None:
        """Ask the others first for a while."""
        self._resting.pop(host, None)
        self._resting[host] = monotonic() + _REST_SECONDS
        if len(self._resting) > _MOST_RESTING:
            del self._resting[next(iter(self._resting))]


def _host(url: str) -> str:
    return url.split("/", 3)[2]


async def _first_document(candidates: tuple[bytes, ...]) -> _Found:
    """Return the first reading of inline content that is a document; else why the first one is none."""
    problems = []
    for content in candidates:
        try:
            return _Found(await _apart(len(content), parse_document, content))
        except DocumentError as error:
            problems.append(str(error))
    return _Found(None, problem=problems[0])


async def _apart(size: int, read: Callable[[*Given], Result], *given: *Given) -> Result:
    """Return what `read` makes of a text of that size: of a long one in a thread, so that the event loop goes on."""
    return read(*given) if size <= _LONG else await asyncio.to_thread(read, *given)
