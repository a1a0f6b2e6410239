"""The lending vaults of pool-a, and what a wallet's shares in them are worth.

Shares are worth assets by the vault's own formula, rounded down. Source: curvefi/curve-stablecoin, Vault.vy: shares
have 18 decimals and 1000 dead ones stand in every conversion, in both generations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import position_pool_pb2

from server.chains.amounts import decimal_text
from server.contracts.interface import Interface
from server.protocols.curve_llamalend.tables import (
    COUNT,
    MOST_DECIMALS,
    SLUG,
    Tables,
    Vault,
    count_calls,
    load_vaults,
)
from server.protocols.plan import ContractUnreadable, Group, More, Plan, StaleTables

if TYPE_CHECKING:
    from server.protocols.plan import Outcomes
    from server.protocols.reader import ChainQuestion, TokenPrices, WalletQuestion

_VAULT = Interface.load("server.protocols.curve_llamalend", "vault")
_TOTAL_ASSETS = _VAULT["totalAssets"]
_TOTAL_SUPPLY = _VAULT["totalSupply"]
_BALANCE_OF = _VAULT["balanceOf"]

# It asks the controller for its debt, which reads the AMM's rate.
_TOTAL_ASSETS_GAS = 120_000
_DEAD_SHARES = 1000


class MarketReader:
    """Reads the vaults; tables are their list."""

    def subject(self, question: ChainQuestion) -> tuple[str, str]:
        """Return the chain."""
        return SLUG, question.chain

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> Tables | More:
        """Return the vaults, or what has to be read for them."""
        return load_vaults(question.chain, outcomes)

    def plan(self, question: ChainQuestion, tables: Tables) -> Plan:
        """Return the factories' counts and the vaults' totals, which serve every wallet."""
        totals = (
            call
            for vault in tables.vaults
            for call in (
                _TOTAL_ASSETS.call(vault.address, gas=_TOTAL_ASSETS_GAS),
                _TOTAL_SUPPLY.call(vault.address),
            )
        )
        return Plan({"counts": Group(count_calls(question.chain)), "totals": Group(tuple(totals))})

    def build(self, question: ChainQuestion, outcomes: Outcomes, tables: Tables, prices: TokenPrices) -> dict[str, Any]:
        """Return the response's `markets`; ContractUnreadable where a vault does not answer."""
        totals = read_totals(outcomes, tables)
        return {"markets": [_market(vault, *one) for vault, one in zip(tables.vaults, totals, strict=True) if one]}


class PositionReader(MarketReader):
    """Reads the vaults with a wallet's shares in them."""

    def plan(self, question: WalletQuestion, tables: Tables) -> Plan:  # type: ignore[override]  # it asks for a wallet
        """Return what the vaults take, and the wallet's shares."""
        shares = (_BALANCE_OF.call(vault.address, question.address) for vault in tables.vaults)
        return Plan({**super().plan(question, tables).groups, "shares": Group(tuple(shares))})

    def build(  # type: ignore[override]  # it answers positions
        self, question: WalletQuestion, outcomes: Outcomes, tables: Tables, prices: TokenPrices
    ) -> position_pool_pb2.PoolALendPositions:
        """Return all vaults and the positions in those of which the wallet has shares."""
        totals = read_totals(outcomes, tables)
        positions = position_pool_pb2.PoolALendPositions()
        for vault, one, told in zip(tables.vaults, totals, outcomes["shares"], strict=True):
            shares = told.read_one(_BALANCE_OF)
            if one is None:
                if shares:
                    raise ContractUnreadable(
                        f"the vault {vault.address} on {question.chain} does not tell what it holds, and so not what "
                        "the wallet's shares in it are worth",
                        retry_after_ms=1000,
                    )
                continue
            positions.markets.append(_market(vault, *one))
            if shares:
                positions.positions.add(
                    vault_address=vault.address,
                    name=vault.name,
                    shares=decimal_text(shares, vault.decimals),
                    assets=decimal_text(worth(shares, *one, vault.asset.decimals), vault.asset.decimals),
                )
        return positions


def read_totals(outcomes: Outcomes, tables: Tables) -> list[tuple[int, int] | None]:
    """Return assets and shares of each vault, None for one that refuses: its asset is anyone's contract.

    Raises:
        StaleTables: a factory has another number of vaults.
        ContractUnreadable: a vault returned what it cannot.
    """
    if tuple(told.read_one(COUNT) for told in outcomes["counts"]) != tables.counts:
        raise StaleTables
    told = outcomes["totals"]
    return [
        None if assets.has_failed else (assets.read_one(_TOTAL_ASSETS), supply.read_one(_TOTAL_SUPPLY))
        for assets, supply in zip(told[::2], told[1::2], strict=True)
    ]


def worth(shares: int, total_assets: int, total_supply: int, decimals: int) -> int:
    """Return what shares are worth in the asset's smallest unit, rounded down; `decimals` are its own, at most 18."""
    precision: int = 10 ** (MOST_DECIMALS - decimals)
    return shares * (total_assets * precision + 1) // ((total_supply + _DEAD_SHARES) * precision)


def _market(vault: Vault, total_assets: int, total_supply: int) -> position_pool_pb2.PoolALendMarket:
    return position_pool_pb2.PoolALendMarket(
        vault_address=vault.address,
        name=vault.name,
        symbol=vault.symbol,
        asset_address=vault.asset.address,
        total_assets=decimal_text(total_assets, vault.asset.decimals),
        total_supply=decimal_text(total_supply, vault.decimals),
    )
