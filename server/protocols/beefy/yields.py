"""Rates of vault-a's vaults, which its documents alone state: a strategy's rewards are on no chain beforehand.

A vault's value is in the document of values; where that fails it is null, and the rate is answered.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import yield_pb2, yield_protocol_pb2

from server.errors import NotFound
from server.protocols.plan import Plan
from server.protocols.yields import BestRow, oldest, unknown_pool
from server.yields import beefy

if TYPE_CHECKING:
    from datetime import datetime

    from server.protocols.plan import Outcomes
    from server.protocols.reader import ChainQuestion, TokenPrices
    from server.protocols.yields import PoolQuestion
    from server.yields.beefy import Vault

_DOCUMENTS = Plan(documents=(beefy.VAULTS, beefy.RATES, beefy.VALUES))


class VaultReader:
    """Reads a vault's rate; it reads no node and needs no tables."""

    def subject(self, question: PoolQuestion) -> tuple[str, str]:
        """Return the chain."""
        return beefy.NAME, question.chain

    def load(self, question: PoolQuestion, outcomes: Outcomes) -> None:
        """Return None."""

    def plan(self, question: PoolQuestion, tables: None) -> Plan:
        """Return the documents."""
        return _DOCUMENTS

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: None, prices: TokenPrices
    ) -> yield_pb2.VaultYield:
        """Return the vault's row, without a rate where Beefy reports none.

        Raises:
            NotFound: no such vault on the chain; names the nearest ids, or the vault's chain.
            UpstreamUnavailable: the vaults or the rates are not to be had.
        """
        vault = find_vault(outcomes.document(beefy.VAULTS).value, question)
        figures = _figures(vault, outcomes)
        row = yield_pb2.VaultYield(tvl=figures.tvl)
        if figures.apy is not None:
            row.apy = figures.apy
            row.basis = yield_protocol_pb2.YIELD_BASIS_SPOT
        row.updated_at.FromDatetime(figures.updated_at)
        return row


class BestReader:
    """Reads all active vaults of a chain; it reads no node and needs no tables."""

    def subject(self, question: ChainQuestion) -> tuple[str, str]:
        """Return the chain."""
        return beefy.NAME, question.chain

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> None:
        """Return None."""

    def plan(self, question: ChainQuestion, tables: None) -> Plan:
        """Return the documents."""
        return _DOCUMENTS

    def build(self, question: ChainQuestion, outcomes: Outcomes, tables: None, prices: TokenPrices) -> list[BestRow]:
        """Return a row for each vault, without a rate (NaN) where Beefy reports none; raises as `VaultReader`."""
        vaults: beefy.Vaults = outcomes.document(beefy.VAULTS).value
        rows = []
        for vault in vaults.by_id.values():
            if vault.chain != question.chain or not vault.is_active:
                continue
            figures = _figures(vault, outcomes)
            symbols = vault.assets or (vault.symbol,)
            apy = math.nan if figures.apy is None else figures.apy
            row = yield_pb2.BestYield(pool=vault.id, apy=apy, tvl=figures.tvl, symbol="-".join(symbols))
            row.updated_at.FromDatetime(figures.updated_at)
            rows.append(BestRow(row, symbols))
        return rows


class _Figures(NamedTuple):
    apy: float | None
    tvl: float | None
    updated_at: datetime


def find_vault(vaults: beefy.Vaults, question: PoolQuestion) -> Vault:
    """Return the vault of that id; NotFound naming the nearest ids of the chain, or the chain that it is on."""
    vault = vaults.by_id.get(question.pool)
    if vault is None:
        similar = vaults.ids[question.chain].similar(question.pool)
        raise unknown_pool(question.pool, similar, of=f"vault-a on {question.chain}")
    if vault.chain != question.chain:
        raise NotFound(
            f"the vault {vault.id} of vault-a is on {vault.chain}, not on {question.chain}: ask there", field="pool"
        )
    return vault


def _figures(vault: Vault, outcomes: Outcomes) -> _Figures:
    rates, values = outcomes.document(beefy.RATES), outcomes.find_document(beefy.VALUES)
    tvl: float | None = None if values is None else values.value.get(vault.chain, {}).get(vault.id)
    of_values = None if values is None or tvl is None else values.read_at
    return _Figures(rates.value.get(vault.id), tvl, oldest(rates.read_at, of_values))
