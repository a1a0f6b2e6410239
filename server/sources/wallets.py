"""What a wallet holds and what that is worth: figures that are derived from balances and prices alone."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from server.errors import GatewayError

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
    """A wallet's assets on one chain, the most valuable first, all of `block` where the nodes tell it.

    `unread` are the addresses of tokens that did not tell their balance.
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
