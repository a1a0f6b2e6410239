"""A market of yield-a: proof that a factory of the protocol made it, its tokens, its expiry, its asset."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.errors import NotFound
from server.protocols.natives import ZERO
from server.protocols.plan import Group, More, Plan, StaleTables, Token
from server.protocols.tokens import SYMBOL, TokenFacts, describe, read_facts

if TYPE_CHECKING:
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
        said = answered.read_if_answered(_IS_VALID)
        if said is None:
            unreadable = answered
        elif said[0]:
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
