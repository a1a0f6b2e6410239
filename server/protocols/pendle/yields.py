"""Implied rate, size, prices and balances of a market of yield-a, and all its markets for the comparison."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from decimal import Decimal
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import yield_pb2, yield_protocol_pb2, yield_share_pb2

from server.catalog.tokens import load_tokens
from server.chains.facts import load_facts
from server.contracts.interface import Interface
from server.errors import PriceUnavailable
from server.protocols.pendle.market import SLUG, check_proof, load_market, proof, rates_of, read_state
from server.protocols.plan import Group, Plan
from server.protocols.tokens import BALANCE_GAS, BALANCE_OF, ZERO
from server.protocols.yields import (
    BestRow,
    Held,
    PoolForm,
    YieldEntry,
    balance_of,
    block_clock,
    oldest,
    read_block_time,
)
from server.yields import pendle

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from server.prices import Price
    from server.protocols.pendle.market import Market, Rates
    from server.protocols.plan import More, Outcomes
    from server.protocols.reader import ChainQuestion, TokenPrices
    from server.protocols.yields import PoolQuestion

_READ_STATE = Interface.load("server.protocols.pendle", "market")["readState"]
_EXCHANGE_RATE = Interface.load("server.protocols.pendle", "standardized_yield")["exchangeRate"]
_INDEX = Interface.load("server.protocols.pendle", "yield_token")["pyIndexCurrent"]
_STATE_GAS = 60_000
_RATE_GAS = 300_000  # some ask several contracts
_IMPLIED = yield_protocol_pb2.YIELD_BASIS_IMPLIED


class Snapshot(NamedTuple):
    """A market at a block: its rates, its own tokens, and the asset's price where one is known."""

    market: Market
    rates: Rates
    liquidity: int
    price: Price | None
    time: datetime
    block: int

    def value(self, amount: int, rate: Decimal | None) -> float | None:
        """Return what a raw amount is worth in US dollars at a rate; None where rate or price is not known.

        Raises OverflowError for what is no figure.
        """
        if rate is None or self.price is None:
            return None
        whole = float((Decimal(amount) * rate * self.price.value).scaleb(-self.market.asset_decimals))
        if not math.isfinite(whole):
            raise OverflowError("a market of yield-a is worth more than any figure")
        return whole

    @property
    def updated_at(self) -> Timestamp:
        """The time of the block or of the price, whichever is older."""
        return _timestamp(oldest(self.time, None if self.price is None else self.price.updated_at))


Row = TypeVar("Row")


class MarketReader(ABC, Generic[Row]):
    """Reads one market, proved in the same read; tables are what of it never changes."""

    def subject(self, question: PoolQuestion) -> tuple[str, str, str]:
        """Return the market."""
        return SLUG, question.chain, question.pool

    def load(self, question: PoolQuestion, outcomes: Outcomes) -> Market | More:
        """Return the market, or what has to be read for it; NotFound where it is none of the protocol's."""
        return load_market(question.chain, question.pool, outcomes)

    def plan(self, question: PoolQuestion, tables: Market) -> Plan:
        """Return the proof, and the market's state in an execution of its own: the caller chose its contracts."""
        state = (
            block_clock(question.chain),
            _READ_STATE.call(tables.address, ZERO, gas=_STATE_GAS),
            _EXCHANGE_RATE.call(tables.standardized_yield, gas=_RATE_GAS),
            _INDEX.call(tables.yields.address, gas=_RATE_GAS),
        )
        groups = {"proof": proof(tables), "state": Group(state, is_known=False)}
        prices = () if tables.asset is None else (tables.asset,)
        return Plan(groups | self._groups(question, tables), prices)

    def build(self, question: PoolQuestion, outcomes: Outcomes, tables: Market, prices: TokenPrices) -> Row:
        """Return the row; raises StaleTables, ContractUnreadable."""
        check_proof(outcomes["proof"][0])
        clock, market, rate, index = outcomes["state"]
        time = read_block_time(clock)
        state = read_state(market.read(_READ_STATE), rate.read_one(_EXCHANGE_RATE), index.read_one(_INDEX))
        snapshot = Snapshot(
            tables,
            rates_of(state, tables.expiry - int(time.timestamp())),
            state.liquidity,
            None if tables.asset is None else prices.get(tables.asset),
            time,
            outcomes.block_of("state"),
        )
        return self._row(snapshot, outcomes)

    def _groups(self, question: PoolQuestion, tables: Market) -> dict[str, Group]:
        return {}

    @abstractmethod
    def _row(self, snapshot: Snapshot, outcomes: Outcomes) -> Row:
        """Return the row of what was read."""


class VaultReader(MarketReader[yield_pb2.VaultYield]):
    """Reads the implied rate and the size of a market."""

    def _row(self, snapshot: Snapshot, outcomes: Outcomes) -> yield_pb2.VaultYield:
        return yield_pb2.VaultYield(
            apy=snapshot.rates.apy,
            basis=None if snapshot.rates.apy is None else _IMPLIED,
            tvl=snapshot.value(snapshot.liquidity, snapshot.rates.liquidity) if snapshot.liquidity else 0.0,
            updated_at=snapshot.updated_at,
            block_height=snapshot.block,
        )


class BalanceReader(MarketReader[yield_share_pb2.YieldBalance]):
    """Reads what a wallet has of a market's tokens, each under its own name and valued by its own rate."""

    def _groups(self, question: PoolQuestion, tables: Market) -> dict[str, Group]:
        held = (
            BALANCE_OF.call(token.address, question.address, gas=BALANCE_GAS)
            for token in (tables.liquidity, tables.principal, tables.yields)
        )
        return {"held": Group(tuple(held), is_known=False)}

    def _row(self, snapshot: Snapshot, outcomes: Outcomes) -> yield_share_pb2.YieldBalance:
        rates, market = snapshot.rates, snapshot.market
        tokens = (market.liquidity, market.principal, market.yields)
        held = [int(one.read_one(BALANCE_OF)) for one in outcomes["held"]]
        worth = zip(held, (rates.liquidity, rates.principal, rates.yields), strict=True)
        values = [snapshot.value(amount, rate) for amount, rate in worth if amount]
        assets = [
            Held(token.symbol, token.address, amount / 10**token.decimals)
            for token, amount in zip(tokens, held, strict=True)
        ]
        return yield_share_pb2.YieldBalance(
            balance=balance_of(assets, _total(values)),
            updated_at=snapshot.updated_at,
            block_height=snapshot.block,
        )


class PriceReader(MarketReader[yield_share_pb2.YieldPrice]):
    """Reads what one principal token costs, and one of the market's own."""

    def _row(self, snapshot: Snapshot, outcomes: Outcomes) -> yield_share_pb2.YieldPrice:
        principal, liquidity = snapshot.market.principal, snapshot.market.liquidity
        price = snapshot.value(10**principal.decimals, snapshot.rates.principal)
        if price is None:
            missing = (
                "its asset has no known price" if snapshot.price is None else "nothing was ever traded in the market"
            )
            raise PriceUnavailable(f"{principal.symbol} has no known price: {missing}")
        return yield_share_pb2.YieldPrice(
            price=yield_share_pb2.SharePrice(usd=price),
            token=yield_share_pb2.PricedToken(symbol=principal.symbol, address=principal.address),
            lp_usd=snapshot.value(10**liquidity.decimals, snapshot.rates.liquidity),
            updated_at=snapshot.updated_at,
            block_height=snapshot.block,
        )


class BestReader:
    """Reads all markets of a chain out of the protocol's own document."""

    def subject(self, question: ChainQuestion) -> tuple[str, str]:
        """Return the chain."""
        return SLUG, question.chain

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> None:
        """Return None: there are no tables."""

    def plan(self, question: ChainQuestion, tables: None) -> Plan:
        """Return the document alone."""
        return Plan(documents=(pendle.MARKETS,))

    def build(
        self, question: ChainQuestion, outcomes: Outcomes, tables: None, prices: TokenPrices
    ) -> Sequence[BestRow]:
        """Return the markets that run, their rate no number where none is known; raises what the source failed with."""
        document = outcomes.document(pendle.MARKETS)
        listed: Iterable[pendle.ListedMarket] = document.value
        chain_id = load_facts()[question.chain].chain_id
        read_at = _timestamp(document.read_at)
        return [
            BestRow(
                yield_pb2.BestYield(
                    pool=one.address,
                    apy=math.nan if one.implied_apy is None else one.implied_apy,
                    tvl=one.liquidity,
                    updated_at=read_at,
                    symbol=one.name,
                ),
                _symbols(question.chain, one),
            )
            for one in listed
            if one.chain_id == chain_id and one.expiry > document.read_at
        ]


def _symbols(chain: str, listed: pendle.ListedMarket) -> tuple[str, ...]:
    """Return the market's name, which is its asset's as a rule, and what the catalogue calls its assets."""
    tokens = load_tokens().on_chain(chain)
    named = [tokens[address].token.symbol for address in listed.assets if address in tokens]
    return tuple(dict.fromkeys((listed.name, *named)))


def _total(values: Sequence[float | None]) -> float | None:
    """Return the sum; None where a part is not known, 0 without parts."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _timestamp(moment: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


YIELDS = YieldEntry(
    yield_protocol_pb2.YIELD_PROTOCOL_YIELD_A,
    ("ethereum", "optimism", "bsc", "arbitrum", "base"),
    PoolForm.ADDRESS,
    yield_protocol_pb2.YIELD_TYPE_VAULT,
    {"GetYieldsVaults": VaultReader(), "GetYieldsBalance": BalanceReader(), "GetYieldsPrice": PriceReader()},
    BestReader(),
)
