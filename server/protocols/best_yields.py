"""All pools of all protocols that yields come from, compared: built in the background while asked for, kept in memory.

A build reads every protocol on every chain that it is on, side by side; what fails is named and the others answer.
Within a minute of a build callers get what is kept, and no source is read. Later ones get it too, for another minute,
while the next build runs; after that they wait for one.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import math
import time
from typing import TYPE_CHECKING, NamedTuple

import structlog

from server.chains.view import ReadView
from server.errors import DeadlineExceeded, GatewayError, Internal, UpstreamUnavailable, release
from server.upstream.cache import CacheContext
from server.upstream.single_flight import SingleFlight, outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Protocol

    from waypost.v1 import yield_pb2, yield_protocol_pb2

    from server.protocols.runner import Reading
    from server.protocols.yields import BestRow

    class ReadsPools(Protocol):
        """Reads all pools of a protocol on a chain."""

        async def answer_best(self, protocol: int, chain: str, view: ReadView) -> Reading:
            """Return the rows, as BestRow; raises GatewayError."""

    # What is left out: the chain, the protocol as it is known to callers, why, and how many rows.
    CountLeftOut = Callable[[str, str, str, int], None]


HIGHEST_APY = 1000.0
"""Percent per year. What promises more is an error of its source, or ends within hours."""

BUILT_EVERY = 60.0
"""Seconds from the start of a build in which no other one starts."""

_SERVED_SECONDS = 120.0
# A caller waits 20 s for a build; this is what the sources have of it.
_READ_SECONDS = 18.5
# A read that ends at its own deadline reports more than the clock here can.
_SLACK_SECONDS = 0.5
# Where no source answered there is nothing to serve, so the next attempt comes sooner.
_FAILED_SECONDS = 5.0

# What a call keeps for itself of the time to its deadline.
_RESERVED_SECONDS = 1.0
_RESERVED_SHARE = 0.2

_BUILD = "build"

_log = structlog.get_logger("waypost.yields")


class Source(NamedTuple):
    """A protocol on a chain; `name` is the protocol's in requests."""

    protocol: yield_protocol_pb2.YieldProtocol
    name: str
    type: yield_protocol_pb2.YieldType
    chain: str


class Pool(NamedTuple):
    """A pool of the comparison: its row in full, its assets' symbols case-folded, its size (None: unknown)."""

    source: Source
    row: yield_pb2.BestYield
    symbols: frozenset[str]
    tvl: float | None


class Failure(NamedTuple):
    """A source that could not be read."""

    source: Source
    error: GatewayError


class _Answered(NamedTuple):
    pools: Sequence[Pool]
    left_out: Mapping[str, int]
    is_stale: bool


class Comparison:
    """The pools of one build, in order: highest rate first, then largest first, then by name.

    `begun_at` is when the build began, on the clock of `BestYields`; `failures` are in the order of the sources.
    """

    def __init__(
        self, pools: Iterable[Pool], failures: Sequence[Failure], stale: frozenset[Source], begun_at: float
    ) -> None:
        self.failures = failures
        self.begun_at = begun_at
        self._stale = stale
        self._lists: dict[tuple[int, str], list[Pool]] = {}
        for pool in sorted(pools, key=_rank):
            kind = pool.source.type
            for symbol in {"", *pool.symbols}:
                self._lists.setdefault((0, symbol), []).append(pool)
                self._lists.setdefault((kind, symbol), []).append(pool)

    @property
    def pools(self) -> Sequence[Pool]:
        """All pools in order."""
        return self._lists.get((0, ""), ())

    def select(self, *, token: str = "", min_tvl: float | None = None, limit: int, kind: int = 0) -> Sequence[Pool]:
        """Return the first `limit` pools with an asset of that symbol (any casing), of that type, of that size.

        `token` "", `min_tvl` None and `kind` 0 keep all; any other `min_tvl` drops pools of unknown size.
        """
        listed = self._lists.get((kind, token.casefold()), ())
        if min_tvl is None:
            return listed[:limit]
        found: list[Pool] = []
        for pool in listed:
            if pool.tvl is not None and pool.tvl >= min_tvl:
                found.append(pool)
                if len(found) == limit:
                    break
        return found

    def failures_of(self, kind: int = 0) -> Sequence[Failure]:
        """Return what could not be read of the sources of a type, 0 for all."""
        return [failure for failure in self.failures if kind in (0, failure.source.type)]

    def check(self, kind: int) -> None:
        """Raise UpstreamUnavailable where no pool of that type (0: any) is known and a source of it failed."""
        failures = self.failures_of(kind)
        if failures and (kind, "") not in self._lists:
            raise _none_answered(failures)

    def is_stale(self, pools: Iterable[Pool]) -> bool:
        """Return whether any of the pools comes from a source that was past its lifetime."""
        return bool(self._stale) and any(pool.source in self._stale for pool in pools)


class BestYields:
    """Keeps the comparison. `count` is given what is left out of it; `clock` is monotonic, in seconds."""

    def __init__(
        self,
        sources: Sequence[Source],
        protocols: ReadsPools,
        *,
        count: CountLeftOut | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sources = tuple(sources)
        self._protocols = protocols
        self._count = count or _ignore
        self._clock = clock
        self._kept: Comparison | None = None
        self._failure: GatewayError | None = None
        self._next_at = -math.inf
        self._builds: SingleFlight[Comparison] = SingleFlight()
        # What the build in flight has read, by source.
        self._outcomes: dict[Source, _Answered | GatewayError] = {}

    async def read(self, cache: CacheContext | None = None, deadline: float | None = None) -> Comparison:
        """Return the comparison that is kept, or that of the build which then runs; `cache` records which.

        A caller whose deadline (monotonic clock, in seconds) comes before the build's end gets what came until then.

        Raises:
            UpstreamUnavailable: no source answered with a pool, and some failed.
        """
        now = self._clock()
        kept = self._kept
        if kept is not None and now < kept.begun_at + _SERVED_SECONDS:
            if now >= kept.begun_at + BUILT_EVERY and now >= self._next_at:
                self._begin()
            if cache is not None:
                # Also for callers that bypass caches: no caller can have more than a build a minute.
                cache.status = "hit"
            return kept
        if cache is not None:
            cache.miss()
        if _BUILD not in self._builds and now < self._next_at and self._failure is not None:
            raise self._failed(self._failure, self._next_at - now)
        build = self._begin()
        # The build goes on for the others, and for the next, where a caller leaves.
        await asyncio.wait((build,), timeout=_wait_seconds(deadline))
        if not build.done():
            return self._so_far()
        try:
            return outcome_of(build)
        except UpstreamUnavailable as error:
            raise self._failed(error, _FAILED_SECONDS) from None

    async def close(self) -> None:
        """Cancel the build in flight."""
        await self._builds.close()

    def _begin(self) -> asyncio.Task[Comparison]:
        # In a context of its own: it outlives the call that needs it first.
        return self._builds.start(_BUILD, self._run, contextvars.Context())

    async def _run(self) -> Comparison:
        try:
            return await self._build()
        except Exception as error:
            self._next_at = self._clock() + _FAILED_SECONDS
            self._failure = error if isinstance(error, GatewayError) else None
            raise

    async def _build(self) -> Comparison:
        begun_at = self._clock()
        until = time.monotonic() + _READ_SECONDS
        outcomes = self._outcomes = {}

        async def read(source: Source) -> None:
            outcomes[source] = await self._read(source, until)

        # All begin in one turn of the loop: what they read of a chain leaves for its node together.
        await asyncio.gather(*map(read, self._sources))
        self._kept = self._compare(outcomes, begun_at, self._count)
        return self._kept

    def _so_far(self) -> Comparison:
        """Return what the build in flight has read; the rest of its sources count as failed."""
        late = {
            source: DeadlineExceeded(
                f"{source.name} on {source.chain} is still being read; ask again", retry_after_ms=1000
            )
            for source in self._sources
            if source not in self._outcomes
        }
        return self._compare({**self._outcomes, **late}, self._clock(), _ignore)

    def _compare(
        self, outcomes: Mapping[Source, _Answered | GatewayError], begun_at: float, count: CountLeftOut
    ) -> Comparison:
        """Return the comparison of what was read; UpstreamUnavailable where that is nothing."""
        pools: list[Pool] = []
        failures: list[Failure] = []
        stale: set[Source] = set()
        for source in self._sources:
            outcome = outcomes[source]
            if isinstance(outcome, GatewayError):
                failures.append(Failure(source, outcome))
                continue
            pools += outcome.pools
            for why, rows in outcome.left_out.items():
                count(source.chain, source.name, why, rows)
            if outcome.is_stale:
                stale.add(source)
        if failures and not pools:
            # Sources that have nothing on their chain do not make it an answer.
            raise _none_answered(failures)
        return Comparison(pools, failures, frozenset(stale), begun_at)

    async def _read(self, source: Source, until: float) -> _Answered | GatewayError:
        use = CacheContext()
        view = ReadView(deadline=until, cache=use)
        try:
            async with asyncio.timeout(until + _SLACK_SECONDS - time.monotonic()):
                found = await self._protocols.answer_best(source.protocol, source.chain, view)
            # Each by itself: thousands of rows at once would keep the loop from others.
            return _Answered(*_sound(source, found.answer), use.status == "stale")
        except TimeoutError:
            error: GatewayError = DeadlineExceeded(
                f"{source.name} on {source.chain} was not read within {_READ_SECONDS:g} s", retry_after_ms=1000
            )
        except GatewayError as failure:
            error = failure
        except Exception:
            _log.exception("a reader of all pools failed", protocol=source.name, chain=source.chain)
            error = Internal(f"{source.name} on {source.chain} could not be read")
        # Kept for a minute: what was read on its way is not.
        release(error)
        _log.info(
            "pools missing in the comparison",
            protocol=source.name,
            chain=source.chain,
            reason=error.reason,
            why=error.message,
        )
        return error

    @staticmethod
    def _failed(error: GatewayError, seconds: float) -> GatewayError:
        """Return a failure of one caller's own, with when to try again."""
        twin = copy.copy(error)
        twin.retry_after_ms = max(1, math.ceil(seconds * 1000))
        return twin


def _sound(source: Source, rows: Sequence[BestRow]) -> tuple[Sequence[Pool], Mapping[str, int]]:
    """Return the pools that can be compared, each once, and how many cannot by why."""
    sound: dict[str, Pool] = {}
    left_out: dict[str, int] = {}
    for found in rows:
        row = found.row
        why = _flaw(row)
        earlier = sound.get(row.pool)
        if why is None:
            if earlier is None or _time(row) > _time(earlier.row):
                sound[row.pool] = _pool(source, found)
            if earlier is not None:
                why = "duplicate"
        if why is not None:
            left_out[why] = left_out.get(why, 0) + 1
    return tuple(sound.values()), left_out


def _flaw(row: yield_pb2.BestYield) -> str | None:
    """Return why a row cannot be compared, None where it can. Its rate is not a number where none is known."""
    if math.isnan(row.apy):
        return "no_rate"
    if math.isinf(row.apy):
        return "not_finite"
    return "too_high" if row.apy > HIGHEST_APY else None


def _pool(source: Source, found: BestRow) -> Pool:
    """Return a pool, its row completed; a size that cannot be becomes unknown."""
    row, symbols = found
    row.chain, row.protocol, row.type = source.chain, source.protocol, source.type
    if not row.symbol:
        row.symbol = "-".join(symbols)
    if row.HasField("tvl") and not (math.isfinite(row.tvl) and row.tvl >= 0):
        row.ClearField("tvl")
    folded = frozenset(symbol.casefold() for symbol in symbols)
    return Pool(source, row, folded, row.tvl if row.HasField("tvl") else None)


def _ignore(chain: str, protocol: str, why: str, rows: int) -> None:
    """Count nothing."""


def _wait_seconds(deadline: float | None) -> float | None:
    """Return how long a caller can wait, in seconds; what is left then is enough to answer the call."""
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    return max(left - min(_RESERVED_SECONDS, left * _RESERVED_SHARE), 0.0)


def _time(row: yield_pb2.BestYield) -> tuple[int, int]:
    return row.updated_at.seconds, row.updated_at.nanos


def _rank(pool: Pool) -> tuple[object, ...]:
    source, row, _, tvl = pool
    return -row.apy, math.inf if tvl is None else -tvl, row.pool.casefold(), row.pool, source.chain, source.protocol


def _none_answered(failures: Sequence[Failure]) -> UpstreamUnavailable:
    first = failures[0]
    return UpstreamUnavailable(
        f"no pool is known: {len(failures)} protocols and chains did not answer; "
        f"{first.source.name} on {first.source.chain}: {first.error.message}",
        retry_after_ms=math.ceil(_FAILED_SECONDS * 1000),
    )
