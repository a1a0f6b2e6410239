"""What vaults of several protocols share: what a part of them is worth, what it grew by, under which name it stands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import yield_share_pb2

from server.protocols.plan import Token
from server.protocols.yields import YEAR_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from server.protocols.reader import TokenPrices

WEEK_SECONDS = 7 * 86_400.0
"""What the growth of a share's price is measured over."""

MANY_SHARES = 10**36
"""Shares whose worth is asked for in place of those of a wallet, which the same read brings.

The worth of a wallet's is computed of it, too low by at most one of the asset's smallest unit; no contract's arithmetic
overflows with as many.
"""

# A member of its own in answers.
_DOLLARS = "usd"


class Held(NamedTuple):
    """An asset in a vault: its symbol, its checksummed address ("" for the chain's coin), an amount in whole units."""

    symbol: str
    address: str
    amount: float


class Worth(NamedTuple):
    """A value in US dollars and when the oldest price that it was computed of was known; None for what is not known."""

    usd: float | None
    updated_at: datetime | None


def balance_of(held: Sequence[Held], usd: float | None) -> yield_share_pb2.BalanceAmounts:
    """Return what a wallet has: amounts by symbol, by address for an asset that is called USD, nothing or as another.

    `usd` is what all is worth, None where that is not known; nothing is worth nothing.
    """
    symbols = [one.symbol.strip().casefold() for one in held]
    amounts = dict[str, float]()
    for one in held:
        symbol = one.symbol.strip().casefold()
        is_plain = symbol not in ("", _DOLLARS) and symbols.count(symbol) == 1
        amounts[one.symbol if is_plain or not one.address else one.address] = one.amount
    return yield_share_pb2.BalanceAmounts(amounts=amounts, usd=usd if any(amounts.values()) else 0.0)


def value(held: Sequence[Held], chain: str, prices: TokenPrices) -> Worth:
    """Return what all is worth by the gateway's own prices; what is not there is worth nothing, whatever its price."""
    usd, updated_at = 0.0, None
    for one in held:
        if not one.amount:
            continue
        price = prices.get(Token(chain, one.address))
        if price is None:
            return Worth(None, None)
        usd += one.amount * float(price.value)
        updated_at = price.updated_at if updated_at is None else min(updated_at, price.updated_at)
    return Worth(usd, updated_at)


def growth_apy(before: int, after: int, seconds: float) -> float | None:
    """Return the percent per year that a share's price grew by within so many seconds; None where that says nothing."""
    if before <= 0 or after <= 0 or seconds <= 0:
        return None
    try:
        return math.expm1(math.log(after / before) * YEAR_SECONDS / seconds) * 100
    except OverflowError:
        return None
