"""A source that tells all of its prices at once: asked rarely, and answered from in between."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Protocol

import structlog

from server.errors import GatewayError
from server.sources.prices.source import AHEAD_SECONDS
from server.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from server.sources.prices.source import Observation
    from server.upstream.cache import CacheUse

KEPT_SECONDS = 60.0
"""How long what a source told is given again without asking it."""

FETCH_SECONDS = 10.0
"""How long a source may take. Callers do not wait that long; the next ones find what it told."""

PAUSE_SECONDS = 5.0
"""For how long a source is left alone that failed."""

LONGEST_WAIT = 2.0
"""How long callers wait for a source. Those who come later do not wait for one that others have waited for so long."""

_log = structlog.get_logger("waypost.prices")


class Api(Protocol):
    """An off-chain API. `lifetime` is in seconds how long a price of it is live."""

    name: str
    lifetime: float

    async def fetch(self, deadline: float) -> Sequence[Observation]:
        """Return all prices that it tells; GatewayError when it fails or answers in an unknown shape."""
        ...


class Sheet:
    """See `PriceSource`. One request, whoever asks for which symbols, and none for a minute after.

    After a failure the source is left alone for a moment; what it told before counts as long as that is live. With
    `kept_seconds` 0 nothing is given twice. `clock` is monotonic, `wall` unix seconds.
    """

    def __init__(
        self,
        api: Api,
        *,
        kept_seconds: float = KEPT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._seconds = kept_seconds
        self._clock = clock
        self._wall = wall
        self._told: Sequence[Observation] = ()
        self._good_until = 0.0
        self._paused_until = 0.0
        self._failure = ""
        self._fetches: SingleFlight[None] = SingleFlight()
        self._began = 0.0

    async def read(self, symbols: Collection[str], until: float, use: CacheUse | None) -> list[Observation]:
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
            patience = min(until, self._began + LONGEST_WAIT) - now
            # Not cancelled with the caller: the next one gains from it.
            await asyncio.wait((self._fetches.start(self._api.name, self._fetch),), timeout=max(patience, 0.0))
        wall = self._wall()
        return [
            one
            for one in self._told
            if one.symbol in symbols and -AHEAD_SECONDS <= wall - one.told_at.timestamp() <= self._api.lifetime
        ]

    async def close(self) -> None:
        """Give up what is in flight."""
        await self._fetches.close()

    async def _fetch(self) -> None:
        try:
            self._told = await self._api.fetch(self._clock() + FETCH_SECONDS)
            self._good_until = self._clock() + self._seconds
            self._failure = ""
        except GatewayError as error:
            self._paused_until = self._clock() + PAUSE_SECONDS
            if error.message != self._failure:
                _log.warning("a source of prices is left out", source=self._api.name, why=error.message)
            self._failure = error.message
