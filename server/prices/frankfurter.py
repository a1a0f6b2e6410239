"""The euro's reference rate of the European Central Bank, through Frankfurter (`/v1/latest`, `/v1/{from}..{to}`).

One rate per working day, published about 16:00 CET: right, but coarse. Source: lineofflight/frankfurter, v1 openapi.
"""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal  # noqa: TC003 - msgspec evaluates the annotations
from typing import TYPE_CHECKING

import msgspec

from server.apis.endpoints import AGENT, is_price, read_shape
from server.prices.source import EURO, Day, Observation
from server.storage.price_records import ALL_HOURS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from server.upstream import RestPool

NAME = "frankfurter"

_DOLLAR = "USD"
_QUERY = (("base", EURO), ("symbols", _DOLLAR))


class _Latest(msgspec.Struct):
    base: str
    date: date
    rates: dict[str, Decimal]


class _Series(msgspec.Struct):
    base: str
    rates: dict[date, dict[str, Decimal]]


class Frankfurter:
    """See `Api` and `HistorySource`: returns the price of the euro alone. `wall` returns unix seconds."""

    name = NAME
    # Over Easter five days pass between two rates.
    lifetime = 6 * 24 * 3600.0

    def __init__(self, pool: RestPool, *, wall: Callable[[], float] = time.time) -> None:
        self._pool = pool
        self._wall = wall

    async def fetch(self, deadline: float) -> list[Observation]:
        """Return the newest rate, as of the midnight that its day begins with; see `Api`."""
        answer = await self._pool.get("/v1/latest", _QUERY, AGENT, name="/v1/latest", deadline=deadline)
        latest = read_shape(answer.result, _Latest, NAME)
        rate = latest.rates.get(_DOLLAR)
        if latest.base != EURO or rate is None or not is_price(rate):
            return []
        return [Observation(EURO, NAME, rate, _midnight(latest.date))]

    async def read_days(self, symbol: str, days: int, deadline: float) -> Mapping[date, Day]:
        """Return the rate of each working day; see `HistorySource`."""
        if symbol != EURO:
            return {}
        today = datetime.fromtimestamp(self._wall(), UTC).date()
        first = today - timedelta(days=days - 1)
        answer = await self._pool.get(f"/v1/{first}..{today}", _QUERY, AGENT, name="/v1/series", deadline=deadline)
        series = read_shape(answer.result, _Series, NAME)
        if series.base != EURO:
            return {}
        dollars = {day: rates.get(_DOLLAR) for day, rates in series.rates.items() if first <= day <= today}
        # One rate is all that there is of a day.
        return {
            day: Day(rate, rate, _midnight(day), ALL_HOURS)
            for day, rate in dollars.items()
            if rate is not None and is_price(rate)
        }


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
