"""The lending vaults of pool-a, and what a wallet's shares in them are worth.

Shares are worth assets by the vault's own formula, rounded down. Source: curvefi/curve-stablecoin, Vault.vy: shares
have 18 decimals and 1000 dead ones stand in every conversion, in both generations.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from waypost.v1 import position_pool_pb2

from server.contracts.interface import Interface
from server.contracts.words import decimal_text
from server.protocols.llamalend.tables import (
    MOST_DECIMALS,
    SLUG,
    Tables,
    Vault,
    check_calls,
    find_new,
    load_vaults,
    read_vaults,
    vault_groups,
)
from server.protocols.plan import ContractUnreadable, Group, More, Plan, Renewed
from server.protocols.tokens import ZERO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from server.protocols.llamalend.tables import Entry
    from server.protocols.plan import Outcomes
    from server.protocols.reader import ChainQuestion, TokenPrices, WalletQuestion

_VAULT = Interface.load("server.protocols.llamalend", "vault")
_TOTAL_ASSETS = _VAULT["totalAssets"]
_TOTAL_SUPPLY = _VAULT["totalSupply"]
_BALANCE_OF = _VAULT["balanceOf"]

# It calls the controller for its debt, which reads the AMM's rate.
_TOTAL_ASSETS_GAS = 90_000
_SHARES_GAS = 30_000
_DEAD_SHARES = 1000


class _Listed(NamedTuple):
    """A vault with its assets and shares, None where it refuses them: its asset is anyone's contract."""

    vault: Vault
    totals: tuple[int, int] | None


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
        totals = _ask_totals(vault.address for vault in tables.vaults)
        return Plan({"counts": Group(check_calls(question.chain, tables)), "totals": totals})

    def build(
        self, question: ChainQuestion, outcomes: Outcomes, tables: Tables, prices: TokenPrices
    ) -> dict[str, Any] | More | Renewed:
        """Return the response's `markets`; ContractUnreadable where a vault does not answer."""
        new = find_new(question.chain, outcomes["counts"], tables)
        opened = _opened(new)
        if opened and "vaults" not in outcomes:
            return More(Plan(_new_groups(opened)))
        current, listed = _read_list(new, outcomes, tables)
        answer = {"markets": [_market(one.vault, *one.totals) for one in listed if one.totals]}
        return Renewed(answer, current) if new else answer


class PositionReader(MarketReader):
    """Reads the vaults with a wallet's shares in them."""

    def plan(self, question: WalletQuestion, tables: Tables) -> Plan:  # type: ignore[override]  # it asks for a wallet
        """Return what the vaults take, and the wallet's shares."""
        shares = _ask_shares((vault.address for vault in tables.vaults), question.address)
        return Plan({**super().plan(question, tables).groups, "shares": shares})

    def build(  # type: ignore[override]  # it answers positions
        self, question: WalletQuestion, outcomes: Outcomes, tables: Tables, prices: TokenPrices
    ) -> position_pool_pb2.PoolALendPositions | More | Renewed:
        """Return all vaults and the positions in those of which the wallet has shares."""
        new = find_new(question.chain, outcomes["counts"], tables)
        opened, returned = _opened(new), outcomes["shares"]
        if opened and "vaults" not in outcomes:
            new_shares = _ask_shares((entry.vault for entry in opened), question.address)
            return More(Plan({**_new_groups(opened), "new shares": new_shares}))
        if opened:
            returned += outcomes["new shares"]
        current, listed = _read_list(new, outcomes, tables)
        shares = {one.call.to: one.read_one(_BALANCE_OF) for one in returned}
        positions = position_pool_pb2.PoolALendPositions()
        for vault, totals in listed:
            held = shares[vault.address]
            if totals is not None:
                positions.markets.append(_market(vault, *totals))
            elif held:
                raise ContractUnreadable(
                    f"the vault {vault.address} on {question.chain} does not report what it holds, and so not what the "
                    "wallet's shares in it are worth",
                    retry_after_ms=1000,
                )
            if held and totals is not None:
                decimals = vault.asset.decimals
                positions.positions.add(
                    vault_address=vault.address,
                    name=vault.name,
                    shares=decimal_text(held, vault.decimals),
                    assets=decimal_text(worth(held, *totals, decimals), decimals),
                )
        return Renewed(positions, current) if new else positions


def _opened(new: Mapping[int, Entry]) -> list[Entry]:
    """Return the new places that hold a vault: one may have been given up already."""
    return [entry for entry in new.values() if entry.vault != ZERO]


def _new_groups(opened: Sequence[Entry]) -> dict[str, Group]:
    return {**vault_groups(opened), "new totals": _ask_totals(entry.vault for entry in opened)}


def _ask_totals(vaults: Iterable[str]) -> Group:
    calls = (
        call
        for vault in vaults
        for call in (_TOTAL_ASSETS.call(vault, gas=_TOTAL_ASSETS_GAS), _TOTAL_SUPPLY.call(vault, gas=_SHARES_GAS))
    )
    return Group(tuple(calls))


def _ask_shares(vaults: Iterable[str], wallet: str) -> Group:
    return Group(tuple(_BALANCE_OF.call(vault, wallet, gas=_SHARES_GAS) for vault in vaults))


def _read_list(new: Mapping[int, Entry], outcomes: Outcomes, tables: Tables) -> tuple[Tables, list[_Listed]]:
    """Return the list as it is now, and its vaults; ContractUnreadable where one returned what it cannot."""
    returned, opened = outcomes["totals"], _opened(new)
    if opened:
        returned += outcomes["new totals"]
    current = tables.extended(new, read_vaults(opened, outcomes) if opened else ()) if new else tables
    totals = {
        assets.call.to: None if assets.has_failed else (assets.read_one(_TOTAL_ASSETS), supply.read_one(_TOTAL_SUPPLY))
        for assets, supply in zip(returned[::2], returned[1::2], strict=True)
    }
    return current, [_Listed(vault, totals[vault.address]) for vault in current.vaults]


def worth(shares: int, total_assets: int, total_supply: int, decimals: int) -> int:
    """Return what shares are worth in the asset's smallest unit, rounded down; `decimals` are its own, at most 18."""
    precision: int = 10 ** (MOST_DECIMALS - decimals)
    return shares * (total_assets * precision + 1) // ((total_supply + _DEAD_SHARES) * precision)


@lru_cache(1024)
def _market(vault: Vault, total_assets: int, total_supply: int) -> position_pool_pb2.PoolALendMarket:
    """Return a vault's row, which serves every wallet of a block; it is copied into answers and not changed."""
    return position_pool_pb2.PoolALendMarket(
        vault_address=vault.address,
        name=vault.name,
        symbol=vault.symbol,
        asset_address=vault.asset.address,
        total_assets=decimal_text(total_assets, vault.asset.decimals),
        total_supply=decimal_text(total_supply, vault.decimals),
    )
