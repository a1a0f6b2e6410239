"""DefiLlama's price API (`/prices/current`, `/chart`). Source: DefiLlama/api-docs, defillama-openapi-free.json."""

from __future__ import annotations

import asyncio
import re
import time
import tomllib
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from server.apis.endpoints import AGENT, is_price, read_moment, read_shape
from server.prices.source import Observation, daily

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from server.prices.source import Day, Token
    from server.upstream import RestPool

NAME = "defillama"

_IDS_PER_REQUEST = 100
_HOUR_SECONDS = 3600
# Prices that DefiLlama itself trusts less are no price.
_LEAST_CONFIDENCE = Decimal("0.7")
# With this key DefiLlama repeats CoinGecko's price.
_REPEATED = "coingecko"
# DefiLlama's limit on the points of a request is not documented; 500 are taken to be within it.
_DAYS_PER_REQUEST = 20
_POINTS_PER_DAY = 24
# How far from the full hour a price is looked for, so that every hour has one (by default six minutes).
_SEARCH_WIDTH = "30m"


# Addresses go into the path of a request.
_ADDRESS = re.compile(r"[0-9A-Za-z]{1,66}")
# Its names of chains, by slug.
_CHAINS: Mapping[str, str] = tomllib.loads(Path(__file__).with_name("defillama.toml").read_text(encoding="utf-8"))[
    "chains"
]


class _Coin(msgspec.Struct):
    price: Decimal
    timestamp: int
    confidence: Decimal = Decimal(1)


class _Current(msgspec.Struct):
    coins: dict[str, _Coin]


class _Point(msgspec.Struct):
    timestamp: int
    price: Decimal


class _Line(msgspec.Struct):
    prices: list[_Point]


class _Chart(msgspec.Struct):
    coins: dict[str, _Line]


class DefiLlama:
    """See `Api`, `TokenApi` and `HistorySource`. `coins` are its keys by symbol. `wall` returns unix seconds."""

    name = NAME
    lifetime = 6 * 3600.0

    def __init__(self, pool: RestPool, coins: Mapping[str, str], *, wall: Callable[[], float] = time.time) -> None:
        self._pool = pool
        self._coins = coins
        self._wall = wall

    async def fetch(self, deadline: float) -> list[Observation]:
        """Return the price of every coin; see `Api`."""
        found = await self._read_current(dict.fromkeys(self._coins.values()), deadline)
        return [
            Observation(symbol, self._publisher(key), coin.price, read_moment(coin.timestamp, NAME))
            for symbol, key in self._coins.items()
            if (coin := found.get(key)) is not None and _is_usable(coin)
        ]

    async def fetch_tokens(self, tokens: Collection[Token], deadline: float) -> Mapping[Token, Observation]:
        """Return the prices of the tokens that it has; see `TokenApi`."""
        keys = {
            token: f"{_CHAINS[token[0]]}:{token[1]}"
            for token in tokens
            if token[0] in _CHAINS and _ADDRESS.fullmatch(token[1])
        }
        found = await self._read_current(keys.values(), deadline)
        return {
            token: Observation(token[1], NAME, coin.price, read_moment(coin.timestamp, NAME))
            for token, key in keys.items()
            if (coin := found.get(key)) is not None and _is_usable(coin)
        }

    async def _read_current(self, wanted: Iterable[str], deadline: float) -> dict[str, _Coin]:
        """Return the coins of these keys that it has."""
        keys = list(wanted)
        answers = await asyncio.gather(
            *(
                self._pool.get(
                    f"/prices/current/{','.join(keys[at : at + _IDS_PER_REQUEST])}",
                    headers=AGENT,
                    name="/prices/current",
                    deadline=deadline,
                )
                for at in range(0, len(keys), _IDS_PER_REQUEST)
            )
        )
        found: dict[str, _Coin] = {}
        for answer in answers:
            found |= read_shape(answer.result, _Current, NAME).coins
        return found

    async def read_days(self, symbol: str, days: int, deadline: float) -> Mapping[date, Day]:
        """Return the highest of the hourly prices of each day; see `HistorySource`."""
        key = self._coins.get(symbol)
        if key is None:
            return {}
        now = self._wall()
        today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        first = today - timedelta(days=days - 1)
        # Of the running day the hours so far.
        hours = int((now - first.timestamp()) // _HOUR_SECONDS) + 1
        per_request = _DAYS_PER_REQUEST * _POINTS_PER_DAY
        lines = await asyncio.gather(
            *(
                self._read_line(
                    key, int(first.timestamp()) + at * _HOUR_SECONDS, min(per_request, hours - at), deadline
                )
                for at in range(0, hours, per_request)
            )
        )
        points = [(point.timestamp, point.price) for line in lines for point in line]
        return daily(points, first.date(), today.date(), NAME)

    async def _read_line(self, key: str, start: int, hours: int, deadline: float) -> list[_Point]:
        """Return the hourly prices of a coin from a full hour on (unix seconds)."""
        query = [("start", str(start)), ("span", str(hours)), ("period", "1h"), ("searchWidth", _SEARCH_WIDTH)]
        answer = await self._pool.get(f"/chart/{key}", query, AGENT, name="/chart", deadline=deadline)
        line = read_shape(answer.result, _Chart, NAME).coins.get(key)
        return [] if line is None else line.prices

    def _publisher(self, key: str) -> str:
        return _REPEATED if key.startswith(f"{_REPEATED}:") else NAME


def _is_usable(coin: _Coin) -> bool:
    return is_price(coin.price) and coin.confidence >= _LEAST_CONFIDENCE
