"""The tokens of tokenized-a, and what a share is worth in US dollars: the issuer's feed times what it counts in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import yield_share_pb2

from server.catalog.feeds import load_price_table
from server.catalog.tokens import NATIVE
from server.contracts.interface import Interface
from server.errors import PriceUnavailable, UpstreamUnavailable
from server.protocols.data_feeds import Source, latest_call, read_aggregator, read_report, read_round, report_calls
from server.protocols.plan import Group, More, Plan, Renewed, Token
from server.protocols.reader import load_deployments
from server.protocols.yields import block_clock, oldest, read_block_time, unknown_pool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from server.catalog.feeds import Feed
    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered, Outcomes
    from server.protocols.reader import TokenPrices
    from server.protocols.yields import PoolQuestion


DOLLAR = "USD"


@dataclass(frozen=True, slots=True)
class Fund:
    """A row of deployments.toml, whose comments describe its members."""

    key: str
    symbol: str
    token: str
    data_feed: str = ""
    custom_feed: str = ""
    denomination: str = DOLLAR
    like: str = ""
    sides: Mapping[str, str] | None = None


@cache
def load_funds(chain: str) -> dict[str, Fund]:
    """Return the tokens of a chain by key."""
    return {key: Fund(key, **row) for key, row in load_deployments("server.protocols.midas")[chain].items()}


def find_fund(chain: str, name: str) -> Fund:
    """Return the token of that key or symbol, in any case; NotFound names the nearest ones."""
    by_name = _by_name(chain)
    found = by_name.get(name.lower())
    if found is None:
        raise unknown_pool(name, dict.fromkeys(fund.symbol for fund in by_name.values()), of=f"tokenized-a on {chain}")
    return found


def priced_like(chain: str, fund: Fund) -> Fund:
    """Return the token whose feed prices this one, as a rule itself; PriceUnavailable where no feed does."""
    priced = load_funds(chain)[fund.like] if fund.like else fund
    if priced.data_feed or priced.custom_feed:
        return priced
    if priced.sides:
        raise PriceUnavailable(
            f"{fund.symbol} has one price for deposits and another for redemptions, no single one; the data feeds are "
            + " and ".join(f"{feed} ({side})" for side, feed in priced.sides.items())
        )
    raise PriceUnavailable(f"{fund.symbol} has no feed on {chain}, so no price is known")


@cache
def _by_name(chain: str) -> dict[str, Fund]:
    funds = load_funds(chain)
    symbols = {fund.symbol.lower(): fund for fund in funds.values()}
    return symbols | {key.lower(): fund for key, fund in funds.items()}


# Bitcoin, ether and euros are priced by Chainlink's feeds on the same chain, in the same execution; where those are
# not live, bitcoin and ether by the gateway's own prices.

_SLUG = "midas"
_DECIMALS = Interface.load("server.protocols", "data_feed")["decimals"]
_MOST_DECIMALS = 36
_AHEAD_SECONDS = 60

# Coins that are what a denomination is called; the euro is no token.
_COINS = {"BTC": Token("bitcoin", NATIVE), "ETH": Token("ethereum", NATIVE)}


class _Rate(NamedTuple):
    """US dollars for one of a denomination, and when that was reported; None for dollars themselves."""

    value: Fraction
    at: datetime | None


class PriceReader:
    """Reads prices; the table is the aggregator that the token's data feed reads."""

    def subject(self, question: PoolQuestion) -> tuple[str, str, str]:
        """Return the token by chain and name."""
        return _SLUG, question.chain, question.pool.lower()

    def load(self, question: PoolQuestion, outcomes: Outcomes) -> str:
        """Return the aggregator that is published; NotFound for no such token, PriceUnavailable for one unpriced."""
        return priced_like(question.chain, find_fund(question.chain, question.pool)).custom_feed

    def plan(self, question: PoolQuestion, tables: str) -> Plan:
        """Return the feed with all that guards it, and that of its denomination."""
        return Plan({"feed": Group(self._calls(question, tables))})

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: str, prices: TokenPrices
    ) -> yield_share_pb2.YieldPrice | Renewed | More:
        """Return the price; PriceUnavailable without one, ContractUnreadable where a feed is none."""
        fund = priced_like(question.chain, find_fund(question.chain, question.pool))
        source, name = Source(fund.data_feed, tables), "feed"
        named = read_aggregator(source, outcomes[name][1:])
        if named != tables:
            source, name = Source(fund.data_feed, named), "moved"
            if name not in outcomes:
                return More(Plan({name: Group(self._calls(question, named))}))
            if read_aggregator(source, outcomes[name][1:]) != named:
                raise UpstreamUnavailable(f"the feed of {fund.symbol} changes while it is read", retry_after_ms=1000)
        now = read_block_time(outcomes[name][0])
        report = read_report(source, outcomes[name][1:], now)
        rate = _read_rate(_feed_of(fund.denomination, question.chain), outcomes[name][-2:], now)
        coin = _COINS.get(fund.denomination)
        if rate is None and coin is not None:
            if "coin" not in outcomes:
                # Its feed is dead. Prices come with a read of something.
                return More(Plan({"coin": Group((block_clock(question.chain),))}, prices=(coin,)))
            price = prices.get(coin)
            rate = None if price is None else _Rate(Fraction(price.value), price.updated_at)
        if rate is None:
            raise PriceUnavailable(
                f"{fund.symbol} is priced in {fund.denomination}, which has no live price now", retry_after_ms=60_000
            )
        row = yield_share_pb2.YieldPrice(
            price=yield_share_pb2.SharePrice(usd=float(report.price * rate.value)),
            block_height=outcomes.block_of(name),
        )
        row.updated_at.FromDatetime(oldest(now, report.reported_at, rate.at))
        return row if named == tables else Renewed(row, named)

    def _calls(self, question: PoolQuestion, aggregator: str) -> tuple[ContractCall, ...]:
        """Return the clock, the calls of the feed, and two of its denomination's feed unless that is the dollar."""
        fund = priced_like(question.chain, find_fund(question.chain, question.pool))
        calls = block_clock(question.chain), *report_calls(Source(fund.data_feed, aggregator))
        feed = _feed_of(fund.denomination, question.chain)
        return calls if feed is None else (*calls, _DECIMALS.call(feed.address), latest_call(feed.address))


def _feed_of(denomination: str, chain: str) -> Feed | None:
    """Return Chainlink's feed of a denomination on the chain, None for the dollar; LookupError where there is none."""
    if denomination == DOLLAR:
        return None
    feeds = load_price_table().feeds[denomination]
    return next(feed for feed in feeds if feed.kind == "chainlink" and feed.chain == chain)


def _read_rate(feed: Feed | None, answered: Sequence[Answered], now: datetime) -> _Rate | None:
    """Return what a feed of a denomination reports; None where it fails, or reports nothing live."""
    if feed is None:
        return _Rate(Fraction(1), None)
    decimals, current = answered[0].read_if_answered(_DECIMALS), read_round(answered[1])
    if decimals is None or decimals[0] > _MOST_DECIMALS or current is None:
        return None
    if not -_AHEAD_SECONDS <= now.timestamp() - current.at <= feed.lifetime:
        return None
    return _Rate(Fraction(current.answer, 10 ** decimals[0]), datetime.fromtimestamp(current.at, UTC))
