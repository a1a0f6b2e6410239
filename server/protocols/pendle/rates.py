"""What tokens of a market of yield-a are worth in its asset, by the rate at which it last traded.

Source: package @pendle/core-v2 6.11.0, PendlePYOracleLib.sol and PendleLpOracleLib.sol at duration 0 (the stored rate
itself, no average). Before expiry a principal token is worth e^(-rate * time / 365 days) of the asset, from then on
one; a yield token the rest. Where the token that is split is worth less than it once was, both lose in proportion.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from typing import TYPE_CHECKING, NamedTuple

from server.protocols.yields import YEAR_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

_ONE = 10**18
# Where the contracts' own exponential function ends (LogExpMath.sol, MAX_NATURAL_EXPONENT).
_HIGHEST = 130 * _ONE
_CONTEXT = Context(prec=40)


class State(NamedTuple):
    """A market at a block: its principal and split tokens, its own tokens, the stored rate (ln, 18 places).

    `backs` is how much principal one split token backs, `rate` what it is worth now; both 18 places.
    """

    principal: int
    split: int
    liquidity: int
    ln_rate: int
    rate: int
    backs: int


class Rates(NamedTuple):
    """What one raw unit of each token is worth in raw units of the asset; None where there never was liquidity.

    `apy` is the implied rate in percent per year, 0 from expiry on.
    """

    apy: float | None
    principal: Decimal | None
    yields: Decimal | None
    liquidity: Decimal | None


def read_state(market: Sequence[int], rate: int, backs: int) -> State:
    """Return the state of what a market and its tokens returned; ValueError for figures that cannot be."""
    state = State(market[0], market[1], market[2], market[8], rate, backs)
    if min(state) < 0 or not rate or not backs or state.ln_rate > _HIGHEST:
        raise ValueError("a market of yield-a has amounts or rates that cannot be")
    return state


def rates_of(state: State, seconds: int) -> Rates:
    """Return the rates with so many seconds to expiry, 0 or less from then on."""
    is_expired = seconds <= 0
    if not state.liquidity:
        if is_expired:
            return Rates(0.0, _solvency(state), Decimal(0), None)
        return Rates(None, None, None, None)
    solvency = _solvency(state)
    principal = Decimal(1) if is_expired else _discount(state.ln_rate, seconds)
    backing = _CONTEXT.multiply(principal, Decimal(state.principal)) + state.split * state.backs // _ONE
    return Rates(
        apy=0.0 if is_expired else math.expm1(state.ln_rate / _ONE) * 100,
        principal=_CONTEXT.multiply(principal, solvency),
        yields=_CONTEXT.multiply(1 - principal, solvency),
        liquidity=_CONTEXT.multiply(_CONTEXT.divide(backing, Decimal(state.liquidity)), solvency),
    )


def _discount(ln_rate: int, seconds: int) -> Decimal:
    """Return e^(-rate * time): what of the asset is paid today for one at expiry."""
    exponent = _CONTEXT.divide(Decimal(-ln_rate * seconds), Decimal(_ONE * YEAR_SECONDS))
    return _CONTEXT.exp(exponent)


def _solvency(state: State) -> Decimal:
    """Return what part of what it owes the split token can pay: 1, less only where it lost value."""
    return Decimal(1) if state.rate >= state.backs else _CONTEXT.divide(Decimal(state.rate), Decimal(state.backs))
