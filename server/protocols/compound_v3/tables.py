"""The markets of lend-b V3 on a chain: what each lends and what it takes as collateral, as the chain has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.protocols.plan import ContractUnreadable, Group, More, Plan
from server.protocols.tokens import TokenFacts, describe, read_facts, read_symbol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.protocols.plan import Answered, Outcomes

SLUG = "compound-v3"
COMET = Interface.load("server.protocols.compound_v3", "comet")
NUM_ASSETS = COMET["numAssets"]
_SYMBOL = COMET["symbol"]
_BASE_TOKEN = COMET["baseToken"]
ASSET_INFO = COMET["getAssetInfo"]

MOST_ASSETS = 24
"""Bits that a wallet's record has for assets: 16 of `assetsIn` and the reserved byte (CometWithExtendedAssetList)."""

_MARKET_KEY = "comet"
_CALLS = 3 + MOST_ASSETS


class Market(NamedTuple):
    """A market: its contract, what it calls itself, the asset that it lends, its collateral assets in their order."""

    address: str
    name: str
    base: TokenFacts
    assets: tuple[TokenFacts, ...]


def market_addresses(chain: str) -> list[str]:
    """Return the addresses of a chain's markets in the address book's order."""
    contracts = load_address_book().find_contracts(SLUG, chain)
    return [one.address for key, one in contracts.items() if key.startswith(_MARKET_KEY)]


def load_markets(chain: str, outcomes: Outcomes) -> tuple[Market, ...] | More:
    """Return the chain's markets, or what has to be read for them.

    How many assets a market has is not known before: all places are asked for at once, and those beyond refuse.
    """
    addresses = market_addresses(chain)
    if "markets" not in outcomes:
        calls = []
        for market in addresses:
            calls += [_SYMBOL.call(market), _BASE_TOKEN.call(market), NUM_ASSETS.call(market)]
            calls += [ASSET_INFO.call(market, index, is_optional=True) for index in range(MOST_ASSETS)]
        return More(Plan({"markets": Group(tuple(calls))}))
    returned = outcomes["markets"]
    each = [returned[start : start + _CALLS] for start in range(0, len(returned), _CALLS)]
    bases = [of_market[1].read_one(_BASE_TOKEN) for of_market in each]
    assets = [_read_assets(of_market) for of_market in each]
    tokens = list(dict.fromkeys([*bases, *(asset for of_market in assets for asset in of_market)]))
    if "tokens" not in outcomes:
        return More(Plan({"tokens": Group(tuple(call for token in tokens for call in describe(token)))}))
    words = outcomes["tokens"]
    facts: Mapping[str, TokenFacts] = {
        token: read_facts(*pair) for token, pair in zip(tokens, zip(words[::2], words[1::2], strict=True), strict=True)
    }
    return tuple(
        Market(address, read_symbol(of_market[0]), facts[base], tuple(facts[asset] for asset in of_assets))
        for address, of_market, base, of_assets in zip(addresses, each, bases, assets, strict=True)
    )


def _read_assets(of_market: tuple[Answered, ...]) -> list[str]:
    returned_count = of_market[2]
    count = returned_count.read_one(NUM_ASSETS)
    if count > MOST_ASSETS:
        raise ContractUnreadable(
            f"the market {returned_count.call.to} on {returned_count.chain} has more than {MOST_ASSETS} assets"
        )
    return [returned.read_one(ASSET_INFO)[1] for returned in of_market[3 : 3 + count]]
