"""Days out of single prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.sources.prices.shape import is_price, read_moment
from server.sources.prices.source import Day

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date
    from decimal import Decimal


def daily(points: Iterable[tuple[int, Decimal]], first: date, last: date, name: str) -> dict[date, Day]:
    """Return the highest and the last price of each day (UTC) from `first` to `last`; days without a price are absent.

    `points` are unix seconds and prices, in any order, as the source `name` tells them. Raises UpstreamUnavailable for
    a time that no calendar has.
    """
    days: dict[date, Day] = {}
    for moment, price in sorted((read_moment(at, name), price) for at, price in points if is_price(price)):
        day = moment.date()
        if first <= day <= last:
            known = days.get(day)
            days[day] = Day(price if known is None else max(price, known.maximum), price)
    return days
