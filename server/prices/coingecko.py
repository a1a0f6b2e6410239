"""CoinGecko's API (`/simple/price`, `/coins/{id}/market_chart`). Source: coingecko/coingecko-api-oas, demo-api.json."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal  # noqa: TC003 - msgspec evaluates the annotations
from typing import TYPE_CHECKING

import msgspec

from server.apis.endpoints import AGENT, changed_shape, is_price, read_moment, read_shape
from server.errors import NotFound
from server.prices.source import Observation, daily

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from server.prices.source import Day
    from server.upstream import RestPool

NAME = "coingecko"

_MILLISECONDS = 1000
# One day comes in steps of five minutes, 2 to 90 days in hours, more than that in days.
_HOURLY_DAYS = 90


# A coin that is not traded any more has a row without a price, or with nothing in it.
class _Coin(msgspec.Struct):
    usd: Decimal | None = None
    last_updated_at: int | None = None


class _Chart(msgspec.Struct):
    prices: list[tuple[int, Decimal]]


class CoinGecko:
    """See `Api` and `HistorySource`. `coins` are its ids by symbol. `wall` returns unix seconds."""

    name = NAME
    lifetime = 6 * 3600.0

    def __init__(self, pool: RestPool, coins: Mapping[str, str], *, wall: Callable[[], float] = time.time) -> None:
        self._pool = pool
        self._coins = coins
        self._wall = wall

    async def fetch(self, deadline: float) -> list[Observation]:
        """Return the price of every coin; see `Api`."""
        query = [
            ("ids", ",".join(dict.fromkeys(self._coins.values()))),
            ("vs_currencies", "usd"),
            ("include_last_updated_at", "true"),
        ]
        answer = await self._pool.get("/simple/price", query, AGENT, name="/simple/price", deadline=deadline)
        coins = read_shape(answer.result, dict[str, _Coin], NAME)
        if coins and coins.keys().isdisjoint(self._coins.values()):
            raise changed_shape(NAME, "not one coin that was asked for")
        prices = []
        for symbol, key in self._coins.items():
            coin = coins.get(key)
            if coin is None or coin.usd is None:
                continue
            if coin.last_updated_at is None:
                raise changed_shape(NAME, "a price without `last_updated_at`")
            if is_price(coin.usd):
                prices.append(Observation(symbol, NAME, coin.usd, read_moment(coin.last_updated_at, NAME)))
        return prices

    async def read_days(self, symbol: str, days: int, deadline: float) -> Mapping[date, Day]:
        """Return the highest of the hourly prices of each day; see `HistorySource`."""
        key = self._coins.get(symbol)
        if key is None:
            return {}
        today = datetime.fromtimestamp(self._wall(), UTC).date()
        # The days asked for begin now, not at midnight.
        query = [("vs_currency", "usd"), ("days", str(min(days + 1, _HOURLY_DAYS)))]
        try:
            answer = await self._pool.get(
                f"/coins/{key}/market_chart", query, AGENT, name="/coins/market_chart", deadline=deadline
            )
        except NotFound:
            return {}
        points = read_shape(answer.result, _Chart, NAME).prices
        return daily(
            [(at // _MILLISECONDS, price) for at, price in points], today - timedelta(days=days - 1), today, NAME
        )
