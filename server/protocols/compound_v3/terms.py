"""What the code of lend-b V3's markets fixes: base asset, price feed, and the rate models of supply and borrow.

Terms are kept as tables and proved again by every read. A rate model is known by its kink and its values at 0, at the
kink and at one beyond it, where the upper slope stands whole: the market's own answers there show whether the kept
model is still its own. Source: compound-finance/comet, Comet.getSupplyRate and getBorrowRate: rates are per second
times 1e18, every product is rounded down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

from server.contracts.interface import Interface
from server.errors import release
from server.protocols.compound_v3.tables import market_addresses
from server.protocols.plan import ContractUnreadable, Group, More, Plan
from server.protocols.tokens import TokenFacts, describe, read_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.contracts.calls import ContractCall
    from server.contracts.interface import Function
    from server.protocols.plan import Answered, Outcomes

P = ParamSpec("P")
T = TypeVar("T")

WAD = 10**18
RATES = Interface.load("server.protocols.compound_v3", "rates")
_PRICE_FEED = RATES["baseTokenPriceFeed"]
_BASE_TOKEN = RATES["baseToken"]


class RateModel(NamedTuple):
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
        """The utilisations at which the model is compared with the market's own answers."""
        return 0, self.kink, self.kink + WAD


class _Side(NamedTuple):
    """The functions of one of a market's two rate models: the rate, and the parameters in the order of `RateModel`."""

    rate: Function
    parameters: tuple[Function, ...]


_PARTS = ("PerSecondInterestRateBase", "PerSecondInterestRateSlopeLow", "PerSecondInterestRateSlopeHigh")
_SIDES = tuple(
    _Side(RATES[f"get{side.capitalize()}Rate"], tuple(RATES[side + part] for part in ("Kink", *_PARTS)))
    for side in ("supply", "borrow")
)
# The contract is configured with parameters of as many bits.
_MOST = 1 << 64

DESCRIBED = 2 + sum(len(side.parameters) for side in _SIDES)
"""How many calls `describe_market` returns."""

PROVED = 1 + sum(1 + len(RateModel(0, 0, 0, 0).points) for _ in _SIDES)
"""How many calls `prove_terms` returns."""


class Terms(NamedTuple):
    """What the code of a market fixes."""

    address: str
    base: TokenFacts
    feed: str
    supply: RateModel
    borrow: RateModel


class Unread(NamedTuple):
    """A market whose terms could not be read; `base` is the asset where only that one is unreadable."""

    address: str
    base: str | None


Tables = dict[str, Terms | Unread]
"""The markets of a chain by address."""


def attempt(step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | ContractUnreadable:
    """Return what a step returns, or its failure where a contract did not answer as it does."""
    try:
        return step(*args, **kwargs)
    except ContractUnreadable as error:
        # Held by its caller's frame, which its traceback would hold in turn.
        release(error)
        return error
    except (ArithmeticError, ValueError, LookupError):
        return ContractUnreadable("a market returned figures that cannot be; try again", retry_after_ms=1000)


def load_terms(chain: str, outcomes: Outcomes) -> Tables | More:
    """Return the terms of a chain's markets, or what has to be read for them."""
    addresses = market_addresses(chain)
    if "markets" not in outcomes:
        return More(Plan({"markets": Group(tuple(call for one in addresses for call in describe_market(one)))}))
    answered = outcomes["markets"]
    described = {
        address: answered[start : start + DESCRIBED]
        for address, start in zip(addresses, range(0, len(answered), DESCRIBED), strict=True)
    }
    bases = {address: attempt(read_base, one) for address, one in described.items()}
    tokens = list(dict.fromkeys(base for base in bases.values() if isinstance(base, str)))
    if "tokens" not in outcomes:
        return More(Plan({"tokens": Group(tuple(call for token in tokens for call in describe(token)))}))
    words = outcomes["tokens"]
    facts = dict(zip(tokens, zip(words[::2], words[1::2], strict=True), strict=True))
    tables: Tables = {}
    for address, of_market in described.items():
        base = bases[address]
        if isinstance(base, ContractUnreadable):
            tables[address] = Unread(address, None)
            continue
        terms = attempt(_read_all, of_market, facts[base])
        tables[address] = Unread(address, base) if isinstance(terms, ContractUnreadable) else terms
    return tables


def describe_market(market: str) -> tuple[ContractCall, ...]:
    """Return the calls that `read_base` and `read_terms` read."""
    parameters = (function for side in _SIDES for function in side.parameters)
    return tuple(function.call(market) for function in (_BASE_TOKEN, _PRICE_FEED, *parameters))


def describe_unread(market: Unread) -> tuple[ContractCall, ...]:
    """Return the calls that show whether an unread market can be read now."""
    return describe_market(market.address) + (() if market.base is None else describe(market.base))


def check_unread(market: Unread, answered: Sequence[Answered]) -> ContractUnreadable | None:
    """Return what still stands in the way of a market's terms, None where they can be read now."""
    base = attempt(read_base, answered)
    if isinstance(base, ContractUnreadable):
        return base
    if base == market.base:
        terms = attempt(_read_all, answered, answered[DESCRIBED:])
    else:
        # Of this asset nothing was read that could be wrong.
        terms = attempt(read_terms, answered, TokenFacts(base, "", 0))
    return terms if isinstance(terms, ContractUnreadable) else None


def read_base(answered: Sequence[Answered]) -> str:
    """Return the address of a market's base asset; ContractUnreadable without it."""
    return str(answered[0].read_one(_BASE_TOKEN))


def read_terms(answered: Sequence[Answered], base: TokenFacts) -> Terms:
    """Return a market's terms; ContractUnreadable where the market does not answer, or with what is no parameter."""
    address, feed = answered[0].call.to, str(answered[1].read_one(_PRICE_FEED))
    names = [function for side in _SIDES for function in side.parameters]
    numbers = [one.read_one(name) for one, name in zip(answered[2:DESCRIBED], names, strict=True)]
    if max(numbers) >= _MOST:
        raise ContractUnreadable(
            f"the market {address} on {answered[0].chain} returned parameters of interest that cannot be",
            retry_after_ms=1000,
        )
    half = len(numbers) // 2
    return Terms(address, base, feed, RateModel(*numbers[:half]), RateModel(*numbers[half:]))


def _read_all(answered: Sequence[Answered], token: Sequence[Answered]) -> Terms:
    """Return a market's terms with what its base asset reports of itself."""
    return read_terms(answered, read_facts(*token))


def prove_terms(terms: Terms) -> tuple[ContractCall, ...]:
    """Return the calls that `are_proved` reads."""
    calls = [_PRICE_FEED.call(terms.address)]
    for side, model in zip(_SIDES, (terms.supply, terms.borrow), strict=True):
        calls.append(side.parameters[0].call(terms.address))
        calls += (side.rate.call(terms.address, point) for point in model.points)
    return tuple(calls)


def are_proved(terms: Terms, proofs: Sequence[Answered]) -> bool:
    """Return whether the market has these terms; ContractUnreadable where it does not answer."""
    if read_feed(proofs) != terms.feed:
        return False
    for start, side, model in zip((1, 5), _SIDES, (terms.supply, terms.borrow), strict=True):
        if proofs[start].read_one(side.parameters[0]) != model.kink:
            return False
    return computes_by(terms, terms, proofs)


def read_feed(proofs: Sequence[Answered]) -> str:
    """Return the feed of the base asset's price as the market has it now; ContractUnreadable without it."""
    return str(proofs[0].read_one(_PRICE_FEED))


def computes_by(terms: Terms, planned_with: Terms, proofs: Sequence[Answered]) -> bool:
    """Return whether the market's own rates, at the points of the terms `planned_with`, are those of `terms`."""
    sides = zip((2, 6), _SIDES, (terms.supply, terms.borrow), (planned_with.supply, planned_with.borrow), strict=True)
    return all(
        one.read_one(side.rate) == model.rate(point)
        for start, side, model, asked in sides
        for point, one in zip(asked.points, proofs[start : start + 3], strict=True)
    )
