"""Prices that contracts report: Chainlink's feeds, Pyth, lending markets' oracles, issuers' own feeds."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from server.catalog.feeds import CATCHING_UP_SECONDS
from server.chains.capabilities.contracts import ReadsFeeds
from server.chains.view import ReadView
from server.errors import GatewayError
from server.prices.source import AHEAD_SECONDS, Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from server.catalog.feeds import Feed, PriceTable
    from server.chains.capabilities.contracts import Quote
    from server.chains.registry import Chains
    from server.upstream.cache import CacheContext

    Quotes = Mapping[Feed, Quote | None]


class OnChainFeeds:
    """See `PriceSource`. One request per chain, whatever is asked for. `clock` returns unix seconds."""

    def __init__(self, chains: Chains, table: PriceTable, *, clock: Callable[[], float] = time.time) -> None:
        self._chains = chains
        self._table = table
        self._clock = clock

    async def read(self, symbols: Collection[str], until: float, use: CacheContext | None) -> list[Observation]:
        """Return the first live price of each publisher, by symbol.

        A report that is too old or dated ahead is not live, nor one from behind a layer-2 sequencer that does not
        run or has only just begun to. A chain that does not answer costs the feeds on it, nothing else.
        """
        wanted = {symbol: feeds for symbol in symbols if (feeds := self._table.feeds.get(symbol))}
        needed = dict.fromkeys(feed for feeds in wanted.values() for one in feeds for feed in self._with_factors(one))
        by_chain: dict[str, list[Feed]] = {}
        for feed in needed:
            by_chain.setdefault(feed.chain, []).append(feed)
        for chain, asked in by_chain.items():
            if chain in self._table.sequencers:
                asked.append(self._table.sequencers[chain])
        answers = await asyncio.gather(
            *(self._ask(chain, asked, ReadView(deadline=until, cache=use)) for chain, asked in by_chain.items())
        )
        quotes = {feed: quote for of_chain in answers for feed, quote in of_chain.items()}
        return [one for symbol, feeds in wanted.items() for one in self._live(symbol, feeds, quotes)]

    def _with_factors(self, feed: Feed) -> tuple[Feed, ...]:
        return (feed, *self._factors(feed)) if feed.times else (feed,)

    def _factors(self, feed: Feed) -> tuple[Feed, ...]:
        """Return the feeds by one of which an exchange rate has to be multiplied."""
        feeds = self._table.feeds.get(feed.times, ())
        return tuple(one for one in feeds if one.publisher == feed.publisher and not one.times)

    async def _ask(self, chain: str, feeds: list[Feed], view: ReadView) -> Quotes:
        try:
            reader = self._chains.capability(chain, ReadsFeeds)
            return dict(zip(feeds, await reader.read_feeds(feeds, view), strict=True))
        except GatewayError:
            return {}

    def _live(self, symbol: str, feeds: Iterable[Feed], quotes: Quotes) -> Iterable[Observation]:
        found: dict[str, Observation] = {}
        for feed in feeds:
            if feed.publisher not in found:
                one = self._observe(symbol, feed, quotes)
                if one is not None:
                    found[feed.publisher] = one
        return found.values()

    def _observe(self, symbol: str, feed: Feed, quotes: Quotes) -> Observation | None:
        quote = quotes.get(feed)
        if quote is None or not self._is_live(feed, quote, quotes):
            return None
        # A report without a time is as of now: it was read in this request.
        told_at = datetime.fromtimestamp(self._clock() if quote.told_at is None else quote.told_at, UTC)
        one = Observation(symbol, feed.publisher, quote.price, told_at)
        if not feed.times:
            return one
        factors = (self._observe(feed.times, factor, quotes) for factor in self._factors(feed))
        by = next((factor for factor in factors if factor is not None), None)
        return None if by is None else replace(one, value=one.value * by.value, told_at=min(told_at, by.told_at))

    def _is_live(self, feed: Feed, quote: Quote, quotes: Quotes) -> bool:
        sequencer = self._table.sequencers.get(feed.chain)
        if sequencer is not None and not self._has_caught_up(quotes.get(sequencer)):
            return False
        return quote.told_at is None or -AHEAD_SECONDS <= self._clock() - quote.told_at <= feed.lifetime

    def _has_caught_up(self, sequencer: Quote | None) -> bool:
        since = None if sequencer is None else sequencer.told_at
        return since is not None and self._clock() - since >= CATCHING_UP_SECONDS
