"""Documents of off-chain APIs (all rates, all vaults, all markets): fetched whole, kept in memory, shared by all calls.

A document is answered from memory while it is within its lifetime, and asked for again in the background before that
ends, as long as it is read: readers of a document in use never wait for its source. Where the source fails, the
document is answered past its lifetime, marked as stale, until it is too old; then the source's failure is the answer. A
source that failed is left alone for a while. A source is one class: it holds the API's endpoints, its shape, its units.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import time
from collections import OrderedDict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import structlog

from server.errors import (
    DeadlineExceeded,
    GatewayError,
    ResponseTooLarge,
    UpstreamDisagrees,
    UpstreamUnavailable,
    release,
)
from server.upstream import NOT_MODIFIED, validators_of
from server.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Mapping

    from server.upstream import Reply, Validators
    from server.upstream.cache import CacheContext

MOST_BYTES = 32_000_000
"""A document of as many bytes is none that its source is known to answer with."""

MOST_KEPT = 64
"""Documents kept of one source; those that were not read for longest go."""

FETCH_SECONDS = 20.0
"""How long a source may take. Readers with an older document at hand do not wait that long."""

LONGEST_WAIT = 2.0
"""How long readers wait for a source while there is a document past its lifetime to answer with."""

PAUSE_SECONDS = 5.0
"""For how long a source is not asked again for what it failed at, unless it asks for longer."""

LONGEST_PAUSE = 60.0

ASKED_SECONDS = 30.0
"""For how long after a read a document is kept fresh; its lifetime where that is longer."""

# A caller that wants nothing out of a cache gets no document older than this, in seconds.
_NEW_SECONDS = 1.0
_AHEAD = 0.2
_DONE_WAITING = 0.001
# The errors of a source that failed. Any other that it raises is its answer.
_FAILURES = (UpstreamUnavailable, UpstreamDisagrees, DeadlineExceeded)

_log = structlog.get_logger("waypost.documents")


class DocumentRequest(NamedTuple):
    """Which document: the source's name and what identifies it there, for example the chain."""

    source: str
    key: tuple[Hashable, ...] = ()


class Document(NamedTuple):
    """A document: its value, the time of its figures in UTC, whether it is past its lifetime because of a failure.

    `read_at` is when the source was asked, or the document's own time where it has one. The value is the same object
    as long as the document has not changed.
    """

    value: Any
    read_at: datetime
    is_stale: bool = False


class Fetched(NamedTuple):
    """What a source answered: the value, its size in bytes as sent, its own time where it has one.

    `validators` are for the next request, which is handed this as `previous`.
    """

    value: Any
    size: int = 0
    read_at: datetime | None = None
    validators: Validators | None = None


class DocumentSource(Protocol):
    """One API. Ages are in seconds from when it was asked.

    Within `lifetime` a document is answered without asking; up to `stale_for` where the source fails. With
    `is_refreshed` a document that is read is asked for again in the background.
    """

    @property
    def lifetime(self) -> float:
        """How old a document gets."""
        ...

    @property
    def stale_for(self) -> float:
        """How old a document gets where the source fails."""
        ...

    @property
    def is_refreshed(self) -> bool:
        """Whether documents in use are asked for again before they are too old."""
        ...

    async def fetch(self, key: tuple[Any, ...], previous: Fetched | None) -> Fetched:
        """Return the document `key`; `previous` again, with new validators, where the source reports no change.

        Raises:
            UpstreamUnavailable: the source fails or answers in an unknown shape, whose member the text names.
            GatewayError: any other is the source's answer, for example NotFound.
        """
        ...


def check_size(name: str, size: int) -> None:
    """Raise UpstreamUnavailable for an answer of `size` bytes in all, if that is more than the source can mean."""
    if size >= MOST_BYTES:
        raise UpstreamUnavailable(
            f"{name} answers with a document of 32 MB or more, which is none that it is known for"
        )


async def fetch_if_changed(
    ask: Callable[[Validators | None], Awaitable[Reply]], read: Callable[[bytes], Any], previous: Fetched | None
) -> Fetched:
    """Return the document that a conditional request brings: `previous`, with its newer validators, if it is the same.

    `ask` sends the request with the validators of what is kept; `read` makes the value of a body. It runs in a thread:
    bodies may be megabytes, and other calls go on meanwhile. Raises what either raises.
    """
    reply = await ask(None if previous is None else previous.validators)
    validators = validators_of(reply)
    if previous is not None and reply.result == NOT_MODIFIED:
        return previous._replace(validators=validators or previous.validators)
    return Fetched(await asyncio.to_thread(read, reply.result), len(reply.result), validators=validators)


class _Entry:
    """One document with its source's state."""

    __slots__ = (
        "asked_at",
        "began",
        "failure",
        "fetched",
        "good_until",
        "keeper",
        "paused_until",
        "read_at",
        "refresh_at",
        "request",
        "source",
        "usable_until",
        "used_at",
    )

    def __init__(self, request: DocumentRequest, source: DocumentSource) -> None:
        self.request = request
        self.source = source
        self.fetched: Fetched | None = None
        self.read_at = datetime.min.replace(tzinfo=UTC)
        self.asked_at = self.began = self.used_at = self.good_until = self.usable_until = self.refresh_at = 0.0
        self.paused_until = 0.0
        self.failure: GatewayError | None = None
        self.keeper: asyncio.Task[None] | None = None


class DocumentStore:
    """Reads documents of the sources by name. `clock` is monotonic, `wall` unix seconds, `sleep` takes seconds.

    Without `is_kept` every read asks its source; reads at the same time share the request.
    """

    def __init__(
        self,
        sources: Mapping[str, DocumentSource],
        *,
        is_kept: bool = True,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._sources = dict(sources)
        self._is_kept = is_kept
        self._clock = clock
        self._wall = wall
        self._sleep = sleep
        self._entries: dict[str, OrderedDict[tuple[Any, ...], _Entry]] = {name: OrderedDict() for name in self._sources}
        self._in_flight: SingleFlight[None] = SingleFlight()

    async def read(self, request: DocumentRequest, *, deadline: float | None, cache: CacheContext | None) -> Document:
        """Return a document, waiting for its source until `deadline` (seconds of the clock) where that is needed.

        `cache` records whether it came from memory, and whether it is stale.

        Raises:
            UpstreamUnavailable: the source fails and what is kept is too old; it is switched off.
            DeadlineExceeded: the source did not answer in time.
            GatewayError: what the source answered instead of a document.
        """
        entry = self._entry(request)
        now = entry.used_at = self._clock()
        is_wanted_new = cache is not None and cache.bypass and now - entry.asked_at >= _NEW_SECONDS
        if entry.fetched is not None and now < entry.good_until and not is_wanted_new:
            if cache is not None:
                cache.hit()
            self._keep_fresh(entry)
            return Document(entry.fetched.value, entry.read_at, is_stale=False)
        if entry not in self._in_flight and now < entry.paused_until:
            return self._fall_back(entry, cache)
        if cache is not None:
            cache.miss()
        fetch = self._start(entry)
        self._keep_fresh(entry)
        await self._wait(entry, fetch, deadline)
        if fetch.done() and entry.failure is None and entry.fetched is not None:
            # What was waited for is new, however long it took.
            return Document(entry.fetched.value, entry.read_at, is_stale=False)
        return self._fall_back(entry, cache)

    async def close(self) -> None:
        """Give up what is in flight, and refresh nothing more."""
        entries = [entry for entries in self._entries.values() for entry in entries.values()]
        keepers = [entry.keeper for entry in entries if entry.keeper is not None]
        for task in keepers:
            task.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        await self._in_flight.close()

    def _entry(self, request: DocumentRequest) -> _Entry:
        entries = self._entries.get(request.source)
        if entries is None:
            raise UpstreamUnavailable(f"{request.source} is switched off in this gateway's configuration")
        entry = entries.get(request.key)
        if entry is None:
            self._make_room(entries)
            entry = entries[request.key] = _Entry(request, self._sources[request.source])
        else:
            entries.move_to_end(request.key)
        return entry

    def _make_room(self, entries: OrderedDict[tuple[Any, ...], _Entry]) -> None:
        """Drop the document that was not read for longest, if there are too many. One that is being fetched stays."""
        if len(entries) < MOST_KEPT:
            return
        oldest = next((entry for entry in entries.values() if entry not in self._in_flight), None)
        if oldest is None:
            raise UpstreamUnavailable("too many documents are being read at once; try again", retry_after_ms=1000)
        del entries[oldest.request.key]
        if oldest.keeper is not None:
            oldest.keeper.cancel()

    async def _wait(self, entry: _Entry, fetch: asyncio.Task[None], deadline: float | None) -> None:
        """Return when the source has answered, or its reader's wait is over. The fetch goes on."""
        now = self._clock()
        waits = [] if deadline is None else [deadline - now]
        if entry.fetched is not None and now < entry.usable_until:
            waits.append(entry.began + LONGEST_WAIT - now)
        timeout = max(min(waits), _DONE_WAITING) if waits else None
        await asyncio.wait((fetch,), timeout=timeout)

    def _fall_back(self, entry: _Entry, cache: CacheContext | None) -> Document:
        """Return what is kept although its source was to be asked; raises the failure where that is too old."""
        now = self._clock()
        is_answered = entry.failure is not None and not isinstance(entry.failure, _FAILURES)
        if entry.fetched is not None and now < entry.usable_until and not is_answered:
            is_stale = now >= entry.good_until
            if cache is not None:
                (cache.stale if is_stale else cache.hit)()
            return Document(entry.fetched.value, entry.read_at, is_stale)
        if entry.failure is None or entry in self._in_flight:
            raise DeadlineExceeded(f"{entry.request.source} did not answer in time; try again", retry_after_ms=1000)
        # A copy for each: several readers wait for one failure.
        failure = copy.copy(entry.failure)
        if failure.retry_after_ms is None and isinstance(failure, _FAILURES):
            failure.retry_after_ms = max(int((entry.paused_until - now) * 1000), 1000)
        raise failure

    def _start(self, entry: _Entry) -> asyncio.Task[None]:
        if entry not in self._in_flight:
            entry.began = self._clock()
        # In a context of its own: it outlives the call that needs it first.
        return self._in_flight.start(entry, lambda: self._fetch(entry), contextvars.Context())

    def _keep_fresh(self, entry: _Entry) -> None:
        if entry.keeper is None and entry.source.is_refreshed and self._is_kept:
            entry.keeper = asyncio.get_running_loop().create_task(self._refresh(entry), context=contextvars.Context())

    async def _refresh(self, entry: _Entry) -> None:
        """Ask for the document again whenever its lifetime is about to end, until it is no longer read."""
        try:
            while True:
                if entry in self._in_flight:
                    await asyncio.wait((self._start(entry),))
                now = self._clock()
                await self._sleep(max(entry.refresh_at, entry.paused_until, now) - now)
                if self._clock() - entry.used_at >= max(ASKED_SECONDS, entry.source.lifetime):
                    return
                if self._clock() >= max(entry.refresh_at, entry.paused_until):
                    await asyncio.wait((self._start(entry),))
        finally:
            entry.keeper = None

    async def _fetch(self, entry: _Entry) -> None:
        """Ask the source once and note what came of it; raises nothing."""
        name, wall, previous = entry.request.source, self._wall(), entry.fetched
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                fetched = await entry.source.fetch(entry.request.key, previous)
            check_size(name, fetched.size)
        except GatewayError as error:
            release(error)
            self._note_failure(entry, error)
        except TimeoutError:
            self._note_failure(entry, DeadlineExceeded(f"{name} did not answer within {FETCH_SECONDS:g} s"))
        except Exception as error:  # a shape that no check of the source covers
            _log.error("a document cannot be read", source=name, error=type(error).__name__)
            self._note_failure(
                entry, UpstreamUnavailable(f"{name} answers with a document that this build cannot read")
            )
        else:
            self._note_document(entry, fetched, wall)

    def _note_document(self, entry: _Entry, fetched: Fetched, wall: float) -> None:
        if entry.failure is not None:
            _log.info("a source answers again", source=entry.request.source)
        lifetime, stale_for = (entry.source.lifetime, entry.source.stale_for) if self._is_kept else (0.0, 0.0)
        entry.failure = None
        entry.paused_until = 0.0
        entry.fetched = fetched
        entry.read_at = fetched.read_at or datetime.fromtimestamp(wall, UTC)
        entry.asked_at = entry.began
        entry.good_until = entry.began + lifetime
        entry.usable_until = entry.began + max(stale_for, lifetime)
        now = self._clock()
        ahead = min(max(_AHEAD * lifetime, 2 * (now - entry.began)), lifetime / 2)
        entry.refresh_at = max(entry.good_until - ahead, now + _AHEAD * lifetime)

    def _note_failure(self, entry: _Entry, error: GatewayError) -> None:
        if isinstance(error, ResponseTooLarge):
            error = UpstreamUnavailable(
                f"{entry.request.source} answers with a document of 32 MB or more, which is not read"
            )
        if isinstance(error, _FAILURES) and (entry.failure is None or entry.failure.message != error.message):
            _log.warning("a source of documents fails", source=entry.request.source, why=error.message)
        asked = (error.retry_after_ms or 0) / 1000
        entry.paused_until = self._clock() + min(max(PAUSE_SECONDS, asked), LONGEST_PAUSE)
        entry.failure = error
