"""Days out of single prices."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from server.apis.endpoints import is_price, read_moment
from server.sources.prices.source import Day

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date
    from decimal import Decimal


# Sources date hourly prices some minutes before or after the full hour.
_HALF_AN_HOUR = timedelta(minutes=30)


def daily(points: Iterable[tuple[int, Decimal]], first: date, last: date, name: str) -> dict[date, Day]:
    """Return the highest and the last price of each day (UTC) from `first` to `last`; days without a price are absent.

    `points` are unix seconds and prices, in any order, as the source `name` answers them. A price counts for the day of
    its own time; the hour that it makes known is the full hour next to it. Raises UpstreamUnavailable for a time that
    no calendar has.
    """
    days: dict[date, Day] = {}
    hours: dict[date, int] = {}
    for moment, price in sorted((read_moment(at, name), price) for at, price in points if is_price(price)):
        day = moment.date()
        if first <= day <= last:
            known = days.get(day)
            days[day] = Day(price if known is None else max(price, known.maximum), price, moment, 0)
        hour = moment + _HALF_AN_HOUR
        hours[hour.date()] = hours.get(hour.date(), 0) | 1 << hour.hour
    return {day: replace(row, hours=hours.get(day, 0)) for day, row in days.items()}
