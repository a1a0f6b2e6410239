"""Opens the prices of a gateway: which sources there are, as the settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.catalog.feeds import load_price_table
from server.sources.prices.on_chain import OnChainFeeds
from server.sources.prices.prices import Prices

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    import aiohttp

    from runtime.settings import Settings
    from server.chains.registry import Chains
    from server.upstream.cache import Cache


def open_prices(
    settings: Settings, chains: Chains, http: aiohttp.ClientSession, cache: Cache | None, lifetime: AsyncExitStack
) -> Prices:
    """Return the prices out of the feeds on chains; what they open is closed with `lifetime`."""
    return Prices([OnChainFeeds(chains, load_price_table())])
