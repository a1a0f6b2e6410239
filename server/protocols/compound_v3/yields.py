"""Yields of lend-b V3: what a market pays and charges, what a wallet has supplied, and all markets of a chain."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

from waypost.v1 import yield_pb2, yield_protocol_pb2, yield_share_pb2

from server.protocols.compound_v3.markets import Market, plan_markets, read_markets
from server.protocols.compound_v3.tables import SLUG, market_addresses
from server.protocols.compound_v3.terms import RATES, WAD, attempt, load_terms
from server.protocols.plan import ContractUnreadable, Group, More, Plan, Renewed
from server.protocols.yields import (
    YEAR_SECONDS,
    BestRow,
    Held,
    PoolForm,
    PoolQuestion,
    YieldEntry,
    apy_of_apr,
    balance_of,
    oldest,
    unknown_pool,
)

if TYPE_CHECKING:
    from server.protocols.compound_v3.markets import Reading
    from server.protocols.compound_v3.terms import Tables
    from server.protocols.plan import Outcomes
    from server.protocols.reader import ChainQuestion, TokenPrices

CHAINS = ("ethereum", "polygon", "optimism", "base", "arbitrum")

_UTILIZATION = RATES["getUtilization"]
_TOTAL_SUPPLY = RATES["totalSupply"]
_FIGURES = (_UTILIZATION, _TOTAL_SUPPLY)
_BALANCE = RATES["balanceOf"]
_BALANCE_GAS = 80_000


class _ChainTables:
    """What the readers share: their tables are the terms of all the chain's markets."""

    def subject(self, question: ChainQuestion) -> tuple[str, str, str]:
        """Return the chain; tables of positions are others."""
        return SLUG, "yields", question.chain

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> Tables | More:
        """Return the markets' terms, or what has to be read for them; NotFound for a pool that is no market."""
        if isinstance(question, PoolQuestion):
            _check(question)
        return load_terms(question.chain, outcomes)


class LendingReader(_ChainTables):
    """Reads both rates of a market, and what is supplied to it; collateral does not count."""

    def plan(self, question: PoolQuestion, tables: Tables) -> Plan:
        """Return the market's figures, its price and proofs of its terms; NotFound for a pool that is no market."""
        return Plan({"markets": plan_markets(question.chain, [tables[_check(question)]], _FIGURES)})

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: Tables, prices: TokenPrices
    ) -> yield_pb2.LendingYield | More | Renewed:
        """Return the market's row; ContractUnreadable where the market does not answer."""
        reading = read_markets(question.chain, tables, [question.pool], _FIGURES, outcomes, prices)
        if isinstance(reading, More):
            return reading
        market = _only(reading)
        supply_apy, borrow_apy, tvl = _rates_and_size(market)
        row = yield_pb2.LendingYield(
            supply_apy=supply_apy,
            borrow_apy=borrow_apy,
            tvl=tvl,
            basis=yield_protocol_pb2.YIELD_BASIS_SPOT,
            block_height=reading.block,
        )
        row.updated_at.FromDatetime(oldest(reading.now, market.worth.updated_at))
        return row if reading.renewed is None else Renewed(row, reading.renewed)


class BalanceReader(_ChainTables):
    """Reads what a wallet has supplied to a market; debts are not subtracted, collateral does not count."""

    def plan(self, question: PoolQuestion, tables: Tables) -> Plan:
        """Return the wallet's balance beside the market's price; NotFound for a pool that is no market."""
        market = _check(question)
        balance = _BALANCE.call(market, question.address, gas=_BALANCE_GAS)
        return Plan({"markets": plan_markets(question.chain, [tables[market]], ()), "balance": Group((balance,))})

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: Tables, prices: TokenPrices
    ) -> yield_share_pb2.YieldBalance | More | Renewed:
        """Return the wallet's row, zeros included; ContractUnreadable where the market does not answer."""
        reading = read_markets(question.chain, tables, [question.pool], (), outcomes, prices)
        if isinstance(reading, More):
            return reading
        market = _only(reading)
        base = market.terms.base
        amount = Decimal(outcomes["balance"][0].read_one(_BALANCE)).scaleb(-base.decimals)
        row = yield_share_pb2.YieldBalance(
            balance=balance_of([Held(base.symbol, base.address, float(amount))], market.worth.of(amount)),
            block_height=reading.block,
        )
        row.updated_at.FromDatetime(oldest(reading.now, market.worth.updated_at))
        return row if reading.renewed is None else Renewed(row, reading.renewed)


class BestReader(_ChainTables):
    """Reads all markets of a chain at once, for the comparison of all pools."""

    def plan(self, question: ChainQuestion, tables: Tables) -> Plan:
        """Return the markets' figures, their prices and proofs of their terms."""
        return Plan({"markets": plan_markets(question.chain, list(tables.values()), _FIGURES)})

    def build(
        self, question: ChainQuestion, outcomes: Outcomes, tables: Tables, prices: TokenPrices
    ) -> list[BestRow] | More | Renewed:
        """Return a row for each market, without a rate (NaN) for one that does not answer.

        Raises:
            ContractUnreadable: none of them answers.
        """
        reading = read_markets(question.chain, tables, list(tables), _FIGURES, outcomes, prices)
        if isinstance(reading, More):
            return reading
        rows, failure = [], None
        for address, market in reading.markets.items():
            found = market if isinstance(market, ContractUnreadable) else attempt(_best_row, market, reading)
            if isinstance(found, ContractUnreadable):
                failure = found
                row = yield_pb2.BestYield(pool=address, apy=math.nan, block_height=reading.block)
                row.updated_at.FromDatetime(reading.now)
                found = BestRow(row, ())
            rows.append(found)
        if failure is not None and all(math.isnan(one.row.apy) for one in rows):
            raise failure
        return rows if reading.renewed is None else Renewed(rows, reading.renewed)


def _best_row(market: Market, reading: Reading) -> BestRow:
    apy, _, tvl = _rates_and_size(market)
    row = yield_pb2.BestYield(pool=market.terms.address, apy=apy, tvl=tvl, block_height=reading.block)
    row.updated_at.FromDatetime(oldest(reading.now, market.worth.updated_at))
    return BestRow(row, (market.terms.base.symbol,))


def _rates_and_size(market: Market) -> tuple[float, float, float | None]:
    """Return the percent per year of supply and borrow, and what is supplied in dollars."""
    terms = market.terms
    utilization = market.figures[0].read_one(_UTILIZATION)
    supplied = Decimal(market.figures[1].read_one(_TOTAL_SUPPLY)).scaleb(-terms.base.decimals)
    supply_apy, borrow_apy = (
        apy_of_apr(model.rate(utilization) * YEAR_SECONDS / WAD) for model in (terms.supply, terms.borrow)
    )
    return supply_apy, borrow_apy, market.worth.of(supplied)


def _check(question: PoolQuestion) -> str:
    """Return the pool of a question; NotFound, naming the nearest, for one that is no market of the chain."""
    listed = market_addresses(question.chain)
    if question.pool not in listed:
        raise unknown_pool(question.pool, listed, of=f"lend-b on {question.chain}")
    return question.pool


def _only(reading: Reading) -> Market:
    """Return the only market of a reading; raises what failed it."""
    [market] = reading.markets.values()
    if isinstance(market, ContractUnreadable):
        raise market
    return market


YIELDS = YieldEntry(
    protocol=yield_protocol_pb2.YIELD_PROTOCOL_LEND_B,
    chains=CHAINS,
    pool=PoolForm.ADDRESS,
    type=yield_protocol_pb2.YIELD_TYPE_LENDING,
    readers={"GetYieldsLending": LendingReader(), "GetYieldsBalance": BalanceReader()},
    best=BestReader(),
)
