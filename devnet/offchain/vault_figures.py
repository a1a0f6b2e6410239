"""What the local vaults of known_vaults.py are worth and earn at a moment, as their products' APIs would state it.

A deposit D made at the start S of a chain's world is worth D (1 + p (t - S) / year) at t, where p is the vault's growth
in a year: simple growth, as the contracts have it. S is a day before a chain's first block. Prices are those of
coins.toml. Figures are of the last full quarter of an hour, in which they stay the same.
"""

import time
from collections.abc import Mapping

from devnet.evm.world import FIRST_TIMESTAMP
from devnet.known_vaults import RANGE_AMOUNTS, SECONDS_PER_YEAR, BeefyVault, YearnVault
from devnet.offchain.prices import load_coins

_STARTED = FIRST_TIMESTAMP - 86_400
_STEP = 900  # seconds
_WEEK = 7 * 86_400
_ONLY_HERE = {"BIFI": 123.45}  # of what no other source of the devnet has a price
# What a token of a chain costs, where that is the price of another symbol.
_PRICED_AS = {
    "WETH": "ETH",
    "WETH.e": "ETH",
    "WAVAX": "AVAX",
    "WBNB": "BNB",
    "USDC.e": "USDC",
}


def moment(now: float | None = None) -> int:
    """Return the last full quarter of an hour, in unix seconds."""
    return int(time.time() if now is None else now) // _STEP * _STEP


def growth(percent: float, at: int) -> float:
    """Return what one unit of a deposit has become."""
    return 1 + percent / 100 * (at - _STARTED) / SECONDS_PER_YEAR


def net_apy(percent: float, at: int) -> float:
    """Return what a share's price grew by in the last 7 days, as a fraction in a year."""
    week: float = growth(percent, at) / growth(percent, at - _WEEK)
    return float(week ** (SECONDS_PER_YEAR / _WEEK)) - 1


def price_of(symbol: str, wanted: Mapping[str, BeefyVault] | None = None) -> float:
    """Return what a whole token costs, or a share of the vault of two tokens that stands under a name in `wanted`."""
    if wanted is not None and symbol in wanted:
        each = RANGE_AMOUNTS[symbol]
        return sum(
            millionths / 10**6 * price_of(token) for token, millionths in zip(wanted[symbol].wants, each, strict=True)
        )
    prices = {**_ONLY_HERE, **{coin.symbol: float(coin.price) for coin in load_coins().values()}}
    return prices[_PRICED_AS.get(symbol, symbol)]


def deposited(vault: BeefyVault | YearnVault) -> float:
    """Return what was deposited, in whole tokens, or the shares of a vault of two tokens."""
    return sum(vault.supplied.values()) / 10**6
