"""Interest of a lend-c market, as the contract itself accrues it.

Source: morpho-org/morpho-blue, Morpho._accrueInterest, MathLib.wTaylorCompounded, SharesMathLib: every step rounds down
but the assets of a debt, which round up; a virtual asset and 10^6 virtual shares stand in every conversion.
"""

from __future__ import annotations

from typing import NamedTuple

from server.protocols.yields import YEAR_SECONDS

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


# Source: morpho-org/morpho-blue-irm, its rate model and constants; every step is rounded toward zero.

_TARGET = 9 * WAD // 10
_STEEPNESS = 4 * WAD
_SPEED = 50 * WAD // YEAR_SECONDS
_INITIAL_RATE_AT_TARGET = 4 * WAD // 100 // YEAR_SECONDS
_LOWEST_RATE_AT_TARGET = WAD // 1000 // YEAR_SECONDS
_HIGHEST_RATE_AT_TARGET = 2 * WAD // YEAR_SECONDS
_LN_2 = 693_147_180_559_945_309
# Beyond these the model's exponential is 0, or more than any bound of it lets through.
_LOWEST_EXPONENT, _HIGHEST_EXPONENT = -41_446_531_673_892_822_312, 93_859_467_695_000_404_319


def borrow_rate(market: Market, rate_at_target: int) -> int:
    """Return what borrowers pay per second now (1e18).

    Both are as of the market's accrual in this block: what the model answers before is an average since the last one.
    """
    return _rate(_error(market), rate_at_target or _INITIAL_RATE_AT_TARGET)


def advance(market: Market, rate_at_target: int, now: int) -> tuple[Market, int]:
    """Return a market that was not accrued in the execution that read it, and its rate at target, as of `now`.

    They are to the wei what accruing would leave: interest at the model's average of the rates at the beginning,
    half-way and the end (once, twice and once), the rate at target moved by e^(speed * error * seconds).
    """
    error = _error(market)
    average = at_end = rate_at_target or _INITIAL_RATE_AT_TARGET
    exponent = _divide(_SPEED * error, WAD) * (now - market.last_update)
    if exponent and rate_at_target:
        at_end = _moved(rate_at_target, exponent)
        average = (rate_at_target + at_end + 2 * _moved(rate_at_target, _divide(exponent, 2))) // 4
    return accrue(market, _rate(error, average), now), at_end


def earned(market: Market, assets: int, rate: int) -> int:
    """Return what assets of the supply earn per second at a borrow rate, in units of the asset times 1e36."""
    if not market.supply_assets:
        return 0
    return assets * rate * market.borrow_assets * (WAD - market.fee) // market.supply_assets


def _error(market: Market) -> int:
    """Return how far a market's use is from the target, -1e18 without any and 1e18 at full use."""
    use = market.borrow_assets * WAD // market.supply_assets if market.supply_assets else 0
    return _divide((use - _TARGET) * WAD, WAD - _TARGET if use > _TARGET else _TARGET)


def _rate(error: int, rate_at_target: int) -> int:
    steepness = WAD - WAD * WAD // _STEEPNESS if error < 0 else _STEEPNESS - WAD
    return (_divide(steepness * error, WAD) + WAD) * rate_at_target // WAD


def _moved(rate_at_target: int, exponent: int) -> int:
    moved = rate_at_target * _exp(exponent) // WAD
    return min(max(moved, _LOWEST_RATE_AT_TARGET), _HIGHEST_RATE_AT_TARGET)


def _exp(exponent: int) -> int:
    """Return the model's e^x (1e18): 2^q * (1 + r + r^2 / 2) with x = q * ln 2 + r, which is off by less than 1 %."""
    exponent = min(exponent, _HIGHEST_EXPONENT)
    if exponent < _LOWEST_EXPONENT:
        return 0
    half = _LN_2 // 2
    power = _divide(exponent - half if exponent < 0 else exponent + half, _LN_2)
    rest = exponent - power * _LN_2
    of_rest = WAD + rest + rest * rest // WAD // 2
    return of_rest << power if power >= 0 else of_rest >> -power


def _divide(number: int, by: int) -> int:
    quotient = abs(number) // by
    return quotient if number >= 0 else -quotient
