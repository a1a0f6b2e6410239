"""Pendle's API: all running markets (`GET /v2/markets/all`), a wallet's transactions (`GET /v1/pnl/transactions`).

Rates are fractions there and percent here. Source: pendle-finance/documentation, ApiOverview and Quickstart; the
OpenAPI document of api-v2.pendle.finance/core as public typed clients have it (its limits of `skip` and `limit`).
"""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from server.apis.documents import DocumentRequest, Fetched, check_size
from server.apis.endpoints import AGENT, WholeApiErrors, changed_shape, read_shape
from server.contracts.address import checksum_address
from server.errors import UpstreamUnavailable
from server.upstream.transport import PrometheusObserver
from server.yields.computing_units import KEYLESS, ComputingUnits, CountedRequests, Quota

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runtime.settings import RemoteSettings
    from server.apis.documents import DocumentSource
    from server.apis.sources import Sources
    from server.upstream import RestPool
    from server.upstream.connector import Reply

NAME = "pendle"
TRANSACTIONS = "pendle transactions"

MARKETS = DocumentRequest(NAME)
"""All running markets of all chains: a tuple of ListedMarket."""

MARKETS_PATH = "/v2/markets/all"
TRANSACTIONS_PATH = "/v1/pnl/transactions"

_PAGE, _MOST_MARKETS = 100, 5_000
# `skip` and `limit` are capped at 1000 each, so that no more can be had.
_TRANSACTION_PAGE, _MOST_TRANSACTIONS = 1_000, 2_000
# The most that a request is documented to cost: what it counts until it was answered.
_DEAREST = 5.0
_UNITS = "x-computing-unit"
_MINUTE, _WEEK = 60, 604_800

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_ASSET_ID = re.compile(r"([0-9]{1,19})-(0x[0-9a-fA-F]{40})")
# Times and figures beyond these are none of a market.
_FIRST, _LAST = datetime(2020, 1, 1, tzinfo=UTC), datetime(2120, 1, 1, tzinfo=UTC)
_LONGEST_NAME = 100
_LARGEST_RATE, _LARGEST_AMOUNT, _LARGEST_EXCHANGE = Decimal(10**6), Decimal(10**30), Decimal(10**3)


class ListedMarket(NamedTuple):
    """A market of the list: `implied_apy` in percent per year, `liquidity` in US dollars, both None where unknown.

    `assets` are the checksummed addresses of what it is the yield of, on the market's own chain.
    """

    chain_id: int
    address: str
    name: str
    expiry: datetime
    implied_apy: float | None
    liquidity: float | None
    assets: tuple[str, ...]


class Flow(Enum):
    """Which way principal tokens went."""

    IN = "in"
    OUT = "out"
    NONE = "none"


class Transaction(NamedTuple):
    """What a wallet did in a market: when, how many principal tokens it got or gave, at which rate per asset.

    `rate` is None where none is known; `amount` is 0 where no principal tokens moved, or it is not stated how many.
    """

    at: datetime
    action: str
    flow: Flow
    amount: Decimal
    rate: Decimal | None


class _Worth(Enum):
    """By what a transaction's value in the asset becomes principal tokens."""

    OWN_RATE = 0
    MARKET_RATE = 1
    ONE = 2


# Which way principal tokens go in what the API calls actions, and how many.
_FLOWS: Mapping[str, tuple[Flow, _Worth]] = {
    "buyPt": (Flow.IN, _Worth.OWN_RATE),
    "buyPtLimitOrder": (Flow.IN, _Worth.OWN_RATE),
    "sellPt": (Flow.OUT, _Worth.OWN_RATE),
    "sellPtLimitOrder": (Flow.OUT, _Worth.OWN_RATE),
    "transferPtIn": (Flow.IN, _Worth.MARKET_RATE),
    "transferPtOut": (Flow.OUT, _Worth.MARKET_RATE),
    "mintPy": (Flow.IN, _Worth.ONE),
    "redeemPy": (Flow.OUT, _Worth.ONE),
}
# The other actions that are documented: they move no principal tokens, or as many as is not stated (what goes into or
# comes out of liquidity, and what is swapped for yield tokens).
_OTHERS = frozenset(
    (
        *("addLiquidityDualTokenAndPt", "addLiquiditySinglePt", "addLiquiditySingleToken"),
        *("addLiquiditySingleTokenKeepYt", "removeLiquidityDualTokenAndPt", "removeLiquidityToPt"),
        *("removeLiquiditySingleToken", "swapYtToPt", "swapPtToYt", "redeemYtRewards", "redeemYtYield"),
        *("redeemMarketRewards", "buyYt", "sellYt", "transferYtIn", "transferYtOut", "transferLpIn", "transferLpOut"),
        *("sellYtLimitOrder", "buyYtLimitOrder"),
    )
)


class _Asset(msgspec.Struct):
    address: str


class _Details(msgspec.Struct, rename="camel"):
    implied_apy: Decimal | None
    liquidity: Decimal | None


class _Market(msgspec.Struct, rename="camel"):
    chain_id: int
    address: str
    name: str
    expiry: str | int
    underlying_asset: str | _Asset
    details: _Details
    accounting_asset: str | _Asset | None = None


class _Page(msgspec.Struct):
    total: int
    results: list[_Market] | None = None
    markets: list[_Market] | None = None


class _Row(msgspec.Struct, rename="camel"):
    chain_id: int
    market: str
    timestamp: str
    action: str
    tx_value_asset: Decimal
    pt_exchange_rate: Decimal | None = None
    effective_pt_exchange_rate: Decimal | None = None
    user: str | None = None


class _Rows(msgspec.Struct):
    total: int
    results: list[_Row]


def transactions_of(chain_id: int, wallet: str, market: str) -> DocumentRequest:
    """Return the request for a wallet's transactions in a market, checksummed: a tuple of Transaction."""
    return DocumentRequest(TRANSACTIONS, (chain_id, wallet, market))


class Api:
    """Sends requests within the quota of computing units; each is counted as the dearest until it is answered."""

    def __init__(self, pool: RestPool, units: ComputingUnits) -> None:
        self._pool = pool
        self._units = units
        self._costs: dict[str, float] = {}

    async def get(self, path: str, query: Sequence[tuple[str, str]]) -> bytes:
        """Return the body of an answer; UpstreamUnavailable where the quota does not hold what its kind cost last."""
        self._units.check(self._costs.get(path, _DEAREST))
        reply = await self._pool.get(path, query, AGENT, name=path)
        cost = _cost(reply)
        if cost is not None:
            self._costs[path] = cost
            self._units.count(cost - _DEAREST)
        return reply.result


class Markets:
    """See `DocumentSource`: the markets of all chains."""

    lifetime = 300.0
    stale_for = 3600.0
    is_refreshed = True

    def __init__(self, api: Api) -> None:
        self._api = api

    async def fetch(self, key: tuple[object, ...], previous: Fetched | None) -> Fetched:
        """Return all pages, one after the other; UpstreamUnavailable where they do not hold what they state."""
        found: dict[tuple[int, str], ListedMarket] = {}
        size = skip = 0
        total = 1
        while skip < total:
            query = (("isActive", "true"), ("skip", str(skip)), ("limit", str(_PAGE)))
            body = await self._api.get(MARKETS_PATH, query)
            size += len(body)
            check_size(NAME, size)
            total, page = await asyncio.to_thread(read_markets, body, skip)
            found |= {(one.chain_id, one.address): one for one in page}
            skip += _PAGE
        return Fetched(tuple(found.values()), size)


class Transactions:
    """See `DocumentSource`: the transactions of one wallet in one market, kept for a moment."""

    lifetime = 10.0
    stale_for = 10.0
    is_refreshed = False

    def __init__(self, api: Api) -> None:
        self._api = api

    async def fetch(self, key: tuple[object, ...], previous: Fetched | None) -> Fetched:
        """Return all pages, one after the other."""
        chain_id, wallet, market = key
        found: list[Transaction] = []
        size = skip = 0
        total = 1
        while skip < total:
            query = (
                ("chainId", str(chain_id)),
                # In lower case, as all addresses of the API are.
                ("user", str(wallet).lower()),
                ("market", str(market).lower()),
                ("skip", str(skip)),
                ("limit", str(_TRANSACTION_PAGE)),
            )
            body = await self._api.get(TRANSACTIONS_PATH, query)
            size += len(body)
            check_size(NAME, size)
            total, page = await asyncio.to_thread(read_transactions, body, skip, key)
            found += page
            skip += _TRANSACTION_PAGE
        return Fetched(tuple(found), size)


def open_pendle(sources: Sources) -> dict[str, DocumentSource]:
    """Return the API's documents by source, as the settings configure it; empty where it is switched off.

    Each of several workers has its part of the quota.
    """
    endpoints, workers = sources.endpoints(NAME), sources.settings.workers
    if not endpoints:
        return {}
    units = ComputingUnits(NAME, quota(endpoints, workers))
    counted: Any = CountedRequests(sources.observer or PrometheusObserver(), units, _DEAREST)
    pool = sources.open(
        NAME, WholeApiErrors(NAME), observer=counted, changed=lambda now: units.set_quota(quota(now, workers))
    )
    api = Api(pool, units)
    return {NAME: Markets(api), TRANSACTIONS: Transactions(api)}


def quota(endpoints: Sequence[RemoteSettings], workers: int) -> Quota:
    """Return a worker's part of the quota: the documented one, or `rate` units per second where that is configured."""
    rates = [one.rate for one in endpoints if one.rate]
    whole = Quota(sum(rates) * _MINUTE, sum(rates) * _WEEK) if rates else KEYLESS
    return Quota(whole.per_minute / workers, whole.per_week / workers)


def read_markets(body: bytes, skip: int) -> tuple[int, list[ListedMarket]]:
    """Return how many markets there are, and those of a page that begins after `skip`; UpstreamUnavailable."""
    page = read_shape(body, _Page, NAME)
    rows = page.results if page.results is not None else page.markets
    if rows is None:
        raise changed_shape(NAME, "`$.results` is missing")
    _check_length(page.total, len(rows), skip, _PAGE, _MOST_MARKETS)
    return page.total, [_market(row, f"$.results[{place}]") for place, row in enumerate(rows)]


def read_transactions(body: bytes, skip: int, key: tuple[object, ...]) -> tuple[int, list[Transaction]]:
    """Return how many transactions there are, and those of a page; UpstreamUnavailable, also for those of others."""
    page = read_shape(body, _Rows, NAME)
    _check_length(page.total, len(page.results), skip, _TRANSACTION_PAGE, _MOST_TRANSACTIONS)
    return page.total, [_transaction(row, key, f"$.results[{place}]") for place, row in enumerate(page.results)]


def _check_length(total: int, count: int, skip: int, page: int, most: int) -> None:
    """Refuse pages that are not as full as their total states, so that nothing is left out unseen."""
    if not 0 <= total <= most:
        raise UpstreamUnavailable(f"{NAME} states a `$.total` of more than {most:,}, which cannot be read whole")
    if count != min(page, max(0, total - skip)):
        raise changed_shape(NAME, "`$.results` has not as many rows as `$.total` says")


def _market(row: _Market, where: str) -> ListedMarket:
    assets = []
    for member, asset in (("underlyingAsset", row.underlying_asset), ("accountingAsset", row.accounting_asset)):
        if asset is not None:
            found = _asset_address(asset, row.chain_id, f"{where}.{member}")
            assets += [found] if found is not None else []
    apy, liquidity = row.details.implied_apy, row.details.liquidity
    if apy is not None and not (apy.is_finite() and 0 <= apy <= _LARGEST_RATE):
        raise changed_shape(NAME, f"`{where}.details.impliedApy` is no rate")
    if liquidity is not None and not (liquidity.is_finite() and 0 <= liquidity <= _LARGEST_AMOUNT):
        raise changed_shape(NAME, f"`{where}.details.liquidity` is no amount")
    if not 0 < row.chain_id < 2**53:
        raise changed_shape(NAME, f"`{where}.chainId` is no chain")
    if not 0 < len(row.name) <= _LONGEST_NAME:
        raise changed_shape(NAME, f"`{where}.name` is no name")
    return ListedMarket(
        row.chain_id,
        _address(row.address, f"{where}.address"),
        row.name,
        _moment(row.expiry, f"{where}.expiry"),
        None if apy is None else float(apy * 100),
        None if liquidity is None else float(liquidity),
        tuple(dict.fromkeys(assets)),
    )


def _transaction(row: _Row, key: tuple[object, ...], where: str) -> Transaction:
    chain_id, wallet, market = key
    plain = row.market.removeprefix(f"{row.chain_id}-")
    others = {
        "chainId": row.chain_id != chain_id,
        "market": plain.lower() != str(market).lower(),
        "user": row.user is not None and row.user.lower() != str(wallet).lower(),
    }
    if any(others.values()):
        [member, *_] = [member for member, is_other in others.items() if is_other]
        raise UpstreamUnavailable(f"{NAME} answers another question than it was asked: `{where}.{member}` differs")
    at = _moment(row.timestamp, f"{where}.timestamp")
    value = row.tx_value_asset
    if not (value.is_finite() and 0 <= value <= _LARGEST_AMOUNT):
        raise changed_shape(NAME, f"`{where}.txValueAsset` is no amount")
    own = _exchange_rate(row.effective_pt_exchange_rate, f"{where}.effectivePtExchangeRate")
    of_market = _exchange_rate(row.pt_exchange_rate, f"{where}.ptExchangeRate")
    if row.action in _OTHERS:
        return Transaction(at, row.action, Flow.NONE, Decimal(0), None)
    if row.action not in _FLOWS:
        raise changed_shape(NAME, f"`{where}.action` is none that is documented")
    flow, worth = _FLOWS[row.action]
    rates = {_Worth.OWN_RATE: own or of_market, _Worth.MARKET_RATE: of_market, _Worth.ONE: Decimal(1)}
    rate = rates[worth]
    if rate is None:
        raise changed_shape(NAME, f"`{where}.ptExchangeRate` is missing")
    return Transaction(at, row.action, flow, value * rate, own if worth is _Worth.OWN_RATE else None)


def _exchange_rate(rate: Decimal | None, where: str) -> Decimal | None:
    if rate is not None and not (rate.is_finite() and 0 < rate <= _LARGEST_EXCHANGE):
        raise changed_shape(NAME, f"`{where}` is no rate")
    return rate


def _asset_address(asset: str | _Asset, chain_id: int, where: str) -> str | None:
    """Return an asset's address on the market's chain, None for one of another chain."""
    if isinstance(asset, _Asset):
        return _address(asset.address, f"{where}.address")
    found = _ASSET_ID.fullmatch(asset)
    if found is None:
        return _address(asset, where)
    return checksum_address(found[2].lower()) if int(found[1]) == chain_id else None


def _address(text: str, where: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise changed_shape(NAME, f"`{where}` is no address")
    return checksum_address(text.lower())


def _moment(value: str | int, where: str) -> datetime:
    try:
        moment = datetime.fromtimestamp(value, UTC) if isinstance(value, int) else datetime.fromisoformat(value)
    except (ValueError, OverflowError, OSError):
        raise changed_shape(NAME, f"`{where}` is no time") from None
    if moment.tzinfo is None or not _FIRST <= moment < _LAST:
        raise changed_shape(NAME, f"`{where}` is no time of a market")
    return moment.astimezone(UTC)


def _cost(reply: Reply) -> float | None:
    """Return the computing units that an answer states as its cost, None where it states none."""
    cost = reply.headers.get(_UNITS, "")
    return float(cost) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", cost) else None
