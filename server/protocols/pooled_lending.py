"""What the versions of lend-a and the pools made after it share: the account of a wallet, the list of reserves.

Source: lend-a's `IPool.getUserAccountData` (the sums are in the market's base currency, threshold and ltv in
basis points, the health factor times 1e18 and 2^256-1 without debt).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.contracts.interface import Interface
from server.errors import PriceUnavailable
from server.protocols.plan import StaleTables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.protocols.plan import Answered

_POOL = Interface.load("server.protocols", "lending_pool")
GET_RESERVES_LIST = _POOL["getReservesList"]
GET_ACCOUNT_DATA = _POOL["getUserAccountData"]

# It grows with the reserves that a wallet uses: 41,000 were measured with three.
ACCOUNT_GAS = 600_000

# The list grows by a storage read per reserve, 67 of them on Ethereum.
LIST_GAS = 400_000

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
