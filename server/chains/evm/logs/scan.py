"""Reading logs newest first: ranges split where nodes refuse them, pages cut without losing or repeating a log.

Whole blocks are read, newest first, until the page is full, the window is done or the budget is spent. A page that ends
inside a block names the last log it holds; the next page reads that block again and goes on below it. So nothing
depends on how blocks were split into requests.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from server.chains.capabilities.logs import LIMIT
from server.chains.evm.contents import check_contents
from server.chains.evm.logs.entries import Place, PlacedEntry, read_entries
from server.chains.evm.logs.limits import Pace
from server.chains.shared.validated_reads import ask_validated
from server.errors import (
    ArchiveRequired,
    DeadlineExceeded,
    GatewayError,
    InvalidArgument,
    NotFound,
    RangeTooLarge,
    ResponseTooLarge,
    UpstreamUnavailable,
)
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence

    from server.chains.evm.contents import Contents
    from server.chains.evm.logs.cursor import Window
    from server.chains.evm.logs.entries import LogEntry
    from server.chains.evm.logs.limits import LogRanges
    from server.chains.view import ReadView
    from server.upstream.connector import Reply
    from server.upstream.pool import Pool

Found = TypeVar("Found")

MAX_QUESTIONS = 32
"""Most `eth_getLogs` that one page costs."""

_DEFAULT_SECONDS = 30.0
# A page is answered as it is when this much of the caller's time is left, so that a slow node costs no finished work.
_RESERVE = 0.4
_LEAST_SECONDS = 2.0
_PRUNED_STEP = 8


@dataclass(frozen=True, slots=True)
class LogFilter:
    """What to look for: emitting contract (None: all) and topics by position, None for any.

    `span` is how many blocks to ask for at first.
    """

    address: str | None
    topics: tuple[str | None, ...]
    span: int

    def params(self, low: int, high: int) -> dict[str, Any]:
        """Return the parameter of `eth_getLogs` for these blocks, both included."""
        params: dict[str, Any] = {"fromBlock": hex(low), "toBlock": hex(high)}
        if self.address is not None:
            params["address"] = self.address
        if self.topics:
            params["topics"] = list(self.topics)
        return params

    def fits(self, entries: Iterable[LogEntry]) -> bool:
        """Return whether all of the logs are of this contract and have these topics."""
        address = None if self.address is None else self.address.lower()
        topics = [(position, topic.lower()) for position, topic in enumerate(self.topics) if topic is not None]
        for entry in entries:
            if address is not None and entry.address.lower() != address:
                return False
            if len(entry.topics) < len(self.topics):
                return False
            for position, topic in topics:
                if entry.topics[position].lower() != topic:
                    return False
        return True


class Page(NamedTuple):
    """Logs, newest first, and the place that the next page begins below; None at the window's end."""

    logs: list[PlacedEntry]
    below: Place | None


class _Chunk(NamedTuple):
    low: int
    high: int

    @property
    def blocks(self) -> int:
        return self.high - self.low + 1


@dataclass(slots=True)
class _Walk:
    """Where one page stands."""

    window: Window
    pace: Pace
    until: float
    started: float
    top: int
    found: dict[Place, LogEntry] = field(default_factory=dict)
    questions: int = 0
    vague: set[str] = field(default_factory=set)

    @property
    def has_moved(self) -> bool:
        return self.top < self.window.top

    def is_spent(self, now: float) -> bool:
        """Whether the page is to be answered as it is."""
        late = self.until - now < (self.until - self.started) * _RESERVE
        return self.has_moved and (self.questions >= MAX_QUESTIONS or late)


class LogScanner:
    """Scans one chain. `keep` of `read_page` drops logs before they count."""

    def __init__(
        self,
        slug: str,
        pool: Pool,
        ranges: LogRanges,
        contents: Contents | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._contents = contents
        self._slug = slug
        self._pool = pool
        self._ranges = ranges
        self._clock = clock

    async def read_page(
        self,
        window: Window,
        filters: Sequence[LogFilter],
        view: ReadView,
        *,
        keep: Callable[[LogEntry], bool] | None = None,
        limit: int = LIMIT,
    ) -> Page:
        """Return the newest logs of the window that match any of the filters, each once, at most `limit`.

        All are well-formed: an answer with one that is not is asked of another endpoint.

        Raises:
            ResponseTooLarge: the nodes do not return the logs of a single block.
            GatewayError: no node answered for the window's newest blocks; later failures end the page early instead.
        """
        plan = self._ranges.plan()
        now = self._clock()
        walk = _Walk(
            window=window,
            pace=Pace(min(one.span for one in filters), plan.blocks, limit),
            until=now + _DEFAULT_SECONDS if view.deadline is None else view.deadline,
            started=now,
            top=window.top,
        )
        while walk.top >= window.low and len(walk.found) < limit and not walk.is_spent(self._clock()):
            chunks = _next_chunks(walk)
            walk.questions += len(chunks) * len(filters)
            outcomes = await _settle([self._read(chunk, filters, walk, view) for chunk in chunks])
            for chunk, outcome in zip(chunks, outcomes, strict=True):
                if isinstance(outcome, BaseException):
                    if not self._go_on(chunk, outcome, walk):
                        return _cut(walk, limit)
                    break
                _take(walk, chunk, outcome, keep, limit)
        return _cut(walk, limit)

    async def _read(
        self, chunk: _Chunk, filters: Sequence[LogFilter], walk: _Walk, view: ReadView
    ) -> list[PlacedEntry]:
        """Return the logs of the chunk, unordered."""
        plan = self._ranges.plan()
        prefer = plan.endpoint or view.endpoint
        policy = CallPolicy(heavy=True, caller_made=True, min_block=chunk.high, prefer=prefer)
        now = self._clock()
        deadline = min(walk.until, now + max((walk.until - now) * (1 - _RESERVE), _LEAST_SECONDS))
        found: list[PlacedEntry] = []
        for answer in await _settle([self._ask(one, chunk, walk, policy, deadline) for one in filters]):
            if isinstance(answer, BaseException):
                raise answer
            found += answer
        return found

    async def _ask(
        self, wanted: LogFilter, chunk: _Chunk, walk: _Walk, policy: CallPolicy, deadline: float
    ) -> list[PlacedEntry]:
        if self._contents is not None and self._contents.has_blooms and walk.window.low == walk.window.top:
            return await self._ask_block(wanted, chunk, policy, deadline, self._contents)
        params = [wanted.params(chunk.low, chunk.high)]
        placed, reply = await ask_validated(
            self._pool,
            "eth_getLogs",
            lambda steered: self._pool.call("eth_getLogs", params, steered, deadline=deadline),
            lambda reply: _read_logs(reply.result, wanted, chunk),
            policy,
        )
        if reply.refusals:
            self._ranges.note(reply.refusals)
        if reply.endpoint in walk.vague:
            walk.vague.discard(reply.endpoint)
            self._ranges.learn(reply.endpoint, chunk.blocks)
        return placed

    async def _ask_block(
        self, wanted: LogFilter, chunk: _Chunk, policy: CallPolicy, deadline: float, contents: Contents
    ) -> list[PlacedEntry]:
        """Return the logs of a caller's single block, checked by its header, which comes in the same request."""
        block = ("eth_getBlockByNumber", [hex(chunk.low), False])
        calls = (block, ("eth_getLogs", [wanted.params(chunk.low, chunk.high)]))
        are_all = wanted.address is None and not wanted.topics

        def read(replies: tuple[Reply, ...]) -> tuple[list[PlacedEntry], bool | None]:
            header, logs = replies
            placed = _read_logs(logs.result, wanted, chunk)
            entries = [entry for _, entry in placed]
            return placed, contents.fits_logs(header.result, entries, are_all=are_all)

        async def ask(steered: CallPolicy) -> tuple[tuple[list[PlacedEntry], bool | None], str]:
            found, replies = await ask_validated(
                self._pool,
                "eth_getLogs",
                lambda steered: self._pool.call_together(calls, steered, deadline=deadline),
                read,
                steered,
            )
            self._ranges.note(replies[0].refusals)
            return found, replies[0].endpoint

        found, _ = await check_contents(self._pool, contents, "list of logs", ask, policy)
        return found[0] if found is not None else []

    def _go_on(self, chunk: _Chunk, error: BaseException, walk: _Walk) -> bool:
        """Return whether to ask again for fewer blocks; False to answer what is there.

        Raises:
            GatewayError: there is nothing to answer yet.
        """
        if not isinstance(error, GatewayError):
            raise error
        noted = self._ranges.note(error.refusals)
        walk.vague |= noted.vague
        is_late = self._clock() + _LEAST_SECONDS >= walk.until
        if _may_be_too_much(error) and not is_late and walk.questions < 2 * MAX_QUESTIONS:
            if walk.pace.refused(chunk.blocks, _advice(error, chunk, noted.blocks)):
                return True
            if isinstance(error, RangeTooLarge | ResponseTooLarge) and not walk.has_moved:
                raise ResponseTooLarge(
                    f"the nodes of {self._slug} do not hand out the logs of block {chunk.high} in one answer: "
                    "narrow the query by address or topic0"
                )
        if not walk.has_moved:
            if isinstance(error, NotFound):
                raise UpstreamUnavailable(
                    f"the nodes of {self._slug} have not come to block {chunk.high} yet; try again"
                )
            raise error
        return False


async def _settle(reading: Sequence[Coroutine[None, None, Found]]) -> Sequence[Found | BaseException]:
    """Return results or errors of all; a single one needs no task."""
    if len(reading) > 1:
        return await asyncio.gather(*reading, return_exceptions=True)
    try:
        return [await reading[0]]
    except Exception as error:
        return [error]


def _read_logs(result: bytes, wanted: LogFilter, chunk: _Chunk) -> list[PlacedEntry]:
    """Return the logs of an answer.

    Raises:
        ValueError: one is malformed, or was not asked for, or stands where another one does: others may be missing.
    """
    placed = read_entries(result)
    at = dict(placed)
    if placed and not (chunk.low <= min(at).block and max(at).block <= chunk.high and wanted.fits(at.values())):
        raise ValueError("logs that were not asked for")
    if len(at) < len(placed) and any(at[place] != entry for place, entry in placed):
        raise ValueError("two logs of one place")
    return placed


def _may_be_too_much(error: GatewayError) -> bool:
    """Return whether fewer blocks may help: a refusal of the range, or one of unknown meaning."""
    if isinstance(error, RangeTooLarge | ResponseTooLarge | ArchiveRequired | DeadlineExceeded):
        return True
    return isinstance(error, UpstreamUnavailable | InvalidArgument) and bool(error.refusals)


def _advice(error: GatewayError, chunk: _Chunk, stated: int | None) -> int | None:
    """Return how many blocks to try next: where only the older part of a range is pruned, the newer one is answered."""
    return max(chunk.blocks // _PRUNED_STEP, 1) if isinstance(error, ArchiveRequired) else stated


def _next_chunks(walk: _Walk) -> list[_Chunk]:
    chunks: list[_Chunk] = []
    high = walk.top
    while high >= walk.window.low and len(chunks) < walk.pace.width:
        low = max(walk.window.low, high - walk.pace.span + 1)
        chunks.append(_Chunk(low, high))
        high = low - 1
    return chunks


def _take(
    walk: _Walk, chunk: _Chunk, found: list[PlacedEntry], keep: Callable[[LogEntry], bool] | None, limit: int
) -> None:
    walk.top = chunk.low - 1
    below = walk.window.below
    walk.found.update(log for log in found if log[0] < below and (keep is None or keep(log[1])))
    walk.pace.found(chunk.blocks, len(found), max(limit - len(walk.found), 1))


def _cut(walk: _Walk, limit: int) -> Page:
    """Return the page: at most `limit` logs, and where the next one begins."""
    places = sorted(walk.found, reverse=True)
    logs = [PlacedEntry(place, walk.found[place]) for place in places[:limit]]
    if len(places) > limit:
        last = places[limit - 1]
        is_whole = places[limit].block < last.block
        return Page(logs, Place(last.block, 0) if is_whole else last)
    return Page(logs, Place(walk.top + 1, 0) if walk.top >= walk.window.low else None)
