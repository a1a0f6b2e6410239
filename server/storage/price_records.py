"""Prices that outlive the process: single observations for a while, the highest of each day for long."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, select

from server.storage.tables import price_days, price_observations, price_requests
from server.storage.transactions import insert_new, upsert, write_in_turn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date, datetime
    from decimal import Decimal

    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

LEAST_HOURS = 22
"""A day of which fewer of its 24 hours are known is known in part."""

ALL_HOURS = (1 << 24) - 1
"""Every hour of a day, as `hours` holds them: bit 0 stands for the one that begins at midnight."""


class ObservedPrice(NamedTuple):
    """What a source reported of a token, in US dollars, and when it was reported there."""

    symbol: str
    publisher: str
    told_at: datetime
    value: Decimal


class PricedDay(NamedTuple):
    """The highest and the last price that a source reports of a token on a day (UTC), in US dollars.

    `last_at` is when the last one was, `hours` which hours of the day are known (see `ALL_HOURS`).
    """

    symbol: str
    day: date
    source: str
    maximum: Decimal
    last: Decimal
    last_at: datetime
    hours: int


class KnownDay(NamedTuple):
    """What all sources together report of a token's day; see `PricedDay`."""

    maximum: Decimal
    last: Decimal
    last_at: datetime
    hours: int

    @property
    def is_whole(self) -> bool:
        """Whether enough hours of the day are known to take its maximum for the day's."""
        return self.hours.bit_count() >= LEAST_HOURS


class KnownDays(NamedTuple):
    """What is known of a token's days, and when the off-chain sources were last read for each."""

    days: Mapping[date, KnownDay]
    asked: Mapping[date, datetime]


class PriceRecords:
    """The prices in the database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def note(
        self,
        observations: Sequence[ObservedPrice],
        days: Sequence[PricedDay],
        asked: Iterable[tuple[str, date, datetime]] = (),
    ) -> None:
        """Add observations, those that are there already aside, and fold days into what their source reported of them.

        All of it is committed at once or not at all, in turn with other writers. The higher maximum of a day stands,
        the later `last`, and hours once known stay so. `asked` are symbols, days and when sources were read for them.
        """
        async with write_in_turn(self._engine) as connection:
            if observations:
                rows = [row._asdict() for row in observations]
                await connection.execute(insert_new(self._engine, price_observations), rows)
            if days:
                folded = await self._folded(connection, days)
                await connection.execute(upsert(self._engine, price_days), [row._asdict() for row in folded])
            requests = [{"symbol": symbol, "day": day, "asked_at": at} for symbol, day, at in asked]
            if requests:
                await connection.execute(upsert(self._engine, price_requests), requests)

    async def read(self, symbol: str, first: date, last: date) -> KnownDays:
        """Return what is known of a token's days from `first` to `last`."""
        wanted = select(price_days).where(price_days.c.symbol == symbol, price_days.c.day.between(first, last))
        asked = select(price_requests.c.day, price_requests.c.asked_at).where(
            price_requests.c.symbol == symbol, price_requests.c.day.between(first, last)
        )
        async with self._engine.connect() as connection:
            rows = [PricedDay(*row) for row in await connection.execute(wanted)]
            requests = {row.day: row.asked_at for row in await connection.execute(asked)}
        return KnownDays(join_sources(rows), requests)

    async def read_days(self, symbol: str, first: date, last: date) -> Mapping[date, KnownDay]:
        """Return what is known of a token's days from `first` to `last`, without when sources were read for them."""
        return (await self.read(symbol, first, last)).days

    async def forget(self, observations_before: datetime, days_before: date) -> int:
        """Delete what is older than that and return how many prices it was."""
        async with write_in_turn(self._engine) as connection:
            observed = await connection.execute(
                delete(price_observations).where(price_observations.c.told_at < observations_before)
            )
            days = await connection.execute(delete(price_days).where(price_days.c.day < days_before))
            await connection.execute(delete(price_requests).where(price_requests.c.day < days_before))
            return observed.rowcount + days.rowcount

    async def _folded(self, connection: AsyncConnection, days: Sequence[PricedDay]) -> list[PricedDay]:
        """Return the days with what is stored of them folded in. No other writer runs meanwhile."""
        symbols, dates = {row.symbol for row in days}, [row.day for row in days]
        stored = select(price_days).where(
            price_days.c.symbol.in_(symbols), price_days.c.day.between(min(dates), max(dates))
        )
        known = {row[:3]: PricedDay(*row) for row in await connection.execute(stored)}
        for row in days:
            before = known.get(row[:3])
            known[row[:3]] = row if before is None else _fold(before, row)
        return [known[key] for key in sorted({row[:3] for row in days})]


def join_sources(rows: Iterable[PricedDay]) -> dict[date, KnownDay]:
    """Return the days of one token out of what each source reports: the highest price, the last one, all hours."""
    days: dict[date, KnownDay] = {}
    for row in rows:
        known = KnownDay(*row[3:])
        days[row.day] = known if row.day not in days else _join(days[row.day], known)
    return days


def join_days(known: Mapping[date, KnownDay], new: Mapping[date, KnownDay]) -> dict[date, KnownDay]:
    """Return the days of two accounts."""
    return dict(known) | {day: _join(known[day], row) if day in known else row for day, row in new.items()}


def _fold(known: PricedDay, new: PricedDay) -> PricedDay:
    """Return a day out of two accounts of one source."""
    return known._replace(**_join(KnownDay(*known[3:]), KnownDay(*new[3:]))._asdict())


def _join(known: KnownDay, new: KnownDay) -> KnownDay:
    last = new if new.last_at >= known.last_at else known
    return KnownDay(max(known.maximum, new.maximum), last.last, last.last_at, known.hours | new.hours)
