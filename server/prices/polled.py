"""Prices of off-chain APIs that are polled: those of all symbols, and those of tokens that are asked for.

A token is asked for once a minute, many of them at once.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

import structlog

from server.errors import GatewayError
from server.prices.source import AHEAD_SECONDS
from server.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from server.prices.source import Observation, Token
    from server.upstream.cache import CacheContext

KEPT_SECONDS = 60.0
"""How long a source's answer is reused."""

FETCH_SECONDS = 10.0
"""How long a source may take. Callers do not wait that long; later ones find the answer."""

PAUSE_SECONDS = 5.0
"""For how long a source is left alone that failed."""

LONGEST_WAIT = 2.0
"""How long callers wait for a source. Later ones do not wait for a source that others have waited for so long."""

_log = structlog.get_logger("waypost.prices")


class Source(Protocol):
    """An off-chain API. `lifetime` is in seconds how long a price of it is live."""

    name: str
    lifetime: float


class Api(Source, Protocol):
    """An API whose prices come in one answer."""

    async def fetch(self, deadline: float) -> Sequence[Observation]:
        """Return all its prices; GatewayError when it fails or answers in an unknown shape."""
        ...


SomeApi = TypeVar("SomeApi", bound=Source)


class _Polled(Generic[SomeApi]):
    """One API, asked once at a time. After a failure it is left alone for a moment.

    With `kept_seconds` 0 no answer is reused. `clock` is monotonic, `wall` unix seconds.
    """

    def __init__(
        self,
        api: SomeApi,
        *,
        kept_seconds: float = KEPT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._seconds = kept_seconds
        self._clock = clock
        self._wall = wall
        self._paused_until = 0.0
        self._failure = ""
        self._fetches: SingleFlight[None] = SingleFlight()

    async def close(self) -> None:
        """Give up what is in flight."""
        await self._fetches.close()

    def _is_live(self, observed: Observation, wall: float) -> bool:
        return -AHEAD_SECONDS <= wall - observed.told_at.timestamp() <= self._api.lifetime

    def _pause(self, error: GatewayError) -> None:
        """Leave the API alone for a moment; the log has a failure once."""
        self._paused_until = self._clock() + PAUSE_SECONDS
        if error.message != self._failure:
            _log.warning("a source of prices is left out", source=self._api.name, why=error.message)
        self._failure = error.message


class PolledPrices(_Polled[Api]):
    """See `PriceSource`. One request whatever the callers' symbols, and none for a minute after.

    After a failure its earlier answer counts as long as that is live.
    """

    _observed: Sequence[Observation] = ()
    _good_until = 0.0
    _began = 0.0

    async def read(self, symbols: Collection[str], until: float, use: CacheContext | None) -> list[Observation]:
        """Return the live prices of the symbols, waiting for the source a little, until `until` at most."""
        now = self._clock()
        if now < self._good_until and not (use is not None and use.bypass):
            if use is not None:
                use.hit()
        elif now >= self._paused_until:
            if use is not None:
                use.miss()
            if self._api.name not in self._fetches:
                self._began = now
            wait_seconds = min(until, self._began + LONGEST_WAIT) - now
            # Not cancelled with the caller: the next one gains from it.
            await asyncio.wait((self._fetches.start(self._api.name, self._fetch),), timeout=max(wait_seconds, 0.0))
        wall = self._wall()
        return [one for one in self._observed if one.symbol in symbols and self._is_live(one, wall)]

    async def _fetch(self) -> None:
        try:
            self._observed = await self._api.fetch(self._clock() + FETCH_SECONDS)
            self._good_until = self._clock() + self._seconds
            self._failure = ""
        except GatewayError as error:
            self._pause(error)


_MOST_KEPT = 10_000
# More than that of one read are not asked for: no wallet holds so many, and they would cost others their turn.
_MOST_ASKED = 500


class TokenApi(Source, Protocol):
    """An API that is asked for tokens."""

    async def fetch_tokens(self, tokens: Collection[Token], deadline: float) -> Mapping[Token, Observation]:
        """Return the observations of these tokens; GatewayError when it fails or answers in an unknown shape."""
        ...


class _Kept(NamedTuple):
    """The price of a token, None where it has none, and until when that is reused."""

    observed: Observation | None
    until: float


class PolledTokenPrices(_Polled[TokenApi]):
    """See `TokenSource`. One request at a time; what is asked for meanwhile leaves together with the next one.

    After a failure its earlier answers count as long as they are live.
    """

    def __init__(
        self,
        api: TokenApi,
        *,
        kept_seconds: float = KEPT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(api, kept_seconds=kept_seconds, clock=clock, wall=wall)
        self._kept: OrderedDict[Token, _Kept] = OrderedDict()
        self._wanted: dict[Token, None] = {}
        self._asked: frozenset[Token] = frozenset()

    async def read(self, tokens: Collection[Token], until: float, use: CacheContext | None) -> dict[Token, Observation]:
        """Return the live prices of the tokens, waiting for the source a little, until `until` at most."""
        now = self._clock()
        is_fresh = use is not None and use.bypass
        due = [token for token in tokens if is_fresh or self._is_due(token, now)][:_MOST_ASKED]
        if use is not None:
            (use.miss if due else use.hit)()
        if due:
            await self._ask(due, min(until, now + LONGEST_WAIT))
        wall = self._wall()
        return {
            token: kept.observed
            for token in tokens
            if (kept := self._kept.get(token)) is not None
            and kept.observed is not None
            and self._is_live(kept.observed, wall)
        }

    def _is_due(self, token: Token, now: float) -> bool:
        kept = self._kept.get(token)
        return kept is None or now >= kept.until

    async def _ask(self, tokens: Collection[Token], until: float) -> None:
        """Wait until the source was asked for these tokens, or the time is over, or it failed."""
        before = {token: self._kept.get(token) for token in tokens}
        while missing := [token for token in tokens if self._kept.get(token) is before[token]]:
            now = self._clock()
            if now < self._paused_until or now >= until:
                return
            self._wanted.update((token, None) for token in missing if token not in self._asked)
            # Not cancelled with the caller: the next one gains from it.
            done, _ = await asyncio.wait((self._fetches.start(self._api.name, self._fetch),), timeout=until - now)
            if not done or any(task.cancelled() for task in done):
                return

    async def _fetch(self) -> None:
        asked = self._asked = frozenset(list(self._wanted)[:_MOST_ASKED])
        self._wanted.clear()
        try:
            found = await self._api.fetch_tokens(asked, self._clock() + FETCH_SECONDS)
            until = self._clock() + self._seconds
            for token in asked:
                self._kept[token] = _Kept(found.get(token), until)
                self._kept.move_to_end(token)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            self._failure = ""
        except GatewayError as error:
            self._pause(error)
        finally:
            self._asked = frozenset()
