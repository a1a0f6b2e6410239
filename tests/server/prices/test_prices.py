"""How the sources of current prices are asked together."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from server.errors import InvalidArgument
from server.prices.prices import Prices
from server.prices.source import Observation

if TYPE_CHECKING:
    from collections.abc import Collection

    from server.upstream.cache import CacheContext

NOW = datetime(2027, 1, 15, 8, tzinfo=UTC)


class Fixed:
    """A source that returns what a test gives it, once all of the `others` are asked, and keeps what it was asked."""

    def __init__(self, publisher: str, values: dict[str, str], others: asyncio.Barrier | None = None) -> None:
        self.publisher = publisher
        self.values = values
        self.others = others
        self.asked: list[set[str]] = []
        self.until: list[float] = []

    async def read(self, symbols: Collection[str], until: float, use: CacheContext | None) -> list[Observation]:
        self.asked.append(set(symbols))
        self.until.append(until)
        if self.others is not None:
            await self.others.wait()
        return [
            Observation(symbol, self.publisher, Decimal(value), NOW - timedelta(seconds=len(self.publisher)))
            for symbol, value in self.values.items()
            if symbol in symbols
        ]


async def test_only_what_is_asked_for_is_reported():
    source = Fixed("a", {"BTC": "100", "ETH": "10"})
    prices = await Prices([source]).read(["BTC", "SOL", "BTC"], deadline=None)
    assert {symbol: price.value for symbol, price in prices.items()} == {"BTC": Decimal(100)}
    assert source.asked == [{"BTC", "SOL"}]
    assert await Prices([]).read(["BTC"], deadline=None) == {}


async def test_the_euro_is_asked_for_with_the_others():
    source, bank = Fixed("a", {"BTC": "100", "EUR": "1.25"}), Fixed("bank", {"EUR": "9"})
    prices = await Prices([source], [bank]).read(["BTC", "EUR"], "EUR", deadline=None)
    assert {symbol: price.value for symbol, price in prices.items()} == {"BTC": Decimal(80), "EUR": Decimal(1)}
    assert (source.asked, bank.asked) == ([{"BTC", "EUR"}], [])


async def test_a_fallback_is_asked_for_what_is_missing_alone():
    source, bank = Fixed("a", {"BTC": "100"}), Fixed("bank", {"EUR": "1.25"})
    prices = await Prices([source], [bank]).read(["BTC"], "EUR", deadline=None)
    assert (prices["BTC"].value, prices["BTC"].sources) == (Decimal(80), ("a", "bank"))
    assert prices["BTC"].updated_at == NOW - timedelta(seconds=4)
    assert bank.asked == [{"EUR"}]


async def test_without_a_rate_there_is_nothing_in_euros():
    assert await Prices([Fixed("a", {"BTC": "100"})]).read(["BTC"], "EUR", deadline=None) == {}


async def test_another_currency_is_refused():
    with pytest.raises(InvalidArgument, match="USD, EUR"):
        await Prices([]).read(["BTC"], "CHF", deadline=None)


async def test_sources_are_asked_at_once_and_not_for_the_whole_time_of_the_caller():
    others = asyncio.Barrier(3)
    sources = [Fixed(name, {"BTC": "100"}, others) for name in ("a", "b", "c")]
    began = time.monotonic()
    # One after the other they would wait for each other for ever.
    async with asyncio.timeout(60):
        await Prices(sources).read(["BTC"], deadline=began + 2.0)
    # Four fifths of what is left when they are asked.
    assert all(began + 1.6 <= source.until[0] < began + 2.0 for source in sources)
    began = time.monotonic()
    await Prices(sources).read(["BTC"], deadline=None)
    ended = time.monotonic()
    assert all(began + 4.0 <= source.until[1] <= ended + 4.0 for source in sources)


async def test_a_contradiction_is_reported_once_and_again_after_it_was_settled():
    first, second = Fixed("a", {"BTC": "100"}), Fixed("b", {"BTC": "200"})
    prices = Prices([first, second])
    with capture_logs() as logs:
        for value in ("200", "200", "100", "200"):
            second.values["BTC"] = value
            assert bool(await prices.read(["BTC"], deadline=None)) == (value == "100")
            # What is asked for besides changes nothing.
            await prices.read(["ETH"], deadline=None)
    assert [line["symbol"] for line in logs] == ["BTC", "BTC"]
