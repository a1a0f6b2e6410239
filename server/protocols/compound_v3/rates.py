"""Interest of lend-b V3 markets: two curves over utilisation, fixed by a market's code, proved again by every read.

Source: compound-finance/comet, Comet.getSupplyRate and getBorrowRate: rates are per second times 1e18, every product is
rounded down. A curve is known by its kink and its values at 0, at the kink and at one beyond it, where the upper slope
stands whole: so the market's own answers there say whether the kept curve is still its curve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.contracts.interface import Interface
from server.protocols.plan import ContractUnreadable
from server.protocols.tokens import TokenFacts
from server.protocols.yields import YEAR_SECONDS, apy_of_apr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.contracts.calls import ContractCall
    from server.contracts.interface import Function
    from server.protocols.plan import Answered

WAD = 10**18
RATES = Interface.load("server.protocols.compound_v3", "rates")
PRICE_FEED = RATES["baseTokenPriceFeed"]
_BASE_TOKEN = RATES["baseToken"]


class Curve(NamedTuple):
    """A rate over utilisation, broken once at `kink`; rates per second, all times 1e18."""

    kink: int
    base: int
    low: int
    high: int

    def rate(self, utilization: int) -> int:
        """Return the rate per second at a utilisation, which may be above 1."""
        below = self.base + self.low * min(utilization, self.kink) // WAD
        return below + self.high * max(utilization - self.kink, 0) // WAD

    @property
    def points(self) -> tuple[int, int, int]:
        """The utilisations at which the curve is compared with the market's own answers."""
        return 0, self.kink, self.kink + WAD


class _Side(NamedTuple):
    """The functions of one of a market's two curves."""

    rate: Function
    parameters: tuple[Function, ...]


_SIDES = tuple(
    _Side(
        RATES[f"get{side.capitalize()}Rate"],
        (
            RATES[f"{side}Kink"],
            *(RATES[f"{side}PerSecondInterestRate{part}"] for part in ("Base", "SlopeLow", "SlopeHigh")),
        ),
    )
    for side in ("supply", "borrow")
)
# The contract stores its parameters in as many bits.
_MOST = 1 << 64


class Terms(NamedTuple):
    """What the code of a market fixes: its base asset, the feed of its price, the curves of supply and borrow."""

    address: str
    base: TokenFacts
    feed: str
    supply: Curve
    borrow: Curve


def apy_of_rate(rate: int) -> float:
    """Return the percent per year that a rate per second (1e18) comes to."""
    return apy_of_apr(rate * YEAR_SECONDS / WAD)


def describe_market(market: str) -> tuple[ContractCall, ...]:
    """Return the calls that `read_base` and `read_terms` read."""
    parameters = (function for side in _SIDES for function in side.parameters)
    return tuple(function.call(market) for function in (_BASE_TOKEN, PRICE_FEED, *parameters))


def read_base(answered: Sequence[Answered]) -> str:
    """Return the address of a market's base asset; ContractUnreadable without it."""
    return str(answered[0].read_one(_BASE_TOKEN))


def read_terms(answered: Sequence[Answered], base: TokenFacts) -> Terms:
    """Return a market's terms; ContractUnreadable where the market does not answer, or what cannot be a parameter."""
    address, feed = answered[0].call.to, answered[1].read_one(PRICE_FEED)
    curves, at = [], 2
    for side in _SIDES:
        names = side.parameters
        numbers = [one.read_one(name) for one, name in zip(answered[at : at + len(names)], names, strict=True)]
        if max(numbers) >= _MOST:
            raise ContractUnreadable(
                f"the market {address} on {answered[0].chain} returned parameters of interest that cannot be",
                retry_after_ms=1000,
            )
        curves.append(Curve(*numbers))
        at += len(names)
    return Terms(address, base, feed, *curves)


def prove_terms(terms: Terms) -> tuple[ContractCall, ...]:
    """Return the calls that `are_proved` and `read_feed` read."""
    calls = [PRICE_FEED.call(terms.address)]
    for side, curve in zip(_SIDES, (terms.supply, terms.borrow), strict=True):
        calls.append(side.parameters[0].call(terms.address))
        calls += (side.rate.call(terms.address, point) for point in curve.points)
    return tuple(calls)


PROOFS = 1 + len(_SIDES) * 4
"""How many calls `prove_terms` returns."""


def read_feed(proofs: Sequence[Answered]) -> str:
    """Return the feed of the base asset's price as the market has it now; ContractUnreadable without it."""
    return str(proofs[0].read_one(PRICE_FEED))


def are_proved(terms: Terms, proofs: Sequence[Answered]) -> bool:
    """Return whether the market has these terms; ContractUnreadable where it does not answer."""
    if read_feed(proofs) != terms.feed:
        return False
    kinks = [proofs[1].read_one(_SIDES[0].parameters[0]), proofs[5].read_one(_SIDES[1].parameters[0])]
    return kinks == [terms.supply.kink, terms.borrow.kink] and computes_by(terms, terms, proofs)


def computes_by(terms: Terms, asked_with: Terms, proofs: Sequence[Answered]) -> bool:
    """Return whether the market's own rates, at the points of the terms that were asked with, are those of `terms`."""
    curves = zip(_SIDES, (terms.supply, terms.borrow), (asked_with.supply, asked_with.borrow), strict=True)
    for start, (side, curve, asked) in zip((2, 6), curves, strict=True):
        for point, answered in zip(asked.points, proofs[start : start + 3], strict=True):
            if answered.read_one(side.rate) != curve.rate(point):
                return False
    return True
