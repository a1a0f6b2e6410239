"""Prices of the chains' native coins, read from feeds that live on chains."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from server.catalog.feeds import load_native_feeds
from server.chains.capabilities import ReadsFeeds
from server.chains.view import ReadView
from server.errors import GatewayError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from decimal import Decimal

    from server.catalog.feeds import Feed
    from server.chains.capabilities import Quote
    from server.chains.registry import Chains
    from server.upstream.cache import CacheUse

    Quotes = Mapping[Feed, Quote | None]


class NativePrices:
    """Reads native prices in US dollars. `clock` tells unix seconds."""

    def __init__(self, chains: Chains, *, clock: Callable[[], float] = time.time) -> None:
        self._chains = chains
        self._clock = clock
        self._feeds = load_native_feeds()

    async def read_prices(
        self, symbols: Iterable[str], deadline: float | None, cache: CacheUse | None = None
    ) -> dict[str, Decimal]:
        """Return the price of each symbol that has a live one.

        A feed that is older than its heartbeat, or whose layer-2 chain's sequencer does not run, is not live. A chain
        that does not answer costs the feeds on it, nothing else. One request per chain.
        """
        wanted = {symbol: self._feeds.by_symbol.get(symbol, ()) for symbol in symbols}
        by_chain: dict[str, list[Feed]] = {}
        for feed in dict.fromkeys(feed for feeds in wanted.values() for feed in feeds):
            by_chain.setdefault(feed.chain, []).append(feed)
        for chain, feeds in by_chain.items():
            if chain in self._feeds.sequencers:
                feeds.append(self._feeds.sequencers[chain])
        told = await asyncio.gather(
            *(self._read(chain, feeds, ReadView(deadline=deadline, cache=cache)) for chain, feeds in by_chain.items())
        )
        quotes = {feed: quote for of_chain in told for feed, quote in of_chain.items()}
        prices = {symbol: self._first_live(feeds, quotes) for symbol, feeds in wanted.items()}
        return {symbol: price for symbol, price in prices.items() if price is not None}

    async def _read(self, chain: str, feeds: list[Feed], view: ReadView) -> Quotes:
        try:
            reader = self._chains.capability(chain, ReadsFeeds)
            return dict(zip(feeds, await reader.read_feeds(feeds, view), strict=True))
        except GatewayError:
            return {}

    def _first_live(self, feeds: Iterable[Feed], quotes: Quotes) -> Decimal | None:
        for feed in feeds:
            quote = quotes.get(feed)
            if quote is not None and self._is_live(feed, quote, quotes):
                return quote.price
        return None

    def _is_live(self, feed: Feed, quote: Quote, quotes: Quotes) -> bool:
        sequencer = self._feeds.sequencers.get(feed.chain)
        if sequencer is not None and quotes.get(sequencer) is None:
            return False
        return quote.told_at is None or self._clock() - quote.told_at <= feed.heartbeat
