"""The units that markets of lend-b V3 have their prices in, and what those are worth in dollars by feeds on the chain.

A feed counts as it does among the gateway's own prices: not after its lifetime, and not from behind a sequencer that
stands still or has only just begun to run. Its age is that at the block which it was read at.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from server.catalog.feeds import CATCHING_UP_SECONDS, load_price_table
from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.prices.source import AHEAD_SECONDS
from server.protocols.compound_v3.tables import SLUG
from server.protocols.deployments import load_deployments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from server.catalog.feeds import Feed
    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered

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
