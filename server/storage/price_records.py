"""Prices that outlive the process: single observations for a while, the highest of each day for long."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, select, update

from server.storage.dialects import insert_new
from server.storage.tables import price_days, price_observations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date, datetime
    from decimal import Decimal

    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine


class ObservedPrice(NamedTuple):
    """What a source told of a token, in US dollars, and when it told it there."""

    symbol: str
    publisher: str
    told_at: datetime
    value: Decimal


class PricedDay(NamedTuple):
    """The highest and the last price of a token on a day (UTC), in US dollars.

    `is_whole` says that the whole day is known, not only the part of it in which somebody collected.
    """

    symbol: str
    day: date
    maximum: Decimal
    last: Decimal
    is_whole: bool


class PriceRecords:
    """The prices in the database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def note(self, observations: Sequence[ObservedPrice], days: Sequence[PricedDay]) -> None:
        """Add observations, those that are there already aside, and fold days into what is known of them.

        All of it is committed at once or not at all. The higher maximum of a day stands, the newer `last`, and a day
        that was whole stays so.
        """
        async with self._engine.begin() as connection:
            if observations:
                rows = [row._asdict() for row in observations]
                await connection.execute(insert_new(self._engine, price_observations), rows)
            for day in sorted(days):
                await self._fold(connection, day)

    async def read_days(self, symbol: str, first: date, last: date) -> dict[date, PricedDay]:
        """Return what is known of a token's days from `first` to `last`."""
        wanted = select(price_days).where(price_days.c.symbol == symbol, price_days.c.day.between(first, last))
        async with self._engine.connect() as connection:
            rows = (await connection.execute(wanted)).all()
        return {row.day: PricedDay(*row) for row in rows}

    async def forget(self, observations_before: datetime, days_before: date) -> int:
        """Delete what is older than that and return how many rows it was."""
        async with self._engine.begin() as connection:
            observed = await connection.execute(
                delete(price_observations).where(price_observations.c.told_at < observations_before)
            )
            days = await connection.execute(delete(price_days).where(price_days.c.day < days_before))
            return observed.rowcount + days.rowcount

    async def _fold(self, connection: AsyncConnection, new: PricedDay) -> None:
        """Fold one day in, whoever else does so meanwhile: a row is changed only if it is still what was read."""
        of_day = (price_days.c.symbol == new.symbol, price_days.c.day == new.day)
        while True:
            added = await connection.execute(insert_new(self._engine, price_days).values(new._asdict()))
            if added.rowcount:
                return
            row = (await connection.execute(select(price_days).where(*of_day))).one_or_none()
            if row is None:
                continue
            known = PricedDay(*row)
            merged = merge(known, new)
            if merged == known:
                return
            unchanged = (price_days.c.maximum == known.maximum, price_days.c.last == known.last)
            changed = await connection.execute(
                update(price_days)
                .where(*of_day, *unchanged, price_days.c.is_whole == known.is_whole)
                .values(maximum=merged.maximum, last=merged.last, is_whole=merged.is_whole)
            )
            if changed.rowcount:
                return


def merge(known: PricedDay, new: PricedDay) -> PricedDay:
    """Return a day out of two accounts of it."""
    return known._replace(
        maximum=max(known.maximum, new.maximum), last=new.last, is_whole=known.is_whole or new.is_whole
    )


def merge_days(known: Mapping[date, PricedDay], new: Mapping[date, PricedDay]) -> dict[date, PricedDay]:
    """Return the days of two accounts, `new` the later one."""
    return dict(known) | {day: merge(known[day], row) if day in known else row for day, row in new.items()}
