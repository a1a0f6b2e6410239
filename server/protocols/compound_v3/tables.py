"""The markets of lend-b V3 on a chain, and the units that their prices are in."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from server.catalog.feeds import CATCHING_UP_SECONDS, load_price_table
from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.prices.source import AHEAD_SECONDS
from server.protocols.plan import ContractUnreadable, Group, More, Plan
from server.protocols.reader import load_deployments
from server.protocols.tokens import TokenFacts, describe, read_facts, read_symbol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from server.catalog.feeds import Feed
    from server.contracts.calls import ContractCall
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

    How many assets a market has is not known before: all places are read at once, and those beyond refuse.
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


# A feed counts as it does among the gateway's own prices: not after its lifetime, and not from behind a sequencer
# that stands still or has only just begun to run. Its age is that at the block which it was read at.

DOLLAR = "USD"

_FEED = Interface.load("server.protocols.compound_v3", "feed")
_DECIMALS = _FEED["decimals"]
_ROUND = _FEED["latestRoundData"]
# The proxy, the aggregator behind it, and for a calculated feed what it is made of.
_ROUND_GAS = 150_000
_MOST_DECIMALS = 36


class UnitPrice(NamedTuple):
    """What a unit is worth in dollars, and when that was reported (UTC); None for the dollar itself."""

    value: Decimal
    updated_at: datetime | None


@cache
def unit_of(chain: str, market: str) -> str:
    """Return the symbol of the unit that a market's prices are in."""
    units = load_deployments("server.protocols.compound_v3")["denominations"]
    contracts = load_address_book().find_contracts(SLUG, chain)
    return next((units[key] for key, one in contracts.items() if one.address == market and key in units), DOLLAR)


def price_units(chain: str, units: Sequence[str]) -> tuple[ContractCall, ...]:
    """Return the calls that `read_units` reads: those of the feeds on the chain, and of its sequencer's."""
    feeds = [feed for unit in units for feed in _feeds(chain, unit)]
    calls = [function.call(feed.address, gas=_ROUND_GAS) for feed in feeds for function in (_DECIMALS, _ROUND)]
    sequencer = load_price_table().sequencers.get(chain)
    if feeds and sequencer is not None:
        calls.append(_ROUND.call(sequencer.address, gas=_ROUND_GAS))
    return tuple(calls)


def read_units(
    chain: str, units: Sequence[str], answered: Sequence[Answered], now: datetime
) -> Mapping[str, UnitPrice]:
    """Return what the units are worth; one whose feeds on the chain report nothing live is left out."""
    prices = {unit: UnitPrice(Decimal(1), None) for unit in units if unit == DOLLAR}
    feeds = [(unit, feed) for unit in units for feed in _feeds(chain, unit)]
    if len(answered) > 2 * len(feeds) and not _runs(answered[-1], now):
        return prices
    pairs = zip(answered[::2], answered[1::2], strict=False)
    for (unit, feed), (decimals, latest) in zip(feeds, pairs, strict=False):
        price = _read(feed, decimals, latest, now)
        if price is not None:
            prices.setdefault(unit, price)
    return prices


def _feeds(chain: str, unit: str) -> Iterator[Feed]:
    """Yield the feeds of a unit's price in dollars on the chain, the best first."""
    for feed in load_price_table().feeds.get(unit, ()):
        if (feed.kind, feed.chain, feed.times) == ("chainlink", chain, ""):
            yield feed


def _read(feed: Feed, decimals: Answered, latest: Answered, now: datetime) -> UnitPrice | None:
    places, answer = decimals.read_if_answered(_DECIMALS), latest.read_if_answered(_ROUND)
    if places is None or answer is None or places[0] > _MOST_DECIMALS or answer[1] <= 0:
        return None
    age = now.timestamp() - answer[3]
    if not -AHEAD_SECONDS <= age <= feed.lifetime:
        return None
    return UnitPrice(Decimal(answer[1]).scaleb(-places[0]), datetime.fromtimestamp(answer[3], UTC))


def _runs(sequencer: Answered, now: datetime) -> bool:
    """Return whether the chain's sequencer runs, and for so long that the feeds have caught up."""
    answer = sequencer.read_if_answered(_ROUND)
    return answer is not None and answer[1] == 0 < answer[2] and now.timestamp() - answer[2] >= CATCHING_UP_SECONDS
