"""What suppliers of a lend-c market earn at this moment, by the adaptive rate model, of an accrued market.

Source: morpho-org/morpho-blue-irm, its rate model and constants; every step is rounded toward zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.protocols.morpho.accrual import WAD
from server.protocols.yields import YEAR_SECONDS

if TYPE_CHECKING:
    from server.protocols.morpho.accrual import Market

_TARGET = 9 * WAD // 10
_STEEPNESS = 4 * WAD
_INITIAL_RATE_AT_TARGET = 4 * WAD // 100 // YEAR_SECONDS


def borrow_rate(market: Market, rate_at_target: int) -> int:
    """Return what borrowers pay per second now (1e18).

    Both are as of the market's accrual in this block: what the model answers before is an average since the last one.
    """
    use = market.borrow_assets * WAD // market.supply_assets if market.supply_assets else 0
    error = _divide((use - _TARGET) * WAD, WAD - _TARGET if use > _TARGET else _TARGET)
    steepness = WAD - WAD * WAD // _STEEPNESS if error < 0 else _STEEPNESS - WAD
    at_target = rate_at_target or _INITIAL_RATE_AT_TARGET
    return (_divide(steepness * error, WAD) + WAD) * at_target // WAD


def earned(market: Market, assets: int, rate: int) -> int:
    """Return what assets of the supply earn per second at a borrow rate, in units of the asset times 1e36."""
    if not market.supply_assets:
        return 0
    return assets * rate * market.borrow_assets * (WAD - market.fee) // market.supply_assets


def _divide(number: int, by: int) -> int:
    quotient = abs(number) // by
    return quotient if number >= 0 else -quotient
