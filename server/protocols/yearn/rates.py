"""How the rate of a vault of vault-b is found: by Kong, else by its contracts.

| version | first | else | else |
|---|---|---|---|
| V3 | Kong's net APY (basis average) | the oracle of rates (spot) | growth of a share's price in 7 days (growth) |
| V2 | Kong's net APY | | growth |

The oracle returns 0 where profits do not unlock at the moment (yearn/yearn-devdocs, AprOracle): that is no rate.
Growth is what a share is worth now against the block that is 7 days of blocks older, by the times of the two blocks;
without a node that has the older state there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import yield_protocol_pb2

from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.protocols.plan import Group
from server.protocols.yearn.tables import SLUG
from server.protocols.yields import MANY_SHARES, WEEK_SECONDS, apy_of_apr, block_clock, growth_apy, read_block_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered

_VAULT = Interface.load("server.protocols.yearn", "vault")
CONVERT = _VAULT["convertToAssets"]
PRICE = _VAULT["pricePerShare"]
_ORACLE = Interface.load("server.protocols.yearn", "apr_oracle")
_STRATEGY_APR = _ORACLE["getStrategyApr"]
_CURRENT_APR = _ORACLE["getCurrentApr"]

# It calls a strategy's own oracle, which calls the protocols below it.
_APR_GAS = 1_000_000
_PRICE_GAS = 300_000
_WAD = 10**18


class Rate(NamedTuple):
    """Percent per year, and how it was found."""

    apy: float
    basis: yield_protocol_pb2.YieldBasis


def price_call(vault: str, *, is_v3: bool) -> ContractCall:
    """Return the call of what a share is worth: of many shares in V3, where `pricePerShare` is rounded to the asset."""
    if is_v3:
        return CONVERT.call(vault, MANY_SHARES, gas=_PRICE_GAS, is_optional=True)
    return PRICE.call(vault, gas=_PRICE_GAS, is_optional=True)


def oracle_calls(chain: str, vault: str) -> tuple[ContractCall, ...]:
    """Return the calls that `oracle_rate` reads."""
    oracle = load_address_book().find_contract(SLUG, chain, "aprOracle").address
    return (
        _STRATEGY_APR.call(oracle, vault, 0, gas=_APR_GAS, is_optional=True),
        _CURRENT_APR.call(oracle, vault, gas=_APR_GAS, is_optional=True),
    )


def oracle_rate(strategy: Answered, current: Answered) -> Rate | None:
    """Return the rate that the oracle reports of a vault as a strategy, else that by which its profits unlock."""
    for returned, function in ((strategy, _STRATEGY_APR), (current, _CURRENT_APR)):
        found = returned.read_if_answered(function)
        if found is not None and found[0]:
            return Rate(apy_of_apr(found[0] / _WAD), yield_protocol_pb2.YIELD_BASIS_SPOT)
    return None


def past_group(chain: str, calls: Sequence[ContractCall]) -> Group:
    """Return the group of prices of shares as they were 7 days ago, after the time of that block."""
    return Group((block_clock(chain), *calls), is_known=False, seconds_back=WEEK_SECONDS)


def growth_rate(now: Answered, then: Answered, clocks: tuple[Answered, Answered], *, is_v3: bool) -> Rate | None:
    """Return what the price of a share grew by between two blocks, whose `clocks` are in the same order."""
    function = CONVERT if is_v3 else PRICE
    after, before = now.read_if_answered(function), then.read_if_answered(function)
    if after is None or before is None:
        return None
    seconds = (read_block_time(clocks[0]) - read_block_time(clocks[1])).total_seconds()
    apy = growth_apy(before[0], after[0], seconds)
    return None if apy is None else Rate(apy, yield_protocol_pb2.YIELD_BASIS_GROWTH)
