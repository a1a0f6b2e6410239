"""Vaults of vault-d whose token has a data feed: its price is what the issuer reports, its rate how reports have grown.

The rate needs no state of the past: aggregators keep every report.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from server.errors import PriceUnavailable, release
from server.protocols.data_feeds import (
    Source,
    latest_call,
    read_aggregator,
    read_report,
    read_round,
    report_calls,
    round_call,
)
from server.protocols.hyperbeat.rounds import find_earlier, next_numbers
from server.protocols.hyperbeat.vault import VaultState
from server.protocols.plan import Group, More, Plan, Token
from server.protocols.shares import growth_apy
from server.protocols.tokens import TOTAL_SUPPLY, TokenFacts, describe, read_facts
from server.protocols.yields import block_clock, oldest, read_block_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from server.apis.documents import DocumentRequest
    from server.contracts.calls import ContractCall
    from server.protocols.data_feeds import Round
    from server.protocols.plan import Answered, Outcomes
    from server.protocols.reader import TokenPrices

# Where the calls of a group stand: the clock, those of the report, the supply, the rounds.
_REPORT = slice(1, 8)
_SUPPLY = 8
_ROUNDS = slice(9, None)
# So many rounds after the one that is old enough are read with it: reports that come meanwhile cost no request.
_AFTER = 3
_MOST_KNOWN = 512


class FeedTable(NamedTuple):
    """The token, the aggregator behind its feed, its current round when that was read last, and the rounds known.

    None stands for a round that is none.
    """

    token: TokenFacts
    aggregator: str
    latest: Round | None
    known: Mapping[int, Round | None]


@dataclass(frozen=True, slots=True)
class FeedVault:
    """See `Vault`. `price_token` is what the feed counts in, None for the dollar."""

    chain: str
    address: str
    name: str
    underlying: str
    data_feed: str
    custom_feed: str
    price_token: Token | None

    @property
    def documents(self) -> tuple[DocumentRequest, ...]:
        """Return nothing: aggregators keep their rounds."""
        return ()

    def describe(self) -> tuple[ContractCall, ...]:
        """Return the calls that `read_table` reads."""
        return *describe(self.address), latest_call(self.custom_feed)

    def read_table(self, answered: Sequence[Answered]) -> FeedTable:
        """Return the token and the current round of the aggregator that is published."""
        symbol, decimals, latest = answered
        return FeedTable(read_facts(symbol, decimals), self.custom_feed, read_round(latest), {})

    def calls(self, table: FeedTable) -> tuple[ContractCall, ...]:
        """Return the clock, the feed with all that guards it, the supply, and the rounds that the rate needs."""
        return (*self._calls(table.aggregator), *_round_calls(table.aggregator, _wanted(table)))

    def read(self, table: FeedTable, outcomes: Outcomes, prices: TokenPrices, *, has_rate: bool) -> VaultState | More:
        """Return the state; see `Vault`."""
        name = self.address
        named = read_aggregator(Source(self.data_feed, table.aggregator), outcomes[name][_REPORT])
        if named != table.aggregator:
            table, name = FeedTable(table.token, named, None, {}), f"{self.address} moved"
            if name not in outcomes:
                return More(Plan({name: Group(self._calls(named), any_block=True)}))
        answered = outcomes[name]
        now = read_block_time(answered[0])
        report = failure = None
        try:
            report = read_report(Source(self.data_feed, named), answered[_REPORT], now)
        except PriceUnavailable as error:
            release(error)
            failure = error
        apy = None
        if report is not None and has_rate:
            found = self._find_earlier(table, report.round, outcomes)
            if isinstance(found, More):
                return found
            earlier, table = found
            if earlier is not None:
                seconds = report.round.at - earlier.at
                apy = growth_apy(earlier.answer, report.round.answer, seconds)
        price = None if self.price_token is None else prices.get(self.price_token)
        dollars = None
        if report is not None and (price is not None or self.price_token is None):
            dollars = report.price * (1 if price is None else Fraction(price.value))
        return VaultState(
            unit=table.token,
            assets=1,
            shares=1,
            total=answered[_SUPPLY].read_one(TOTAL_SUPPLY),
            dollars=dollars,
            failure=failure,
            apy=apy,
            updated_at=oldest(now, report and report.reported_at, None if price is None else price.updated_at),
            block=outcomes.block_of(name),
            table=table,
        )

    def _calls(self, aggregator: str) -> tuple[ContractCall, ...]:
        source = Source(self.data_feed, aggregator)
        return block_clock(self.chain), *report_calls(source), TOTAL_SUPPLY.call(self.address)

    def _find_earlier(
        self, table: FeedTable, latest: Round, outcomes: Outcomes
    ) -> tuple[Round | None, FeedTable] | More:
        """Return the round to compare with and the table that knows it, or the rounds to read besides."""
        known = dict(table.known)
        again = f"{self.address} rounds"
        read = list(outcomes[self.address][_ROUNDS])
        if again in outcomes:
            read += outcomes[again]
        for one in read:
            if one.call.to == table.aggregator:
                number = int.from_bytes(one.call.data[4:], "big")
                known[number] = read_round(one, number)
        known[latest.number] = latest
        # A second round of calls where nothing was known before. What that leaves open is read with the next questions.
        if not table.known and again not in outcomes and (wanted := next_numbers(known, latest)):
            return More(Plan({again: Group(_round_calls(table.aggregator, wanted), any_block=True)}))
        earlier = find_earlier(known, latest)
        least = 0 if earlier is None else earlier.number
        kept = sorted((item for item in known.items() if item[0] >= least), reverse=True)[:_MOST_KNOWN]
        return earlier, table._replace(latest=latest, known=dict(kept))


def _wanted(table: FeedTable) -> Iterable[int]:
    """Return the rounds to read with the report: those that are known to be needed, and what a search asks for next."""
    if table.latest is None:
        return ()
    searched = next_numbers({**table.known, table.latest.number: table.latest}, table.latest)
    earlier = find_earlier(table.known, table.latest)
    if earlier is None:
        return searched
    needed = range(earlier.number, min(earlier.number + _AFTER + 1, table.latest.number))
    return sorted({*needed, *searched})


def _round_calls(aggregator: str, numbers: Iterable[int]) -> tuple[ContractCall, ...]:
    return tuple(round_call(aggregator, number) for number in numbers)
