"""Interest of a lend-c market, as the contract itself accrues it.

Source: morpho-org/morpho-blue, Morpho._accrueInterest, MathLib.wTaylorCompounded, SharesMathLib: every step rounds down
but the assets of a debt, which round up; a virtual asset and 10^6 virtual shares stand in every conversion.
"""

from __future__ import annotations

from typing import NamedTuple

WAD = 10**18
_VIRTUAL_ASSETS = 1
_VIRTUAL_SHARES = 10**6


class Market(NamedTuple):
    """The totals of a market, in the order of the contract's struct; `last_update` in unix seconds, 0 for no market."""

    supply_assets: int
    supply_shares: int
    borrow_assets: int
    borrow_shares: int
    last_update: int
    fee: int


def accrue(market: Market, rate: int, now: int) -> Market:
    """Return the market as of `now`, `rate` being the average borrow rate per second since its last update (1e18)."""
    elapsed = now - market.last_update
    if elapsed <= 0:
        return market
    first = rate * elapsed
    second = first * first // (2 * WAD)
    third = second * first // (3 * WAD)
    interest = market.borrow_assets * (first + second + third) // WAD
    supply_assets = market.supply_assets + interest
    supply_shares = market.supply_shares
    if market.fee:
        fee = interest * market.fee // WAD
        # The fee's shares are bought at the price that leaves it out.
        supply_shares += fee * (supply_shares + _VIRTUAL_SHARES) // (supply_assets - fee + _VIRTUAL_ASSETS)
    return market._replace(
        supply_assets=supply_assets,
        supply_shares=supply_shares,
        borrow_assets=market.borrow_assets + interest,
        last_update=now,
    )


def supplied(market: Market, shares: int) -> int:
    """Return what shares of the supply are worth, rounded down."""
    return shares * (market.supply_assets + _VIRTUAL_ASSETS) // (market.supply_shares + _VIRTUAL_SHARES)


def owed(market: Market, shares: int) -> int:
    """Return what shares of the debt cost to repay, rounded up."""
    return -(-shares * (market.borrow_assets + _VIRTUAL_ASSETS) // (market.borrow_shares + _VIRTUAL_SHARES))
