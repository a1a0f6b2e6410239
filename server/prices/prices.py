"""Prices of symbols and tokens now: one price out of several opinions.

A price that is disputed is absent, never 0 (design section 7).
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

import structlog

from server.catalog.tokens import NATIVE, load_tokens
from server.errors import InvalidArgument
from server.prices.source import EURO

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from server.catalog.tokens import TokenCatalogue
    from server.prices.source import Observation, PriceSource, Token, TokenSource
    from server.upstream.cache import CacheContext

TOLERANCE = Decimal("0.05")
"""How far from the median, as a part of it, an opinion may lie and still count."""


@dataclass(frozen=True, slots=True)
class Price:
    """A price of one token.

    `value` is in the currency asked for; `updated_at` when the oldest input used was reported (UTC); `sources` their
    publishers, in alphabetical order.
    """

    value: Decimal
    updated_at: datetime
    sources: tuple[str, ...]


def settle(observations: Iterable[Observation]) -> Price | None:
    """Return the median of the publishers' reports, None where too few agree.

    Each publisher counts once, by its latest report. Opinions further from the median than `TOLERANCE` are dropped, and
    the median of the others counts if they are the majority; of two that contradict each other neither is believed.
    """
    latest: dict[str, Observation] = {}
    for one in observations:
        known = latest.get(one.publisher)
        if known is None or one.told_at > known.told_at:
            latest[one.publisher] = one
    if not latest:
        return None
    middle = median([one.value for one in latest.values()])
    agreed = [one for one in latest.values() if abs(one.value - middle) <= middle * TOLERANCE]
    if len(agreed) * 2 <= len(latest):
        return None
    return Price(
        value=median([one.value for one in agreed]),
        updated_at=min(one.told_at for one in agreed),
        sources=tuple(sorted(one.publisher for one in agreed)),
    )


def median(values: Sequence[Decimal]) -> Decimal:
    """Return the middle one of the values, the mean of the two middle ones where their number is even."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


_log = structlog.get_logger("waypost.prices")

_LONGEST_SECONDS = 4.0
_SHARE = 0.8

# US dollars per unit of a currency are the price of this symbol; None for the dollar itself.
_CURRENCIES: dict[str, str | None] = {"USD": None, "EUR": EURO}


class Prices:
    """Reads prices.

    `fallbacks` are asked only for what none of the `sources` has: they are right, but coarse. `catalogue` maps a
    token's address to the symbol that prices it, `by_address` are asked for those that it does not have.
    """

    def __init__(
        self,
        sources: Sequence[PriceSource],
        fallbacks: Sequence[PriceSource] = (),
        *,
        catalogue: TokenCatalogue | None = None,
        by_address: Sequence[TokenSource] = (),
    ) -> None:
        self._sources = sources
        self._fallbacks = fallbacks
        self._catalogue = load_tokens() if catalogue is None else catalogue
        self._by_address = by_address
        self._disputed: set[str] = set()

    async def read(
        self,
        symbols: Iterable[str],
        currency: str = "USD",
        *,
        deadline: float | None,
        cache: CacheContext | None = None,
    ) -> dict[str, Price]:
        """Return the price of one token of each symbol that has a live one, in US dollars or euros (`EUR`).

        The price is the median of the independent sources with a fresh one; see `settle` for those that disagree.
        In euros it is divided by the price of the euro, and absent where that is not known. A source that is slow or
        dead is left out: at most a few seconds, and not the whole time to `deadline` (monotonic clock), are waited for
        it. `cache` is the caller's context of the cache. Raises InvalidArgument for another currency.
        """
        if currency not in _CURRENCIES:
            raise InvalidArgument(f"currency: use one of {', '.join(_CURRENCIES)}", field="currency")
        unit = _CURRENCIES[currency]
        wanted = set(symbols)
        dollars = await self._settle(wanted if unit is None else wanted | {unit}, _until(deadline), cache)
        prices = {symbol: price for symbol, price in dollars.items() if symbol in wanted}
        if unit is None:
            return prices
        rate = dollars.get(unit)
        return {} if rate is None else {symbol: convert(price, rate) for symbol, price in prices.items()}

    async def read_tokens(
        self, tokens: Iterable[Token], *, deadline: float | None, cache: CacheContext | None = None
    ) -> dict[Token, Price]:
        """Return the price of one whole unit, in US dollars, of each of these tokens that has a live one.

        Tokens are (chain, address); `NATIVE` is a chain's own coin. A token of the catalogue has its symbol's price,
        and none where no price is known to fit it or its address is not confirmed. Any other has what the sources by
        address report: as a rule one publisher, which `sources` of the price names. Waits as `read` does.
        """
        symbols: dict[Token, str] = {}
        others: list[Token] = []
        for token in dict.fromkeys(tokens):
            chain, address = token
            listed = self._catalogue.on_chain(chain).get(address)
            listing = self._catalogue.coin(chain) if listed is None and address == NATIVE else listed
            if listing is None:
                if address != NATIVE:
                    others.append(token)
            elif listing.deployment.unverified != "address":
                symbol = listing.token.price_of(listing.deployment)
                if symbol is not None:
                    symbols[token] = symbol
        until = _until(deadline)
        of_symbols, of_others = await asyncio.gather(
            self._settle(set(symbols.values()), until, cache), self._settle_others(others, until, cache)
        )
        return of_others | {token: of_symbols[symbol] for token, symbol in symbols.items() if symbol in of_symbols}

    async def observe(self, symbols: Collection[str], until: float) -> list[Observation]:
        """Return every live observation of these symbols by `until` (monotonic clock), unsettled."""
        return await _ask(self._sources, symbols, until, None)

    async def _settle_others(
        self, tokens: Collection[Token], until: float, cache: CacheContext | None
    ) -> dict[Token, Price]:
        if not tokens or not self._by_address:
            return {}
        found = await asyncio.gather(*(source.read(tokens, until, cache) for source in self._by_address))
        settled = {token: settle([of_source[token] for of_source in found if token in of_source]) for token in tokens}
        return {token: price for token, price in settled.items() if price is not None}

    async def _settle(self, symbols: Collection[str], until: float, cache: CacheContext | None) -> dict[str, Price]:
        if not symbols:
            return {}
        prices, reported = _settled(await _ask(self._sources, symbols, until, cache))
        missing = set(symbols) - reported
        if missing and self._fallbacks:
            prices |= _settled(await _ask(self._fallbacks, missing, until, cache))[0]
        self._note_disputes(reported - set(prices), reported)
        return prices

    def _note_disputes(self, disputed: set[str], reported: set[str]) -> None:
        for symbol in sorted(disputed - self._disputed):
            _log.warning("the sources of a price contradict each other; it is left out", symbol=symbol)
        self._disputed = (self._disputed - reported) | disputed


def convert(price: Price, rate: Price) -> Price:
    """Return a price in the currency whose own price in the same unit is `rate`."""
    return replace(
        price,
        value=price.value / rate.value,
        updated_at=min(price.updated_at, rate.updated_at),
        sources=tuple(sorted({*price.sources, *rate.sources})),
    )


def _until(deadline: float | None) -> float:
    now = time.monotonic()
    return now + (_LONGEST_SECONDS if deadline is None else min(_LONGEST_SECONDS, (deadline - now) * _SHARE))


async def _ask(
    sources: Sequence[PriceSource], symbols: Collection[str], until: float, cache: CacheContext | None
) -> list[Observation]:
    observed = await asyncio.gather(*(source.read(symbols, until, cache) for source in sources))
    return [one for of_source in observed for one in of_source]


def _settled(observations: Iterable[Observation]) -> tuple[dict[str, Price], set[str]]:
    """Return the prices by symbol, and the symbols with any observation."""
    by_symbol: dict[str, list[Observation]] = {}
    for one in observations:
        by_symbol.setdefault(one.symbol, []).append(one)
    prices = {symbol: settle(observed) for symbol, observed in by_symbol.items()}
    return {symbol: price for symbol, price in prices.items() if price is not None}, set(by_symbol)
