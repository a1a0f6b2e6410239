"""Opens the prices of a gateway: the sources that the settings name."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, NamedTuple

from server.apis.endpoints import ApiErrors
from server.catalog.feeds import load_price_table
from server.catalog.tokens import PRICED_SYMBOLS, load_tokens
from server.prices import coingecko, defillama, frankfurter
from server.prices.coingecko import CoinGecko
from server.prices.collector import PriceCollector
from server.prices.defillama import DefiLlama
from server.prices.frankfurter import Frankfurter
from server.prices.history import PriceHistory
from server.prices.on_chain import OnChainFeeds
from server.prices.polled import KEPT_SECONDS, PolledPrices, PolledTokenPrices
from server.prices.prices import Prices
from server.prices.source import EURO
from server.storage.price_records import PriceRecords
from server.storage.transactions import Lease

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from sqlalchemy.ext.asyncio import AsyncEngine

    from runtime.settings import Settings
    from server.apis.sources import Sources
    from server.chains.registry import Chains
    from server.prices.polled import Api
    from server.prices.source import HistorySource, PriceSource, TokenSource
    from server.upstream import RestPool
    from server.upstream.cache import Cache

_COARSE_SECONDS = 3600.0
_COLLECTED_SECONDS = 300.0
_LEASE = "price collector"
_NO_ADDRESS = "0x" + "0" * 40


class Opened(NamedTuple):
    """Current and past prices."""

    prices: Prices
    history: PriceHistory


def open_prices(
    off_chain: Sources,
    chains: Chains,
    database: AsyncEngine,
    cache: Cache | None,
) -> Opened:
    """Return the prices out of feeds on chains and the off-chain sources of the settings; starts their collector.

    A source that is not configured is asked at its public endpoints, on the devnet not at all. Without a cache no
    answer is reused. What is opened is closed with the sources. To be called on the running loop.
    """
    settings, lifetime = off_chain.settings, off_chain.lifetime
    sources: list[PriceSource] = [OnChainFeeds(chains, load_price_table())]
    fallbacks: list[PriceSource] = []
    history: list[HistorySource] = []
    by_address: list[TokenSource] = []

    def pool_of(name: str) -> RestPool | None:
        return off_chain.open(name, ApiErrors(name)) if off_chain.endpoints(name) else None

    def polled(api: Api, seconds: float) -> PolledPrices:
        prices = PolledPrices(api, kept_seconds=seconds if cache is not None else 0.0)
        lifetime.push_async_callback(prices.close)
        return prices

    gecko, llama, bank = (pool_of(name) for name in (coingecko.NAME, defillama.NAME, frankfurter.NAME))
    if gecko is not None:
        of_gecko = CoinGecko(gecko, _coins(settings, coingecko.NAME))
        sources.append(polled(of_gecko, KEPT_SECONDS))
        history.append(of_gecko)
    if llama is not None:
        of_llama = DefiLlama(llama, _coins(settings, defillama.NAME))
        sources.append(polled(of_llama, KEPT_SECONDS))
        history.append(of_llama)
        of_tokens = PolledTokenPrices(of_llama, kept_seconds=KEPT_SECONDS if cache is not None else 0.0)
        lifetime.push_async_callback(of_tokens.close)
        by_address.append(of_tokens)
    if bank is not None:
        of_bank = Frankfurter(bank)
        fallbacks.append(polled(of_bank, _COARSE_SECONDS))
        history.append(of_bank)
    prices = Prices(sources, fallbacks, by_address=by_address)
    opened = Opened(prices, PriceHistory(PriceRecords(database), history))
    lifetime.push_async_callback(opened.history.close)
    _start_collector(settings, opened.prices, database, lifetime)
    return opened


def _start_collector(settings: Settings, prices: Prices, database: AsyncEngine, lifetime: AsyncExitStack) -> None:
    every = settings.prices.collect_every
    if every is None:
        every = 0.0 if settings.profile == "devnet" else _COLLECTED_SECONDS
    if not every:
        return
    collector = PriceCollector(
        prices,
        PriceRecords(database),
        Lease(database, _LEASE, uuid.uuid4().hex),
        (*PRICED_SYMBOLS, EURO),
        every=every,
        kept_seconds=settings.prices.keep,
    )
    lifetime.push_async_callback(collector.close)
    collector.start()


def _coins(settings: Settings, name: str) -> dict[str, str]:
    """Return the ids of coins at a source by symbol: those of the token catalogue, then those of the settings."""
    known = {coingecko.NAME: _gecko_ids, defillama.NAME: _llama_keys}[name]()
    configured = settings.sources.get(name)
    return known if configured is None else known | configured.coins


def _gecko_ids() -> dict[str, str]:
    return {token.symbol: token.coingecko for token in load_tokens() if token.coingecko and token.price == token.symbol}


def _llama_keys() -> dict[str, str]:
    """Return one key per symbol, that of a contract where there is one: the others only repeat CoinGecko."""
    keys = {}
    for token in load_tokens():
        if token.defillama and token.price == token.symbol:
            own = [key for key in token.defillama if not key.startswith("coingecko:") and _NO_ADDRESS not in key]
            keys[token.symbol] = (own or list(token.defillama))[0]
    return keys
