"""Reads of lend-b V3's markets: figures of some of them, what their base asset is worth, and that their terms hold.

A market's prices are in a unit of its own (`denominations`). Where no feed on the chain reports what that is worth, the
gateway's own price of the base asset counts instead, which is read after the market. A market whose code changed is
described in one request more.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from server.protocols.compound_v3.tables import price_units, read_units, unit_of
from server.protocols.compound_v3.terms import (
    DESCRIBED,
    PROVED,
    RATES,
    Tables,
    Terms,
    Unread,
    are_proved,
    attempt,
    check_unread,
    computes_by,
    describe_market,
    describe_unread,
    prove_terms,
    read_base,
    read_feed,
    read_terms,
)
from server.protocols.plan import ContractUnreadable, Group, More, Plan, StaleTables, Token
from server.protocols.yields import block_clock, read_block_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from server.contracts.calls import ContractCall
    from server.contracts.interface import Function
    from server.prices import Price
    from server.protocols.compound_v3.tables import UnitPrice
    from server.protocols.plan import Answered, Outcomes
    from server.protocols.reader import TokenPrices

_PRICE = RATES["getPrice"]
_PRICE_PLACES = 8
# Totals are accrued; a price may come through a feed that asks others.
_FIGURE_GAS = 80_000
_PRICE_GAS = 200_000


class Worth(NamedTuple):
    """What a whole unit of a base asset is worth in dollars, None if unknown.

    `updated_at` is when the price of the market's unit was reported; the market's own price is of the block.
    """

    value: Decimal | None
    updated_at: datetime | None

    def of(self, amount: Decimal) -> float | None:
        """Return what an amount is worth in dollars."""
        return None if self.value is None else float(amount * self.value)


class Market(NamedTuple):
    """What a read returns of one market; `figures` are what was read of it besides."""

    terms: Terms
    figures: tuple[Answered, ...]
    worth: Worth


@dataclass(frozen=True, slots=True)
class Reading:
    """What a read returns: the block, the markets or what failed them, and the tables where they have changed."""

    now: datetime
    block: int
    markets: Mapping[str, Market | ContractUnreadable]
    renewed: Tables | None


class _Changed(NamedTuple):
    """A market that does not have the terms that are kept, and its answers that show it."""

    terms: Terms
    proofs: Sequence[Answered]


def plan_markets(chain: str, markets: Sequence[Terms | Unread], figures: Sequence[Function]) -> Group:
    """Return what `read_markets` reads. It does not depend on a wallet, and serves all."""
    calls = [block_clock(chain), *price_units(chain, _units(chain, markets))]
    for market in markets:
        if isinstance(market, Unread):
            calls += describe_unread(market)
        else:
            calls += (*prove_terms(market), _price(market.address, market.feed))
            calls += (figure.call(market.address, gas=_FIGURE_GAS) for figure in figures)
    return Group(tuple(calls))


def read_markets(
    chain: str,
    tables: Tables,
    addresses: Sequence[str],
    figures: Sequence[Function],
    outcomes: Outcomes,
    prices: TokenPrices,
) -> Reading | More:
    """Return what the group "markets" reports of these markets, or what has to be read besides (group "besides").

    Raises:
        StaleTables: a market whose terms could not be read before can be read now.
    """
    wanted = [tables[address] for address in addresses]
    units = _units(chain, wanted)
    answered = outcomes["markets"]
    now, at = read_block_time(answered[0]), 1 + len(price_units(chain, units))
    dollars = read_units(chain, units, answered[1:at], now)
    failed: dict[str, ContractUnreadable] = {}
    changed: dict[str, _Changed] = {}
    known: dict[str, tuple[Terms, Answered, tuple[Answered, ...]]] = {}
    for market in wanted:
        size = len(describe_unread(market)) if isinstance(market, Unread) else PROVED + 1 + len(figures)
        own, at = answered[at : at + size], at + size
        if isinstance(market, Unread):
            failure = check_unread(market, own)
            if failure is None:
                raise StaleTables
            failed[market.address] = failure
            continue
        proved = attempt(are_proved, market, own[:PROVED])
        if isinstance(proved, ContractUnreadable):
            failed[market.address] = proved
            continue
        known[market.address] = market, own[PROVED], own[PROVED + 1 :]
        if not proved:
            changed[market.address] = _Changed(market, own[:PROVED])
    unpriced = [
        Token(chain, terms.base.address)
        for terms, _, _ in known.values()
        if unit_of(chain, terms.address) not in dollars
    ]
    if (changed or unpriced) and "besides" not in outcomes:
        # Without a change it is empty and reads nothing: it marks that the prices were requested.
        besides = [call for one in changed.values() for call in _describe_changed(one)]
        return More(Plan({"besides": Group(tuple(besides))}, tuple(unpriced)))
    renewed = dict(tables)
    for start, (address, one) in zip(range(0, 1 << 30, DESCRIBED + 1), changed.items(), strict=False):
        *described, price = outcomes["besides"][start : start + DESCRIBED + 1]
        terms = attempt(_renew, one, described)
        if isinstance(terms, ContractUnreadable):
            failed[address] = terms
        else:
            renewed[address] = terms
            known[address] = terms, price, known[address][2]
    markets: dict[str, Market | ContractUnreadable] = {}
    for address in addresses:
        if address in failed:
            markets[address] = failed[address]
            continue
        terms, price, of_market = known[address]
        own_price = prices.get((chain, terms.base.address))
        markets[address] = Market(terms, of_market, _worth(price, dollars.get(unit_of(chain, address)), own_price))
    return Reading(now, outcomes.block_of("markets"), markets, renewed if renewed != tables else None)


def _describe_changed(one: _Changed) -> tuple[ContractCall, ...]:
    market = one.terms.address
    return (*describe_market(market), _price(market, read_feed(one.proofs)))


def _renew(one: _Changed, described: Sequence[Answered]) -> Terms:
    """Return a market's terms as they are now.

    Raises:
        StaleTables: it lends another asset.
        ContractUnreadable: its own rates are not those of its own parameters.
    """
    old = one.terms
    if read_base(described) != old.base.address:
        raise StaleTables
    terms = read_terms(described, old.base)
    if not computes_by(terms, old, one.proofs):
        raise ContractUnreadable(
            f"the market {old.address} on {described[0].chain} does not compute interest by its own parameters",
            retry_after_ms=1000,
        )
    return terms


def _worth(price: Answered, unit: UnitPrice | None, own: Price | None) -> Worth:
    answer = price.read_if_answered(_PRICE)
    if answer is None or not answer[0]:
        return Worth(None, None)
    if unit is not None:
        return Worth(Decimal(answer[0]).scaleb(-_PRICE_PLACES) * unit.value, unit.updated_at)
    return Worth(None, None) if own is None else Worth(own.value, own.updated_at)


def _price(market: str, feed: str) -> ContractCall:
    return _PRICE.call(market, feed, gas=_PRICE_GAS)


def _units(chain: str, markets: Sequence[Terms | Unread]) -> list[str]:
    """Return the units of the markets that are read, each once."""
    return list(dict.fromkeys(unit_of(chain, market.address) for market in markets if isinstance(market, Terms)))
