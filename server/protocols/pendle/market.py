"""A market of yield-a: proof that a factory of the protocol made it, its tokens, its expiry, its asset."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from typing import TYPE_CHECKING, NamedTuple

from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.errors import NotFound
from server.protocols.plan import Group, More, Plan, StaleTables, Token
from server.protocols.tokens import SYMBOL, ZERO, TokenFacts, describe, read_facts
from server.protocols.yields import YEAR_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.protocols.plan import Answered, Outcomes


SLUG = "pendle"

_FACTORY_KEY = "marketFactory"
_IS_VALID = Interface.load("server.protocols.pendle", "market_factory")["isValidMarket"]
_MARKET = Interface.load("server.protocols.pendle", "market")
_READ_TOKENS = _MARKET["readTokens"]
_EXPIRY = _MARKET["expiry"]
_ASSET_INFO = Interface.load("server.protocols.pendle", "standardized_yield")["assetInfo"]
# The asset is a token, whose price is known; else it is the liquidity of an exchange, a figure without a price.
_IS_TOKEN = 0
_NATIVE = "native"
# Where an asset is that has no code on the chain of its market: there the tokens name the one of Ethereum.
# Source: pendle-finance/Pendle-SY, contracts over an exchange rate of another chain (`underlyingAssetOnEthAddr`).
_HOME = "ethereum"


class Market(NamedTuple):
    """What of a market never changes. `factory` made it; `expiry` is in unix seconds.

    `asset` is what its rates are in, with `asset_decimals`; None where that is no token.
    """

    address: str
    factory: str
    standardized_yield: str
    principal: TokenFacts
    yields: TokenFacts
    liquidity: TokenFacts
    expiry: int
    asset: Token | None
    asset_decimals: int


def load_market(chain: str, address: str, outcomes: Outcomes) -> Market | More:
    """Return a market, or what has to be read for it.

    Raises:
        NotFound: no factory of the protocol made it, whatever it answers itself (field `pool`).
        ContractUnreadable: a factory does not answer, so nothing is known; or the market's own contracts do not.
    """
    if "factories" not in outcomes:
        factories = tuple(_IS_VALID.call(factory, address) for factory in _factories(chain))
        own = (_READ_TOKENS.call(address), _EXPIRY.call(address))
        return More(Plan({"factories": Group(factories), "market": Group(own, is_known=False)}))
    factory = _maker(chain, address, outcomes["factories"])
    standardized_yield, principal, yields = outcomes["market"][0].read(_READ_TOKENS)
    if "parts" not in outcomes:
        tokens = (call for token in (principal, yields, address) for call in describe(token))
        return More(Plan({"parts": Group((_ASSET_INFO.call(standardized_yield), *tokens), is_known=False)}))
    info, *described = outcomes["parts"]
    kind, asset, decimals = info.read(_ASSET_INFO)
    if chain != _HOME and kind == _IS_TOKEN and asset != ZERO and "asset" not in outcomes:
        return More(Plan({"asset": Group((SYMBOL.call(asset, is_optional=True),), is_known=False)}))
    facts = (read_facts(*pair) for pair in zip(described[::2], described[1::2], strict=True))
    principal_facts, yield_facts, own_facts = facts
    is_elsewhere = "asset" in outcomes and outcomes["asset"][0].has_no_code
    return Market(
        address,
        factory,
        standardized_yield,
        principal_facts,
        yield_facts,
        own_facts,
        outcomes["market"][1].read_one(_EXPIRY),
        _asset(_HOME if is_elsewhere else chain, kind, asset),
        decimals,
    )


def proof(market: Market) -> Group:
    """Return the question to the market's factory that `check_proof` reads, apart from the market's own contracts."""
    return Group((_IS_VALID.call(market.factory, market.address),))


def check_proof(answered: Answered) -> None:
    """Raise StaleTables where the factory does not know the market any more; ContractUnreadable without an answer."""
    if not answered.read_one(_IS_VALID):
        raise StaleTables


def _factories(chain: str) -> list[str]:
    contracts = load_address_book().find_contracts(SLUG, chain)
    return [contract.address for key, contract in contracts.items() if key.startswith(_FACTORY_KEY)]


def _maker(chain: str, address: str, answers: tuple[Answered, ...]) -> str:
    unreadable = None
    for answered in answers:
        is_valid = answered.read_if_answered(_IS_VALID)
        if is_valid is None:
            unreadable = answered
        elif is_valid[0]:
            return answered.call.to
    if unreadable is not None:
        unreadable.read_one(_IS_VALID)
    raise NotFound(
        f"no such pool of yield-a on {chain}: none of its factories made a market at {address}", field="pool"
    )


def _asset(chain: str, kind: int, address: str) -> Token | None:
    if kind != _IS_TOKEN:
        return None
    return Token(chain, _NATIVE if address == ZERO else address)


# Source: package @pendle/core-v2 6.11.0, PendlePYOracleLib.sol and PendleLpOracleLib.sol at duration 0 (the stored
# rate itself, no average). Before expiry a principal token is worth e^(-rate * time / 365 days) of the asset, from
# then on one; a yield token the rest. Where the token that is split is worth less than it once was, both lose in
# proportion.

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
