"""Past prices: one a day, the day's highest (contract section 4.4), out of the database and the off-chain sources."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import structlog
from sqlalchemy.exc import SQLAlchemyError

from server.errors import GatewayError, PriceUnavailable
from server.sources.prices.source import EURO
from server.storage.price_records import PricedDay, merge_days

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date
    from decimal import Decimal

    from server.sources.prices.source import HistorySource
    from server.storage.price_records import PriceRecords

    Days = Mapping[date, PricedDay]

LONGEST_DAYS = 90
"""How far back prices are told."""

_log = structlog.get_logger("waypost.prices")

_FETCH_SECONDS = 10.0
_PATIENCE = 2.0
_STORED_SECONDS = 3.0
_SHARE = 0.8
# How long a source's account of a symbol is not asked for again: it grows by an hour an hour; a failure passes sooner.
_AGAIN_SECONDS = 3600.0
_AFTER_FAILURE_SECONDS = 30.0
# Banks publish no rates on holidays: the last one before counts for so many days.
_RATE_DAYS = 7


class PricePoint(NamedTuple):
    """The highest price of a day (UTC) in the currency asked for."""

    day: date
    value: Decimal


class PriceHistory:
    """Reads past prices. `clock` is monotonic, `wall` tells unix seconds."""

    def __init__(
        self,
        records: PriceRecords,
        sources: Sequence[HistorySource],
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._sources = sources
        self._clock = clock
        self._wall = wall
        self._attempts: dict[str, _Attempt] = {}
        self._fetches: dict[str, asyncio.Task[Days]] = {}

    async def read(self, symbol: str, days: int, currency: str, deadline: float | None) -> list[PricePoint]:
        """Return the last `days` days (at most 90), today included, oldest first; unknown days are left out.

        Days that nobody collected are asked of the first off-chain source that has them, and stored. In euros each day
        is converted at that day's last rate, or the last one of the week before it. `deadline` is in seconds of the
        monotonic clock.

        Raises:
            PriceUnavailable: nothing is stored and no source answers, or in euros no rate is known.
        """
        known = await self._known(symbol, days, deadline)
        if currency != EURO:
            return [PricePoint(day, known[day].maximum) for day in sorted(known)]
        rates = await self._known(EURO, days + _RATE_DAYS, deadline)
        points = [
            PricePoint(day, known[day].maximum / rate)
            for day in sorted(known)
            if (rate := _rate(rates, day)) is not None
        ]
        if known and not points:
            raise PriceUnavailable("the euro's exchange rate of these days is not known; ask in US dollars")
        return points

    async def close(self) -> None:
        """Give up what is in flight."""
        tasks = list(self._fetches.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _known(self, symbol: str, days: int, deadline: float | None) -> Days:
        """Return the last days of a token by day: what is stored, and once an hour what the sources add to it.

        Today goes on, so it is asked for even where every day before is known, but then not waited for long.
        """
        today = datetime.fromtimestamp(self._wall(), UTC).date()
        first = today - timedelta(days=days - 1)
        began = self._clock()
        stored = await self._stored(symbol, first, today)
        attempt = self._attempts.get(symbol)
        if attempt is not None and attempt.succeeded and attempt.ended >= began:
            # Somebody else's fetch ended meanwhile: what it brought may not have been there yet.
            stored = await self._stored(symbol, first, today)
        patience = _FETCH_SECONDS if stored is None or not _is_whole(stored, first, today) else _PATIENCE
        if attempt is None or attempt.until <= self._clock() or (stored is None and attempt.succeeded):
            fetched = await self._ask(symbol, patience, deadline)
        else:
            fetched = {} if attempt.succeeded else None
        if not stored and not self._sources:
            raise PriceUnavailable(f"no past prices of {symbol} are stored yet, and no source of them is configured")
        if not stored and fetched is None:
            raise PriceUnavailable(f"no source of past prices of {symbol} answers; try again")
        recent = {day: row for day, row in (fetched or {}).items() if first <= day}
        return merge_days(stored or {}, recent)

    async def _stored(self, symbol: str, first: date, last: date) -> Days | None:
        """Return the stored days, None where the database fails."""
        try:
            async with asyncio.timeout(_STORED_SECONDS):
                return await self._records.read_days(symbol, first, last)
        except (SQLAlchemyError, OSError) as error:
            # Its text may hold the database's address.
            _log.warning("stored prices cannot be read", failure=type(error).__name__)
            return None

    async def _ask(self, symbol: str, patience: float, deadline: float | None) -> Days | None:
        """Return what the sources tell within the patience, None where they do not; callers share what is under way."""
        fetch = self._fetches.get(symbol)
        if fetch is None:
            fetch = self._fetches[symbol] = asyncio.create_task(self._fetch(symbol))
            fetch.add_done_callback(lambda done: self._settle(symbol, done))
        if deadline is not None:
            patience = min(patience, (deadline - self._clock()) * _SHARE)
        # Not cancelled with the caller: the next one finds what was stored.
        await asyncio.wait((fetch,), timeout=max(patience, 0.0))
        return fetch.result() if fetch.done() and not fetch.cancelled() and fetch.exception() is None else None

    def _settle(self, symbol: str, fetch: asyncio.Task[Days]) -> None:
        del self._fetches[symbol]
        if fetch.cancelled():
            return
        error = fetch.exception()
        if error is not None and not isinstance(error, GatewayError):
            _log.error("past prices cannot be read", symbol=symbol, failure=type(error).__name__)
        seconds = _AGAIN_SECONDS if error is None else _AFTER_FAILURE_SECONDS
        ended = self._clock()
        self._attempts[symbol] = _Attempt(ended, ended + seconds, error is None)

    async def _fetch(self, symbol: str) -> Days:
        """Return and store the days of the first source that has any; GatewayError where none does and one fails."""
        days = LONGEST_DAYS + (_RATE_DAYS if symbol == EURO else 0)
        deadline = self._clock() + _FETCH_SECONDS
        today = datetime.fromtimestamp(self._wall(), UTC).date()
        failure: GatewayError | None = None
        for source in self._sources:
            try:
                told = await source.read_days(symbol, days, deadline)
            except GatewayError as error:
                _log.warning("a source of past prices is left out", source=source.name, why=error.message)
                failure = failure or error
                continue
            if told:
                rows = {
                    day: PricedDay(symbol, day, row.maximum, row.last, is_whole=day < today)
                    for day, row in told.items()
                }
                await self._store(list(rows.values()))
                return rows
        if failure is not None:
            raise failure
        return {}

    async def _store(self, rows: Sequence[PricedDay]) -> None:
        try:
            await self._records.note((), rows)
        except (SQLAlchemyError, OSError) as error:
            _log.warning("past prices cannot be stored", failure=type(error).__name__)


class _Attempt(NamedTuple):
    """When the sources were asked last and how it went, and until when they are not asked again."""

    ended: float
    until: float
    succeeded: bool


def _is_whole(stored: Days, first: date, today: date) -> bool:
    """Return whether every day from the first on is known: whole days, and something of today."""
    before = range((today - first).days)
    return today in stored and all(
        (row := stored.get(first + timedelta(days=number))) is not None and row.is_whole for number in before
    )


def _rate(rates: Days, day: date) -> Decimal | None:
    """Return the last exchange rate known on a day, None where none was for a week."""
    for back in range(_RATE_DAYS + 1):
        row = rates.get(day - timedelta(days=back))
        if row is not None:
            return row.last
    return None
