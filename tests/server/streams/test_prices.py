"""WatchPrices: the present prices, then each one that changes or goes; all streams look at the sources together."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from waypost.v1 import common_pb2, stream_state_pb2

from server.prices import EURO, Observation, Prices
from server.rpc.rows import row_error
from server.streams.prices import PriceWatches

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection

START = datetime(2026, 1, 1, tzinfo=UTC)


class Source:
    """A source whose prices in US dollars the test sets."""

    def __init__(self, **prices: str) -> None:
        self.prices = prices
        self.asked: list[set[str]] = []
        self.looked = asyncio.Event()

    async def read(self, symbols: Collection[str], until: float, use: Any) -> list[Observation]:
        self.asked.append(set(symbols))
        self.looked.set()
        told_at = START + timedelta(seconds=len(self.asked))
        return [
            Observation(symbol, "source", Decimal(self.prices[symbol]), told_at)
            for symbol in symbols
            if symbol in self.prices
        ]


class Ticker:
    """One stream of prices."""

    def __init__(self, watches: PriceWatches, *symbols: str) -> None:
        self.paid: list[int] = []
        items = [stream_state_pb2.WatchPricesItem(symbol=symbol) for symbol in symbols]
        self.events = watches.watch(stream_state_pb2.WatchPricesRequest(items=items), self._charge)

    async def _charge(self, units: int) -> None:
        self.paid.append(units)

    async def next(self) -> stream_state_pb2.WatchPricesResponse:
        event = await asyncio.wait_for(anext(self.events), 10)
        assert event.cursor == ""
        return stream_state_pb2.WatchPricesResponse.FromString(event.payload)


@asynccontextmanager
async def open_watches(source: Source, every: float = 0.05) -> AsyncIterator[PriceWatches]:
    watches = PriceWatches(Prices([source]), row_error, every=every)
    yield watches
    await watches.close()


async def test_present_prices_and_then_what_changes() -> None:
    source = Source(ETH="3000", BTC="90000", **{EURO: "1.25"})
    async with open_watches(source) as watches:
        ticker = Ticker(watches, "BTC", "ETH")
        bitcoin, ether = await ticker.next(), await ticker.next()
        assert (bitcoin.item, bitcoin.symbol, bitcoin.value.usd, bitcoin.value.eur) == (0, "BTC", 90000.0, 72000.0)
        assert (ether.item, ether.symbol, ether.value.usd) == (1, "ETH", 3000.0)
        assert ether.value.last_updated.ToDatetime(UTC) == START + timedelta(seconds=1)
        source.prices["ETH"] = "3001.5"
        changed = await ticker.next()
        assert (changed.item, changed.value.usd) == (1, 3001.5)
        # The rate of the euro changes them all; when a price was reported does not.
        source.prices[EURO] = "1.2"
        assert [(await ticker.next()).value.eur for _ in range(2)] == [75000.0, 2501.25]
        assert set(ticker.paid) == {2}
        await ticker.events.aclose()


async def test_a_price_that_goes_is_an_error_once_and_then_a_price_again() -> None:
    source = Source(ETH="3000")
    async with open_watches(source) as watches:
        ticker = Ticker(watches, "ETH", "SOL")
        ether, unknown = await ticker.next(), await ticker.next()
        assert not ether.value.HasField("eur")
        assert unknown.error.reason == common_pb2.REASON_PRICE_UNAVAILABLE
        assert (unknown.item, unknown.symbol, unknown.error.code) == (1, "SOL", 503)
        coming = asyncio.create_task(ticker.next())
        async with asyncio.timeout(10):
            for _ in range(3):
                source.looked.clear()
                await source.looked.wait()
        assert not coming.done()
        del source.prices["ETH"]
        gone = await coming
        assert (gone.item, gone.error.reason) == (0, common_pb2.REASON_PRICE_UNAVAILABLE)
        source.prices["ETH"] = "3000"
        back = await ticker.next()
        assert (back.item, back.value.usd) == (0, 3000.0)
        await ticker.events.aclose()


async def test_all_streams_are_one_look_and_equal_events_the_same_bytes() -> None:
    source = Source(ETH="3000", BTC="90000")
    async with open_watches(source, every=3600.0) as watches:
        tickers = [Ticker(watches, "ETH"), Ticker(watches, "ETH", "BTC"), Ticker(watches, "BTC")]
        first = await asyncio.gather(*(anext(ticker.events) for ticker in tickers))
        assert source.asked == [{"ETH", "BTC", EURO}]
        assert first[0].payload is first[1].payload
        later = Ticker(watches, "BTC")
        assert (await later.next()).value.usd == 90000.0
        assert len(source.asked) == 1
        for ticker in (*tickers, later):
            await ticker.events.aclose()
