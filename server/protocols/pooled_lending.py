"""What the versions of lend-a and the pools made after it share: accounts of wallets, lists of reserves, prices.

Source: lend-a's `IPool.getUserAccountData` (the sums are in the market's base currency, threshold and ltv in
basis points, the health factor times 1e18 and 2^256-1 without debt); `IPriceOracleGetter` (prices in the base
currency).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.contracts.interface import Interface
from server.errors import PriceUnavailable
from server.protocols.plan import Group, StaleTables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered, Outcomes

_POOL = Interface.load("server.protocols", "lending_pool")
GET_RESERVES_LIST = _POOL["getReservesList"]
GET_ACCOUNT_DATA = _POOL["getUserAccountData"]
_ORACLE = Interface.load("server.protocols", "lending_oracle")
_GET_PRICES = _ORACLE["getAssetsPrices"]
_GET_PRICE = _ORACLE["getAssetPrice"]
GET_UNIT = _ORACLE["BASE_CURRENCY_UNIT"]

# It grows with the reserves that a wallet uses: 41,000 were measured with three.
ACCOUNT_GAS = 600_000

# The list grows by a storage read per reserve, 67 of them on Ethereum.
LIST_GAS = 400_000

# Measured 10,000 per asset (facts/protocol_reads_2, 2.3).
_PRICE_GAS = 20_000

_BASIS_POINTS = 10_000
_WAD = 10**18


class Account(NamedTuple):
    """A wallet's account, in integers of the pool: sums in the base currency, shares in basis points."""

    collateral: int
    debt: int
    available: int
    threshold: int
    ltv: int
    health: int

    @property
    def health_factor(self) -> float | None:
        """The health factor; None without debt."""
        return self.health / _WAD if self.debt else None

    @property
    def is_liquidatable(self) -> bool:
        """Whether there is a debt that its collateral no longer covers."""
        return self.debt > 0 and self.health < _WAD

    @property
    def max_ltv(self) -> float:
        """The pool's weighted most that may be borrowed, a fraction."""
        return self.ltv / _BASIS_POINTS

    @property
    def liquidation_threshold(self) -> float:
        """The weighted liquidation threshold, a fraction."""
        return self.threshold / _BASIS_POINTS


def find_new(listed: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the assets of a pool's list that were not known, in its order.

    Raises:
        StaleTables: the others stand in another order: one was dropped and listed again, with tokens of its own.
    """
    if listed == known:
        return []
    if [asset for asset in listed if asset in known] != [asset for asset in known if asset in listed]:
        raise StaleTables
    return [asset for asset in listed if asset not in known]


def read_account(answered: Answered, market: str) -> Account:
    """Return the account; PriceUnavailable, naming the market, where the pool refuses: an oracle gives no price."""
    if answered.has_failed:
        raise PriceUnavailable(
            f"{market} on {answered.chain} has no price for a reserve of this account: its pool refuses the account's "
            "sums",
            retry_after_ms=1000,
        )
    return Account(*answered.read(GET_ACCOUNT_DATA))


def call_prices(oracle: str, assets: Sequence[str]) -> ContractCall:
    """Return the call of all prices together, which fails where one feed does."""
    return _GET_PRICES.call(oracle, assets, gas=_PRICE_GAS * max(1, len(assets)), is_optional=True)


def call_price(oracle: str, asset: str) -> ContractCall:
    """Return the call of one price, which fails where the asset's feed does."""
    return _GET_PRICE.call(oracle, asset, gas=4 * _PRICE_GAS, is_optional=True)


def price_group(oracle: str, assets: Iterable[str]) -> Group:
    """Return the prices of assets one by one."""
    return Group(tuple(call_price(oracle, asset) for asset in assets))


def read_price(returned: Answered) -> int | None:
    """Return what `call_price` returned, in the oracle's unit; None where the feed gives no price, which 0 is."""
    found = returned.read_if_answered(_GET_PRICE)
    return None if found is None else found[0] or None


def read_prices(together: Answered, outcomes: Outcomes, count: int) -> list[int | None] | None:
    """Return the price of each of so many assets, None for those without.

    `together` is what `call_prices` returned; where that failed they come from the group "prices", a `price_group`.
    None where that was not read yet: a feed fails the array of all.
    """
    found = together.read_if_answered(_GET_PRICES)
    if found is not None and len(found[0]) == count:
        return [price or None for price in found[0]]
    return [read_price(returned) for returned in outcomes["prices"]] if "prices" in outcomes else None
