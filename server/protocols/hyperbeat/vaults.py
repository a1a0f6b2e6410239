"""The vaults of vault-d: tokens with a data feed, and vaults of EIP-4626."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from server.apis.documents import DocumentRequest
from server.contracts.interface import Interface
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
from server.protocols.plan import ContractUnreadable, Group, More, Plan, Token
from server.protocols.tokens import TOTAL_SUPPLY, TokenFacts, describe, read_facts
from server.protocols.yields import MANY_SHARES, WEEK_SECONDS, block_clock, growth_apy, oldest, read_block_time
from server.yields.share_prices import NAME, SharePrice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from server.contracts.calls import ContractCall
    from server.protocols.data_feeds import Round
    from server.protocols.plan import Answered, Outcomes
    from server.protocols.reader import TokenPrices
    from server.protocols.tokens import TokenFacts
    from server.yields.share_prices import StoredHistory


class VaultState(NamedTuple):
    """A vault at a block.

    `unit` is the token that its holdings are stated in, `assets` of its smallest units being those of `shares` of the
    vault's; `total` are those of all shares. `dollars` is the price of a whole unit, None where none is known, and
    `failure` why the issuer's own price is none. `apy` is None where no earlier price is known. `table` is the vault's
    table after this read.
    """

    unit: TokenFacts
    assets: int
    shares: int
    total: int
    dollars: Fraction | None
    failure: PriceUnavailable | None
    apy: float | None
    updated_at: datetime
    block: int
    table: Any


class Vault(Protocol):
    """A vault of the table. Its reads are groups of names that begin with its address."""

    @property
    def address(self) -> str:
        """Return the vault's address, checksummed."""
        ...

    @property
    def underlying(self) -> str:
        """Return the symbol of what is paid in."""
        ...

    @property
    def price_token(self) -> Token | None:
        """Return the token whose price values the vault's units; None where they count in dollars."""
        ...

    @property
    def documents(self) -> tuple[DocumentRequest, ...]:
        """Return what its rate needs besides the chain."""
        ...

    def describe(self) -> tuple[ContractCall, ...]:
        """Return the calls that `read_table` reads."""
        ...

    def read_table(self, answered: Sequence[Answered]) -> Any:
        """Return the vault's table; ContractUnreadable where it is none."""
        ...

    def calls(self, table: Any) -> tuple[ContractCall, ...]:
        """Return the calls of the group that is named by the address; no wallet stands in them."""
        ...

    def read(self, table: Any, outcomes: Outcomes, prices: TokenPrices, *, has_rate: bool) -> VaultState | More:
        """Return the vault's state, with its rate only where that is requested, or what has to be read besides.

        Raises:
            ContractUnreadable: a contract does not answer as it does.
        """
        ...


# Nodes of HyperEVM do not have the past, so what a share was worth is known only where this gateway has stored it.

_VAULT = Interface.load("server.protocols.hyperbeat", "vault")
_ASSET = _VAULT["asset"]
_TOTAL = _VAULT["totalAssets"]
_WORTH = _VAULT["convertToAssets"]

# Some 47,000 per market of the vault (facts/protocol_reads_2, 2.3), of which there are up to 30.
_WORTH_GAS = 1_500_000


@dataclass(frozen=True, slots=True)
class ShareVault:
    """See `Vault`."""

    chain: str
    address: str
    name: str
    underlying: str
    asset: str

    @property
    def price_token(self) -> Token:
        """Return the asset."""
        return Token(self.chain, self.asset)

    @property
    def documents(self) -> tuple[DocumentRequest, ...]:
        """Return the stored share prices."""
        return (DocumentRequest(NAME, (self.chain, self.address)),)

    def describe(self) -> tuple[ContractCall, ...]:
        """Return the calls that `read_table` reads."""
        return describe(self.asset)

    def read_table(self, answered: Sequence[Answered]) -> TokenFacts:
        """Return what the asset is called."""
        return read_facts(*answered)

    def calls(self, table: TokenFacts) -> tuple[ContractCall, ...]:
        """Return the clock, the asset, all assets and the worth of shares."""
        return (
            block_clock(self.chain),
            _ASSET.call(self.address),
            _TOTAL.call(self.address, gas=_WORTH_GAS),
            _WORTH.call(self.address, MANY_SHARES, gas=_WORTH_GAS),
        )

    def read(self, table: TokenFacts, outcomes: Outcomes, prices: TokenPrices, *, has_rate: bool) -> VaultState:
        """Return the state; see `Vault`."""
        clock, asset, total, worth = outcomes[self.address]
        if asset.read_one(_ASSET) != self.asset:
            raise ContractUnreadable(
                f"the vault {self.address} on {self.chain} holds another asset than it is known for"
            )
        now = read_block_time(clock)
        current = SharePrice(now, worth.read_one(_WORTH))
        price = prices.get(self.price_token)
        return VaultState(
            unit=table,
            assets=current.assets,
            shares=MANY_SHARES,
            total=total.read_one(_TOTAL),
            dollars=None if price is None else Fraction(price.value),
            failure=None,
            apy=self._apy(current, outcomes) if has_rate else None,
            updated_at=oldest(now, None if price is None else price.updated_at),
            block=outcomes.block_of(self.address),
            table=table,
        )

    def _apy(self, current: SharePrice, outcomes: Outcomes) -> float | None:
        """Return the growth since the newest stored price that is old enough, and have the current one stored."""
        document = outcomes.find_document(*self.documents)
        if document is None or current.assets <= 0:
            return None
        history: StoredHistory = document.value
        earlier = history.last_before(current.at - timedelta(seconds=WEEK_SECONDS))
        history.observe(current)
        if earlier is None:
            return None
        return growth_apy(earlier.assets, current.assets, (current.at - earlier.at).total_seconds())


# The rate needs no state of the past: aggregators keep every report.

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
    """Return the rounds to read with the report: those that are known to be needed, and what a search needs next."""
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
