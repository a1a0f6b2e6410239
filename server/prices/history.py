"""Past prices: one a day, the day's highest (contract section 4.4), out of the database and the off-chain sources."""

from __future__ import annotations

import asyncio
import math
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import structlog
from sqlalchemy.exc import SQLAlchemyError

from server.errors import GatewayError, PriceUnavailable
from server.prices.source import EURO
from server.storage.price_records import ALL_HOURS, KnownDay, KnownDays, PricedDay, join_days, join_sources
from server.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from server.prices.source import HistorySource
    from server.storage.price_records import PriceRecords

    Days = Mapping[date, KnownDay]

LONGEST_DAYS = 90
"""How far back prices are answered."""

_log = structlog.get_logger("waypost.prices")

_FETCH_SECONDS = 10.0
_WAIT_SECONDS = 2.0
_STORED_SECONDS = 3.0
_CLOSE_SECONDS = 2.0
_SHARE = 0.8
# How long sources are not asked again: about a day of which too few hours are known, or none, the running day among
# them; and after a failure.
_PARTIAL_AGAIN = timedelta(hours=6)
_AFTER_FAILURE_SECONDS = 30.0
_ONE = Decimal(1)
# Banks publish no rates on holidays: the last one before counts for so many days.
_RATE_DAYS = 7


class PricePoint(NamedTuple):
    """The highest price of a day (UTC) in the currency asked for.

    `is_complete`: it is the whole day's: the day is over and at least 22 of its hours are known.
    """

    day: date
    value: Decimal
    is_complete: bool


class PriceHistory:
    """Reads past prices. `clock` is monotonic, `wall` returns unix seconds."""

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
        # When a symbol's fetch last ended, and until when it is left alone after a failure, on the monotonic clock.
        self._ended: dict[str, float] = {}
        self._paused: dict[str, float] = {}
        self._fetches: SingleFlight[KnownDays] = SingleFlight()
        # What was fetched of each symbol lately, for while the database fails, and of which it has not taken that.
        self._latest: dict[str, _Fetched] = {}
        self._unstored: set[str] = set()
        self._storing: set[asyncio.Task[None]] = set()

    async def read(self, symbol: str, days: int, currency: str, deadline: float | None) -> list[PricePoint]:
        """Return the last `days` days (at most 90), today included, oldest first; unknown days are left out.

        Days not collected are asked of the first off-chain source that has them, and stored. In euros each day is
        converted at that day's last rate, or the last one of the week before it. `deadline` is in seconds of the
        monotonic clock.

        Raises:
            PriceUnavailable: nothing is stored and no source answers, or in euros no rate is known.
        """
        known = await self._known(symbol, days, deadline)
        today = self._now().date()
        rates = await self._known(EURO, days + _RATE_DAYS, deadline) if currency == EURO else None
        points = []
        for day in sorted(known):
            rate = _ONE if rates is None else _rate(rates, day)
            if rate is not None:
                row = known[day]
                points.append(PricePoint(day, row.maximum / rate, row.is_whole and day < today))
        if known and not points:
            raise PriceUnavailable("the euro's exchange rate of these days is not known; ask in US dollars")
        return points

    async def close(self) -> None:
        """Give up what is in flight; what is being stored may still be."""
        if self._storing:
            await asyncio.wait(self._storing, timeout=_CLOSE_SECONDS)
        await self._fetches.close()
        for task in self._storing:
            task.cancel()
        await asyncio.gather(*self._storing, return_exceptions=True)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._wall(), UTC)

    async def _known(self, symbol: str, days: int, deadline: float | None) -> Days:
        """Return the last days of a token by day: what is stored, and what the sources add where they are to be asked.

        Today goes on, so it is asked for even where every day before is known, but then not waited for long.
        """
        now = self._now()
        today = now.date()
        first = today - timedelta(days=days - 1)
        began = self._clock()
        stored = await self._stored(symbol, _oldest(symbol, today), today)
        if self._ended.get(symbol, -math.inf) >= began:
            # Another caller's fetch ended meanwhile: what it brought may not have been there yet.
            stored = await self._stored(symbol, _oldest(symbol, today), today)
        due = _due(stored, symbol, now)
        fetched: KnownDays | None = None
        if due is not None and self._sources and self._paused.get(symbol, 0.0) <= self._clock():
            waits = any(_is_due(stored, first + timedelta(days=number), now) for number in range(days - 1))
            wait_seconds = _FETCH_SECONDS if waits or today not in stored.days else _WAIT_SECONDS
            fetched = await self._ask(symbol, (today - due).days + 1, wait_seconds, deadline)
        known = stored.days if fetched is None else join_days(stored.days, fetched.days)
        known = {day: row for day, row in known.items() if first <= day}
        if not known and not self._sources:
            raise PriceUnavailable(f"no past prices of {symbol} are stored yet, and no source of them is configured")
        if not known and due is not None and fetched is None:
            raise PriceUnavailable(f"no source of past prices of {symbol} answers; try again")
        return known

    async def _stored(self, symbol: str, first: date, last: date) -> KnownDays:
        """Return what is stored, and what could not be."""
        try:
            async with asyncio.timeout(_STORED_SECONDS):
                stored = await self._records.read(symbol, first, last)
        except (SQLAlchemyError, OSError) as error:
            # Its text may hold the database's address.
            _log.warning("stored prices cannot be read", failure=type(error).__name__)
            return self._latest[symbol].known() if symbol in self._latest else KnownDays({}, {})
        if symbol not in self._unstored:
            return stored
        latest = self._latest[symbol].known()
        return KnownDays(join_days(latest.days, stored.days), {**stored.asked, **latest.asked})

    async def _ask(self, symbol: str, days: int, wait_seconds: float, deadline: float | None) -> KnownDays | None:
        """Return what the sources answer within the wait, None where they do not; callers share one fetch."""
        fetch = self._fetches.start(symbol, lambda: self._fetch(symbol, days))
        if deadline is not None:
            wait_seconds = min(wait_seconds, (deadline - self._clock()) * _SHARE)
        # Not cancelled with the caller: the next one finds what was stored.
        await asyncio.wait((fetch,), timeout=max(wait_seconds, 0.0))
        return fetch.result() if fetch.done() and not fetch.cancelled() and fetch.exception() is None else None

    async def _fetch(self, symbol: str, days: int) -> KnownDays:
        try:
            fetched = await self._read_sources(symbol, days)
        except Exception as error:
            if not isinstance(error, GatewayError):
                _log.error("past prices cannot be read", symbol=symbol, failure=type(error).__name__)
            self._paused[symbol] = self._clock() + _AFTER_FAILURE_SECONDS
            raise
        self._ended[symbol] = self._clock()
        return fetched

    async def _read_sources(self, symbol: str, days: int) -> KnownDays:
        """Return and store the days of the first source that has any; GatewayError where none does and one fails."""
        deadline = self._clock() + _FETCH_SECONDS
        now = self._now()
        failure: GatewayError | None = None
        rows: list[PricedDay] = []
        for source in self._sources:
            try:
                read = await source.read_days(symbol, days, deadline)
            except GatewayError as error:
                _log.warning("a source of past prices is left out", source=source.name, why=error.message)
                failure = failure or error
                continue
            if read:
                rows = [
                    PricedDay(symbol, day, source.name, row.maximum, row.last, row.last_at, row.hours)
                    for day, row in read.items()
                ]
                break
        if not rows and failure is not None:
            raise failure
        asked = dict.fromkeys((now.date() - timedelta(days=number) for number in range(days)), now)
        fetched = _Fetched({row[:3]: row for row in rows}, asked)
        storing = asyncio.create_task(self._store(symbol, fetched))
        self._storing.add(storing)
        storing.add_done_callback(self._storing.discard)
        # Callers do not wait longer than that for a busy database.
        await asyncio.wait((storing,), timeout=_STORED_SECONDS)
        return KnownDays(join_sources(rows), asked)

    async def _store(self, symbol: str, fetched: _Fetched) -> None:
        """Store what was fetched, and what could not be stored before; what cannot be now is answered from memory."""
        latest = self._latest[symbol] = fetched.after(self._latest.get(symbol), _oldest(symbol, self._now().date()))
        waiting = latest if symbol in self._unstored else fetched
        self._unstored.add(symbol)
        try:
            requests = [(symbol, day, at) for day, at in waiting.asked.items()]
            await self._records.note((), list(waiting.rows.values()), requests)
        except (SQLAlchemyError, OSError) as error:
            _log.warning("past prices cannot be stored", failure=type(error).__name__)
        else:
            self._unstored.discard(symbol)


class _Fetched(NamedTuple):
    """Days of a token by the key of their row, and when sources were asked about which day."""

    rows: Mapping[tuple[str, date, str], PricedDay]
    asked: Mapping[date, datetime]

    def known(self) -> KnownDays:
        return KnownDays(join_sources(self.rows.values()), self.asked)

    def after(self, before: _Fetched | None, oldest: date) -> _Fetched:
        """Return this with what was fetched before of other days, from the oldest on."""
        if before is None:
            return self
        rows = {key: row for key, row in before.rows.items() if row.day >= oldest}
        asked = {day: at for day, at in before.asked.items() if day >= oldest}
        return _Fetched({**rows, **self.rows}, {**asked, **self.asked})


def _oldest(symbol: str, today: date) -> date:
    return today - timedelta(days=LONGEST_DAYS + (_RATE_DAYS if symbol == EURO else 0) - 1)


def _due(stored: KnownDays, symbol: str, now: datetime) -> date | None:
    """Return the oldest day that the sources are to be asked about, None where there is none."""
    today = now.date()
    oldest = _oldest(symbol, today)
    days = (oldest + timedelta(days=number) for number in range((today - oldest).days + 1))
    return next((day for day in days if _is_due(stored, day, now)), None)


def _is_due(stored: KnownDays, day: date, now: datetime) -> bool:
    """Return whether the sources are to be asked about a day.

    A day of which too few hours are known, and the running one, but not again for six hours. Also one that was asked
    about before it was over, unless all its hours are known.
    """
    asked, row = stored.asked.get(day), stored.days.get(day)
    # A clock that was set back does not silence the sources.
    age = None if asked is None or asked > now else now - asked
    if row is None or not row.is_whole or day == now.date():
        return age is None or age >= _PARTIAL_AGAIN
    return asked is not None and asked.date() <= day and row.hours != ALL_HOURS


def _rate(rates: Days, day: date) -> Decimal | None:
    """Return the last exchange rate known on a day, None where none was for a week."""
    for back in range(_RATE_DAYS + 1):
        row = rates.get(day - timedelta(days=back))
        if row is not None:
            return row.last
    return None
