"""What every source of prices is to the others: a name, and observations on demand; and days out of single prices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from server.apis.endpoints import is_price, read_moment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import date, datetime
    from decimal import Decimal

    from server.upstream.cache import CacheContext

EURO = "EUR"
"""The symbol of the euro itself: its price in US dollars is the exchange rate."""

AHEAD_SECONDS = 600.0
"""By how much a source's clock may be ahead of ours; a report dated further ahead is not live."""


Token = tuple[str, str]
"""A token by where it is: the chain's slug, and the address in the chain's canonical writing."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A live price of one token in US dollars, above zero.

    `symbol` is the token's, or its address where it is read by that.

    `publisher` is its origin: two observations of one publisher are no two opinions. `told_at` is when the source
    reported it (with its zone).
    """

    symbol: str
    publisher: str
    value: Decimal
    told_at: datetime


@dataclass(frozen=True, slots=True)
class Day:
    """The highest and the last price of a day (UTC) in US dollars.

    `last_at` is when the last one was, `hours` which hours of the day are known, a bit each (see `ALL_HOURS`).
    """

    maximum: Decimal
    last: Decimal
    last_at: datetime
    hours: int


class PriceSource(Protocol):
    """A source of current prices."""

    async def read(self, symbols: Collection[str], until: float, use: CacheContext | None) -> Sequence[Observation]:
        """Return the live observations of these symbols by `until` (monotonic clock).

        A source that fails returns nothing; no error is raised for it.
        """
        ...


class TokenSource(Protocol):
    """A source of current prices of tokens by where they are."""

    async def read(
        self, tokens: Collection[Token], until: float, use: CacheContext | None
    ) -> Mapping[Token, Observation]:
        """Return the live observations of these tokens by `until` (monotonic clock).

        A source that fails returns nothing; no error is raised for it.
        """
        ...


class HistorySource(Protocol):
    """A source of past prices."""

    name: str

    async def read_days(self, symbol: str, days: int, deadline: float) -> Mapping[date, Day]:
        """Return what is known of the last `days` days (UTC), today included; empty for a symbol it does not have.

        Raises GatewayError when it does not answer, or in an unknown shape.
        """
        ...


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
