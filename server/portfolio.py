"""What a wallet holds on many chains at once and what that is worth (our own getPortfolio).

Figures are derived from balances and prices alone.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import TYPE_CHECKING, NamedTuple

import structlog

from server.catalog.tokens import NATIVE
from server.chains.capabilities.accounts import KnownAsset, ReadsHoldings
from server.chains.view import ReadView
from server.errors import DeadlineExceeded, GatewayError, InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from server.catalog.tokens import Listing, TokenCatalogue
    from server.chains.capabilities.accounts import Holding
    from server.chains.registry import Chain, Chains
    from server.prices import Prices, Token
    from server.upstream.cache import CacheContext

# Enough digits for the largest balance times the finest price: nothing is rounded before a figure is printed.
_EXACT = Context(prec=400)


@dataclass(frozen=True, slots=True)
class Asset:
    """One asset of a wallet, `raw` in its smallest unit. `price` is US dollars of one, None where no live one is known.

    `address` is contract, mint or denom, or `native`.
    """

    symbol: str
    name: str
    address: str
    raw: int
    decimals: int
    price: Decimal | None

    @property
    def value(self) -> Decimal | None:
        """What the balance is worth in US dollars, exactly."""
        if self.price is None:
            return None
        return _EXACT.multiply(_EXACT.scaleb(Decimal(self.raw), Decimal(-self.decimals)), self.price)


@dataclass(frozen=True, slots=True)
class ChainAssets:
    """A wallet's assets on one chain, the most valuable first, all of `block` where the nodes report it.

    `unread` are the addresses of tokens that did not return their balance.
    """

    chain: str
    block: int | None
    assets: tuple[Asset, ...]
    unread: tuple[str, ...] = ()

    @property
    def total(self) -> Decimal:
        """The sum of the known values."""
        return _sum(value for asset in self.assets if (value := asset.value) is not None)

    @property
    def unpriced(self) -> int:
        """How many of the assets the sum leaves out, because no price is known."""
        return sum(asset.price is None for asset in self.assets)


@dataclass(frozen=True, slots=True)
class ChainFailure:
    """Why a chain could not be read."""

    chain: str
    error: GatewayError


@dataclass(frozen=True, slots=True)
class Wallet:
    """A row per chain, and when they were put together (UTC). `address` is in canonical writing."""

    address: str
    rows: tuple[ChainAssets | ChainFailure, ...]
    read_at: datetime

    @property
    def total(self) -> Decimal:
        """The sum of the known values on the chains that could be read."""
        return _sum(row.total for row in self.rows if isinstance(row, ChainAssets))

    @property
    def unpriced(self) -> int:
        """How many assets of those chains the sum leaves out."""
        return sum(row.unpriced for row in self.rows if isinstance(row, ChainAssets))


def by_value(assets: Iterable[Asset]) -> tuple[Asset, ...]:
    """Return the assets with the most valuable first and those without a price last, equals by symbol."""
    return tuple(sorted(assets, key=lambda asset: (asset.value is None, -(asset.value or 0), asset.symbol.casefold())))


def _sum(values: Iterable[Decimal]) -> Decimal:
    total = Decimal(0)
    for value in values:
        total = _EXACT.add(total, value)
    return total


_log = structlog.get_logger("waypost.portfolio")

# One silent chain does not keep the others waiting for the caller's whole deadline, nor leave the prices none of it.
_LONGEST_SECONDS = 8.0
_SHARE = 0.6
# A read that ends at its own deadline has the more precise error.
_SLACK = 0.1


class _Row(NamedTuple):
    """An asset that has no price yet, and its price key; None for a coin that the catalogue does not have."""

    asset: Asset
    token: Token | None


class _Held(NamedTuple):
    chain: str
    block: int | None
    rows: list[_Row]
    unread: tuple[str, ...]


class Portfolio:
    """Reads wallets. `catalogue` lists the tokens that are looked for."""

    def __init__(self, chains: Chains, catalogue: TokenCatalogue, prices: Prices) -> None:
        self._chains = chains
        self._catalogue = catalogue
        self._prices = prices

    def fitting(self, address: str) -> list[str]:
        """Return the chains to whose form the address belongs; InvalidArgument where there is none."""
        slugs = [chain.slug for chain in self._chains if chain.capability(ReadsHoldings).is_holder(address)]
        if not slugs:
            message = "address: no chain has addresses of that form; check its digits and its casing"
            raise InvalidArgument(message, field="address")
        return slugs

    async def read(
        self, address: str, slugs: Sequence[str], deadline: float | None, cache: CacheContext | None = None
    ) -> Wallet:
        """Return what the address holds of the own coins and the known tokens of these chains.

        Without `slugs` these are all that are `fitting`. They are read at once, each at one
        block; the row of one that fails is its failure. Tokens whose address only a weak source gives are not
        looked for. `deadline` is in seconds of the monotonic clock; `cache` is the caller's context of the cache.

        Raises:
            InvalidArgument: the address is none of a chosen chain, or of any; or a chain is named twice.
            GatewayError: not one chain could be read; the first one's failure.
        """
        chosen = self._choose(address, slugs)
        until = _until(deadline)
        read = [self._read_chain(chain, address, ReadView(deadline=until, cache=cache)) for chain in chosen]
        outcomes = await asyncio.gather(*read)
        failures = [outcome for outcome in outcomes if isinstance(outcome, ChainFailure)]
        if len(failures) == len(outcomes):
            raise failures[0].error
        held = [outcome for outcome in outcomes if isinstance(outcome, _Held)]
        prices = await self._read_prices(held, deadline, cache)
        rows = tuple(outcome if isinstance(outcome, ChainFailure) else _valued(outcome, prices) for outcome in outcomes)
        return Wallet(self._chains.canonical_address(chosen[0].slug, address), rows, datetime.now(UTC))

    def _choose(self, address: str, slugs: Sequence[str]) -> list[Chain]:
        for place, slug in enumerate(slugs):
            if slug in slugs[:place]:
                raise InvalidArgument(f"chains[{place}]: {slug} is named twice", field=f"chains[{place}]")
        if not slugs:
            return [self._chains.get(slug) for slug in self.fitting(address)]
        chosen = [self._chains.get(slug) for slug in slugs]
        for chain in chosen:
            try:
                chain.capability(ReadsHoldings).check_holder(address)
            except InvalidArgument as error:
                raise InvalidArgument(f"{error.message} (asked of {chain.slug})", field="address") from None
        return chosen

    async def _read_chain(self, chain: Chain, address: str, view: ReadView) -> _Held | ChainFailure:
        known = self._catalogue.on_chain(chain.slug)
        assets = [KnownAsset(one.deployment.address, one.deployment.decimals) for one in known.values() if _counts(one)]
        try:
            async with asyncio.timeout(None if view.deadline is None else view.deadline - time.monotonic() + _SLACK):
                holdings = await chain.capability(ReadsHoldings).read_holdings(address, assets, view)
        except TimeoutError:
            return _failed(chain, DeadlineExceeded(f"{chain.slug} did not answer in time", retry_after_ms=1000))
        except GatewayError as error:
            return _failed(chain, error)
        coin = self._catalogue.coin(chain.slug)
        rows = [
            _coin(chain, coin, row) if row.address is None else _listed(known[row.address], row)
            for row in holdings.rows
        ]
        return _Held(chain.slug, holdings.block, rows, holdings.unread)

    async def _read_prices(
        self, held: Sequence[_Held], deadline: float | None, cache: CacheContext | None
    ) -> dict[Token, Decimal]:
        """Return US dollars by token for what is held and has a live price."""
        tokens = [row.token for of_chain in held for row in of_chain.rows if row.token is not None]
        prices = await self._prices.read_tokens(tokens, deadline=deadline, cache=cache)
        return {token: price.value for token, price in prices.items()}


def _until(deadline: float | None) -> float:
    now = time.monotonic()
    return now + (_LONGEST_SECONDS if deadline is None else min(_LONGEST_SECONDS, (deadline - now) * _SHARE))


def _counts(listing: Listing) -> bool:
    """Return whether a token is looked for: the own coin is read anyway, a doubtful address may be another's."""
    row = listing.deployment
    return row.kind != "coin" and not row.mirrors_native and row.unverified != "address"


def _listed(listing: Listing, row: Holding) -> _Row:
    token, deployment = listing
    asset = Asset(deployment.symbol, token.name, deployment.address, row.raw, row.decimals, price=None)
    return _Row(asset, (deployment.chain, deployment.address))


def _coin(chain: Chain, listing: Listing | None, row: Holding) -> _Row:
    """Return a chain's own coin; one outside of the catalogue is named by its symbol and has no price."""
    if listing is not None:
        return _listed(listing, row)
    symbol = chain.native.symbol
    return _Row(Asset(symbol, symbol, NATIVE, row.raw, row.decimals, price=None), None)


def _valued(held: _Held, prices: dict[Token, Decimal]) -> ChainAssets:
    assets = [replace(asset, price=None if token is None else prices.get(token)) for asset, token in held.rows]
    return ChainAssets(held.chain, held.block, by_value(assets), held.unread)


def _failed(chain: Chain, error: GatewayError) -> ChainFailure:
    _log.info("chain missing in a portfolio", chain=chain.slug, reason=error.reason, why=error.message)
    return ChainFailure(chain.slug, error)
