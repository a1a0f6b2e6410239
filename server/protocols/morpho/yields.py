"""Yields of lend-c's vaults: what one earns, what a wallet has in it, what a share is worth; all listed of a chain.

Vaults of generation V1 are read from the chain alone. What those of V2 earn is spread over adapters of many kinds:
their rate is an average of Morpho's API, the rest is read from the chain too.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

from waypost.v1 import yield_pb2, yield_protocol_pb2, yield_share_pb2

from server.contracts.interface import Interface
from server.errors import PriceUnavailable
from server.protocols.morpho.listing import ListingReader
from server.protocols.morpho.vaults import (
    SLUG,
    Vault,
    describe_asset,
    describe_markets,
    describe_vault,
    has_vaults,
    plan_state,
    prove,
    proved,
    read_parameters,
    read_queue,
    read_state,
    read_vault,
)
from server.protocols.plan import Group, More, Plan, StaleTables, Token
from server.protocols.tokens import BALANCE_GAS, BALANCE_OF
from server.protocols.yields import (
    BestRow,
    Held,
    PoolForm,
    PoolQuestion,
    YieldEntry,
    balance_of,
    block_clock,
    oldest,
    read_block_time,
    unknown_pool,
)
from server.yields import morpho
from server.yields.morpho import SECOND

if TYPE_CHECKING:
    from datetime import datetime

    from server.prices import Price
    from server.protocols.plan import Outcomes
    from server.protocols.reader import ChainQuestion, TokenPrices

CHAINS = ("ethereum", "polygon", "optimism", "base", "avalanche", "arbitrum", "bsc")

_VAULT = Interface.load("server.protocols.morpho", "vault")
_TOTAL_ASSETS = _VAULT["totalAssets"]
_CONVERT = _VAULT["convertToAssets"]
# Conversions of all markets of a vault, which accrue by themselves.
_CONVERT_GAS = 1_500_000
# So many times a share is converted: an asset of few decimals would leave a few digits of one.
_MANY = 12
_SPOT, _AVERAGE = yield_protocol_pb2.YIELD_BASIS_SPOT, yield_protocol_pb2.YIELD_BASIS_AVERAGE


class _VaultTables:
    """What the readers of one vault share: their tables are what the vault is."""

    def subject(self, question: PoolQuestion) -> tuple[str, str, str]:
        """Return the vault."""
        return SLUG, question.chain, question.pool

    def load(self, question: PoolQuestion, outcomes: Outcomes) -> Vault | More:
        """Return the vault, or what has to be read for it; NotFound where no factory knows it."""
        chain, pool = question.chain, question.pool
        if not has_vaults(chain):
            raise unknown_pool(pool, (), of=f"lend-c on {chain}, where the protocol has no vaults")
        if "proof" not in outcomes:
            # Alone: what an unknown contract answers may be large, and none of it is needed.
            return More(Plan({"proof": prove(chain, [pool])}))
        version = proved(chain, [pool], outcomes["proof"]).get(pool)
        if version is None:
            return self._refuse(question, outcomes)
        if "vault" not in outcomes:
            return More(Plan({"vault": describe_vault(version, pool)}))
        returned = outcomes["vault"]
        queue = read_queue(version, returned)
        if "asset" not in outcomes:
            return More(Plan({"asset": describe_asset(returned), "markets": describe_markets(chain, queue)}))
        return read_vault(version, returned, outcomes["asset"], read_parameters(queue, outcomes["markets"]))

    def _refuse(self, question: PoolQuestion, outcomes: Outcomes) -> More:
        """Request the names of vaults, and raise NotFound with the nearest."""
        known = list[str]()
        if question.chain in morpho.CHAINS:
            request = morpho.vaults_of(question.chain)
            if not outcomes.has_document(request):
                return More(Plan(documents=(request,)))
            listing = outcomes.find_document(request)
            known = [] if listing is None else [vault.address for vault in listing.value.vaults]
        raise unknown_pool(question.pool, known, of=f"lend-c on {question.chain}")


class LendingReader(_VaultTables):
    """Reads what a vault earns. A vault has no borrowers: that rate is 0."""

    def plan(self, question: PoolQuestion, tables: Vault) -> Plan:
        """Return the vault with its markets, or with Morpho's figures for it, beside the proof of it and the price."""
        chain, price = question.chain, (Token(question.chain, tables.asset.address),)
        proof = prove(chain, [question.pool])
        if tables.version != SECOND:
            return Plan({"proof": proof, "vault": plan_state(chain, tables)}, price)
        calls = (block_clock(chain), _TOTAL_ASSETS.call(question.pool, gas=_CONVERT_GAS))
        documents = (morpho.vaults_of(chain),) if chain in morpho.CHAINS else ()
        return Plan({"proof": proof, "vault": Group(calls, is_known=False)}, price, documents)

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: Vault, prices: TokenPrices
    ) -> yield_pb2.LendingYield:
        """Return the vault's row.

        Raises:
            UpstreamUnavailable: Morpho's API does not answer, which alone knows the rates of generation V2.
        """
        _check(question, outcomes, tables)
        price = prices.get((question.chain, tables.asset.address))
        row = yield_pb2.LendingYield(borrow_apy=0.0, block_height=outcomes.block_of("vault"))
        reported_at: datetime | None = None
        if tables.version == SECOND:
            time, total = _read_total(outcomes)
            rate, reported_at = _average(question, outcomes)
        else:
            state = read_state(question.chain, tables, outcomes["vault"])
            time, total, rate = state.time, state.total_assets, state.apy(after_fee=True)
        if rate is not None:
            row.supply_apy = rate
            row.basis = _AVERAGE if tables.version == SECOND else _SPOT
        if price is not None:
            row.tvl = _value(total, tables, price)
        row.updated_at.FromDatetime(oldest(time, reported_at, price.updated_at if price else None))
        return row


class _SharesReader(_VaultTables):
    """Reads what shares of a vault are worth, in either generation."""

    def plan(self, question: PoolQuestion, tables: Vault) -> Plan:
        """Return the conversion of shares, beside the proof of the vault and the price."""
        chain = question.chain
        many = 10 ** (tables.decimals + _MANY)
        calls = (block_clock(chain), _CONVERT.call(question.pool, many, gas=_CONVERT_GAS))
        groups = {"proof": prove(chain, [question.pool]), "vault": Group(calls, is_known=False)}
        if question.address:
            balance = BALANCE_OF.call(question.pool, question.address, gas=BALANCE_GAS)
            groups["wallet"] = Group((balance,), is_known=False)
        return Plan(groups, (Token(chain, tables.asset.address),))


class BalanceReader(_SharesReader):
    """Reads what a wallet could take out of a vault."""

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: Vault, prices: TokenPrices
    ) -> yield_share_pb2.YieldBalance:
        """Return the wallet's row, zeros included."""
        _check(question, outcomes, tables)
        asset, price = tables.asset, prices.get((question.chain, tables.asset.address))
        time, many = _read_conversion(outcomes)
        amount = outcomes["wallet"][0].read_one(BALANCE_OF) * many // 10 ** (tables.decimals + _MANY)
        held = Held(asset.symbol, asset.address, amount / 10**asset.decimals)
        row = yield_share_pb2.YieldBalance(
            balance=balance_of([held], None if price is None else _value(amount, tables, price)),
            block_height=outcomes.block_of("vault"),
        )
        row.updated_at.FromDatetime(oldest(time, price.updated_at if price else None))
        return row


class PriceReader(_SharesReader):
    """Reads what one share of a vault is worth."""

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: Vault, prices: TokenPrices
    ) -> yield_share_pb2.YieldPrice:
        """Return the share's price; PriceUnavailable where the vault's asset has none."""
        _check(question, outcomes, tables)
        price = prices.get((question.chain, tables.asset.address))
        if price is None:
            raise PriceUnavailable(
                f"the asset {tables.asset.symbol} of the vault has no live price; try again later", retry_after_ms=5000
            )
        time, many = _read_conversion(outcomes)
        share = price.value * Decimal(many).scaleb(-tables.asset.decimals - _MANY)
        row = yield_share_pb2.YieldPrice(
            price=yield_share_pb2.SharePrice(usd=float(share)), block_height=outcomes.block_of("vault")
        )
        row.updated_at.FromDatetime(oldest(time, price.updated_at))
        return row


class BestReader(ListingReader):
    """Returns all listed vaults of a chain, of both generations, at the rates of `LendingReader` as Morpho has them."""

    def build(self, question: ChainQuestion, outcomes: Outcomes, tables: None, prices: TokenPrices) -> list[BestRow]:
        """Return a row for each vault, without a rate (NaN) where the API knows none."""
        if question.chain not in morpho.CHAINS:
            return []
        listing = outcomes.document(morpho.vaults_of(question.chain))
        rows = []
        for vault in listing.value.vaults:
            rate = math.nan if vault.earned_apy is None else vault.earned_apy
            row = yield_pb2.BestYield(pool=vault.address, apy=rate, tvl=vault.total_assets_usd)
            row.updated_at.FromDatetime(oldest(listing.read_at, vault.updated_at))
            rows.append(BestRow(row, (vault.asset_symbol,)))
        return rows


def _check(question: PoolQuestion, outcomes: Outcomes, tables: Vault) -> None:
    """Raise StaleTables where the factories do not know the vault (any more) as what it was."""
    if proved(question.chain, [question.pool], outcomes["proof"]).get(question.pool) != tables.version:
        raise StaleTables


def _average(question: PoolQuestion, outcomes: Outcomes) -> tuple[float | None, datetime | None]:
    """Return the rate that Morpho's API has of a vault and its time; None for a vault that it does not list."""
    if question.chain not in morpho.CHAINS:
        return None, None
    listing = outcomes.document(morpho.vaults_of(question.chain))
    vault = listing.value.by_address().get(question.pool)
    return (None, None) if vault is None else (vault.earned_apy, listing.read_at)


def _read_total(outcomes: Outcomes) -> tuple[datetime, int]:
    clock, total = outcomes["vault"]
    return read_block_time(clock), int(total.read_one(_TOTAL_ASSETS))


def _read_conversion(outcomes: Outcomes) -> tuple[datetime, int]:
    clock, converted = outcomes["vault"]
    return read_block_time(clock), int(converted.read_one(_CONVERT))


def _value(amount: int, vault: Vault, price: Price) -> float:
    return float(Decimal(amount).scaleb(-vault.asset.decimals) * price.value)


YIELDS = YieldEntry(
    protocol=yield_protocol_pb2.YIELD_PROTOCOL_LEND_C,
    chains=CHAINS,
    pool=PoolForm.ADDRESS,
    type=yield_protocol_pb2.YIELD_TYPE_LENDING,
    readers={
        "GetYieldsLending": LendingReader(),
        "GetYieldsBalance": BalanceReader(),
        "GetYieldsPrice": PriceReader(),
    },
    best=BestReader(),
)
