"""Yields of lend-a and of its forks: rates, a wallet's supply, the price of a share, all pools of a chain.

Rates come as rays per year (1e27 is 100 %), which the market charges until the reserve is next used. Supplies are
what the reserve's token comes to with interest up to the block. Frozen and paused reserves have rates like others; one
that is not active is no pool.

All calls of a question are one group: nodes that know the latest state alone cannot be read at the block of another.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import structlog
from waypost.v1 import yield_pb2, yield_protocol_pb2, yield_share_pb2

from server.contracts.interface import Interface
from server.errors import PriceUnavailable, release
from server.protocols.plan import ContractUnreadable, Group, More, Plan
from server.protocols.pooled_lending import (
    Deployment,
    Market,
    call_price,
    call_prices,
    load_market,
    price_group,
    read_price,
    read_prices,
)
from server.protocols.yields import (
    BestRow,
    Held,
    PoolForm,
    PoolQuestion,
    YieldEntry,
    apy_of_apr,
    balance_of,
    read_block_time,
    unknown_pool,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered, Outcomes
    from server.protocols.pooled_lending import Asset
    from server.protocols.reader import ChainQuestion, TokenPrices

Row = TypeVar("Row")

_log = structlog.get_logger("waypost.protocols")

_DATA = Interface.load("server.protocols", "lending_data")
_GET_DATA = _DATA["getReserveData"]
_GET_CONFIGURATION = _DATA["getReserveConfigurationData"]
_GET_HELD = _DATA["getUserReserveData"]

# Measured: 90,000 and 24,000 where nothing else is read, 66,000 and 11,000 for each of 67; 95,000 of a wallet.
_DATA_GAS = 90_000
_CONFIGURATION_GAS = 24_000
_HELD_GAS = 110_000
_RAY = 10**27
_CHECKS = 4
# Up to so many prices are read one by one, so that a feed that fails costs no further read.
_MOST_ONE_BY_ONE = 40


def pooled_yields(
    protocol: int, slug: str, name: str, chains: tuple[str, ...], form: PoolForm, rpcs: Iterable[str]
) -> YieldEntry:
    """Return what a protocol of this kind provides for these rpcs; `name` is the protocol's in messages."""
    of = _Protocol(slug, name, form)
    readers = {rpc: _READERS[rpc](of) for rpc in rpcs}
    return YieldEntry(protocol, chains, form, yield_protocol_pb2.YIELD_TYPE_LENDING, readers, BestReader(of))


class _Protocol(NamedTuple):
    slug: str
    name: str
    form: PoolForm

    def subject(self, question: ChainQuestion) -> tuple[str, str, str]:
        """Return the chain's market, whose tables are not those of positions."""
        return self.slug, "yields", question.chain

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> Market | More:
        """Return the chain's market, or what has to be read for it."""
        return load_market(Deployment.find(self.slug, question.chain), self.form, outcomes)


class _Reserve(NamedTuple):
    """A pool that exists, at a block; what the reader read besides is `returned`."""

    asset: Asset
    decimals: int
    time: datetime
    block: int
    returned: Sequence[Answered]

    def value(self, amount: int, price: int, market: Market) -> float:
        """Return what an amount is worth in US dollars."""
        worth: float = amount * price / (10**self.decimals * market.unit)
        return worth


class _PoolReader(ABC, Generic[Row]):
    """Reads one pool; tables are the chain's market."""

    def __init__(self, of: _Protocol) -> None:
        self._of = of
        self.subject = of.subject
        self.load = of.load

    def plan(self, question: PoolQuestion, tables: Market) -> Plan:
        """Return what the market is now and, of a pool that it has, whether it is active and what else is wanted."""
        asset = tables.find(question.pool)
        key = type(self), asset and asset.address
        calls = tables.plans.get(key)
        if calls is None:
            calls = tables.checks
            if asset is not None:
                active = _GET_CONFIGURATION.call(tables.data_provider, asset.address, gas=_CONFIGURATION_GAS)
                calls = (*calls, active, *self._calls(tables, asset))
            tables.plans[key] = calls
        if asset is not None and question.address:
            calls = (*calls, _GET_HELD.call(tables.data_provider, asset.address, question.address, gas=_HELD_GAS))
        return Plan({"pool": Group(calls)})

    def build(self, question: PoolQuestion, outcomes: Outcomes, tables: Market, prices: TokenPrices) -> Row:
        """Return the pool's row; raises NotFound naming the nearest pools, StaleTables, ContractUnreadable."""
        returned = outcomes["pool"]
        tables.check(returned)
        asset = tables.find(question.pool)
        configuration = None if asset is None else _read_configuration(returned[_CHECKS])
        if asset is None or configuration is None:
            known = [one.pools[0] for one in tables.assets if one.pools and one is not asset]
            raise unknown_pool(question.pool, known, of=f"{self._of.name} on {question.chain}")
        time, block = read_block_time(returned[_CHECKS - 1]), outcomes.block_of("pool")
        return self._row(tables, _Reserve(asset, configuration, time, block, returned[_CHECKS + 1 :]))

    @abstractmethod
    def _calls(self, market: Market, asset: Asset) -> tuple[ContractCall, ...]:
        """Return the calls of a pool; those of a wallet come after these."""

    @abstractmethod
    def _row(self, market: Market, reserve: _Reserve) -> Row: ...


class RateReader(_PoolReader[yield_pb2.LendingYield]):
    """Reads rates and size of a pool."""

    def _calls(self, market: Market, asset: Asset) -> tuple[ContractCall, ...]:
        data = _GET_DATA.call(market.data_provider, asset.address, gas=_DATA_GAS)
        return data, call_price(market.oracle, asset.address)

    def _row(self, market: Market, reserve: _Reserve) -> yield_pb2.LendingYield:
        data, quote = reserve.returned
        supplied, lent_at, owed_at = _read_data(data)
        price = read_price(quote)
        row = yield_pb2.LendingYield(
            supply_apy=apy_of_apr(lent_at / _RAY),
            borrow_apy=apy_of_apr(owed_at / _RAY),
            tvl=None if price is None else reserve.value(supplied, price, market),
            basis=yield_protocol_pb2.YIELD_BASIS_SPOT,
            block_height=reserve.block,
        )
        row.updated_at.FromDatetime(reserve.time)
        return row


class SupplyReader(_PoolReader[yield_share_pb2.YieldBalance]):
    """Reads what a wallet has supplied to a pool, with interest; what it owes is not subtracted."""

    def _calls(self, market: Market, asset: Asset) -> tuple[ContractCall, ...]:
        return (call_price(market.oracle, asset.address),)

    def _row(self, market: Market, reserve: _Reserve) -> yield_share_pb2.YieldBalance:
        quote, held = reserve.returned
        supplied: int = held.read(_GET_HELD)[0]
        price = read_price(quote)
        asset = Held(reserve.asset.label, reserve.asset.address, supplied / 10**reserve.decimals)
        row = yield_share_pb2.YieldBalance(
            balance=balance_of([asset], None if price is None else reserve.value(supplied, price, market)),
            block_height=reserve.block,
        )
        row.updated_at.FromDatetime(reserve.time)
        return row


class PriceReader(_PoolReader[yield_share_pb2.YieldPrice]):
    """Reads the price of a share of a pool, which is one of its asset: balances grow instead."""

    def _calls(self, market: Market, asset: Asset) -> tuple[ContractCall, ...]:
        # All that is wanted: that it failed must be certain.
        return (call_price(market.oracle, asset.address)._replace(is_optional=False),)

    def _row(self, market: Market, reserve: _Reserve) -> yield_share_pb2.YieldPrice:
        price = read_price(reserve.returned[0])
        if price is None:
            deployment = market.deployment
            raise PriceUnavailable(
                f"the oracle of {self._of.name} on {deployment.chain} has no price of {reserve.asset.label}",
                retry_after_ms=60_000,
            )
        row = yield_share_pb2.YieldPrice(
            price=yield_share_pb2.SharePrice(usd=price / market.unit), block_height=reserve.block
        )
        row.updated_at.FromDatetime(reserve.time)
        return row


_READERS: Mapping[str, Callable[[_Protocol], _PoolReader[Any]]] = {
    "GetYieldsLending": RateReader,
    "GetYieldsBalance": SupplyReader,
    "GetYieldsPrice": PriceReader,
}


class BestReader:
    """Reads the supply rates of all pools of a chain."""

    def __init__(self, of: _Protocol) -> None:
        self.subject = of.subject
        self.load = of.load

    def plan(self, question: ChainQuestion, tables: Market) -> Plan:
        """Return the market as it is, and every pool with its price."""
        assets = [asset.address for asset in tables.assets]
        provider, oracle = tables.data_provider, tables.oracle
        calls = [*tables.checks]
        for asset in assets:
            calls += [
                _GET_CONFIGURATION.call(provider, asset, gas=_CONFIGURATION_GAS),
                _GET_DATA.call(provider, asset, gas=_DATA_GAS),
            ]
        if len(assets) > _MOST_ONE_BY_ONE:
            calls.append(call_prices(oracle, assets))
        else:
            calls += price_group(oracle, assets).calls
        return Plan({"pools": Group(tuple(calls))})

    def build(
        self, question: ChainQuestion, outcomes: Outcomes, tables: Market, prices: TokenPrices
    ) -> Sequence[BestRow] | More:
        """Return a row for each pool with a rate; raises StaleTables, and ContractUnreadable where no pool answers."""
        returned = outcomes["pools"]
        tables.check(returned)
        count = len(tables.assets)
        of_pools, of_prices = returned[_CHECKS : _CHECKS + 2 * count], returned[_CHECKS + 2 * count :]
        if count > _MOST_ONE_BY_ONE:
            quotes = read_prices(of_prices[0], outcomes, count)
            if quotes is None:
                return More(Plan({"prices": price_group(tables.oracle, [asset.address for asset in tables.assets])}))
        else:
            quotes = [read_price(one) for one in of_prices]
        time, block = read_block_time(returned[_CHECKS - 1]), outcomes.block_of("pools")
        each = zip(tables.assets, of_pools[::2], of_pools[1::2], quotes, strict=True)
        return list(_rows(tables, each, time, block))


def _rows(
    market: Market, each: Iterator[tuple[Asset, Answered, Answered, int | None]], time: datetime, block: int
) -> Iterator[BestRow]:
    """Yield the rows of pools that exist and answer; one that does not takes no other with it, unless all are so."""
    found, failure = 0, None
    for asset, configured, data, price in each:
        try:
            decimals = _read_configuration(configured)
            if decimals is None or not asset.pools:
                continue
            supplied, lent_at, _ = _read_data(data)
        except ContractUnreadable as error:
            _log.warning("a pool is left out", chain=market.deployment.chain, asset=asset.address, why=error.message)
            release(error)
            failure = error
            continue
        found += 1
        reserve = _Reserve(asset, decimals, time, block, ())
        row = yield_pb2.BestYield(
            pool=asset.pools[0],
            apy=_apy_or_infinite(lent_at),
            tvl=None if price is None else reserve.value(supplied, price, market),
            symbol=asset.label,
            block_height=block,
        )
        row.updated_at.FromDatetime(time)
        yield BestRow(row, asset.symbols)
    if failure is not None and not found:
        raise failure


def _apy_or_infinite(rate: int) -> float:
    """Return the percent per year of a rate in rays; infinite where that is beyond all numbers."""
    try:
        return apy_of_apr(rate / _RAY)
    except OverflowError:
        return math.inf


def _read_configuration(answered: Answered) -> int | None:
    """Return a reserve's decimals; None where it is not active."""
    configuration = answered.read(_GET_CONFIGURATION)
    return configuration[0] if configuration[8] else None


def _read_data(answered: Answered) -> tuple[int, int, int]:
    """Return what is supplied to a reserve, and the rates that suppliers earn and borrowers pay, in rays per year."""
    data = answered.read(_GET_DATA)
    return data[2], data[5], data[6]
