"""Readers of vault-b: the rate of one vault, what a wallet has in it, and all vaults of a chain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from waypost.v1 import yield_pb2, yield_protocol_pb2, yield_share_pb2

from server.contracts.interface import Interface
from server.protocols.plan import Group, More, Plan, Token
from server.protocols.tokens import BALANCE_GAS, BALANCE_OF
from server.protocols.yearn.rates import (
    CONVERT,
    PRICE,
    Rate,
    growth_rate,
    oracle_calls,
    oracle_rate,
    past_group,
    price_call,
)
from server.protocols.yearn.tables import (
    SLUG,
    VERSION,
    VaultTables,
    check_proof,
    check_version,
    find_listed,
    proof_group,
)
from server.protocols.yields import MANY_SHARES, BestRow, Held, balance_of, block_clock, oldest, read_block_time, value
from server.yields import kong

if TYPE_CHECKING:
    from server.contracts.calls import ContractCall
    from server.protocols.plan import Outcomes
    from server.protocols.reader import ChainQuestion, TokenPrices
    from server.protocols.yearn.tables import Vault
    from server.protocols.yields import PoolQuestion


# V3 by `convertToAssets`; V2 by `pricePerShare`, which has as many places as the asset and is all that V2 states.

_WORTH_GAS = 300_000


class BalanceReader(VaultTables):
    """Reads balances."""

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: Vault | None, prices: TokenPrices
    ) -> yield_share_pb2.YieldBalance | More:
        """Return the wallet's row, zeros included; raises as `check_proof`."""
        if "vault" not in outcomes and "proof" not in outcomes:
            return More(_plan_balance(question, tables, is_listed=find_listed(question, outcomes) is not None))
        vault = check_proof(question, tables, outcomes)
        returned_time, version, price = outcomes["vault"]
        check_version(vault, version)
        shares: int = outcomes["wallet"][0].read_one(BALANCE_OF)
        if not shares:
            amount = 0
        elif not vault.is_v3:
            amount = shares * int(price.read_one(PRICE)) // 10**vault.decimals
        elif (found := price.read_if_answered(CONVERT)) is not None:
            amount = shares * int(found[0]) // MANY_SHARES
        elif "again" in outcomes:
            amount = int(outcomes["again"][0].read_one(CONVERT))
        else:
            # Asked for what the wallet has itself: as many shares were too many for the contract.
            call = CONVERT.call(question.pool, shares, gas=_WORTH_GAS)
            return More(Plan({"again": Group((call,), is_known=False)}))
        asset = vault.asset
        held = [Held(asset.symbol, asset.address, amount / 10**asset.decimals)]
        worth = value(held, question.chain, prices)
        row = yield_share_pb2.YieldBalance(
            balance=balance_of(held, worth.usd),
            block_height=outcomes.block_of("vault"),
        )
        row.updated_at.FromDatetime(oldest(read_block_time(returned_time), worth.updated_at))
        return row


def _plan_balance(question: PoolQuestion, vault: Vault | None, *, is_listed: bool) -> Plan:
    """Return the calls of the vault, which serve every wallet, that of the wallet, and the proof unless Kong is it."""
    chain, pool = question.chain, question.pool
    groups = {} if is_listed else {"proof": proof_group(question, vault)}
    if vault is None:
        return Plan(groups or {"proof": proof_group(question, vault)})
    calls = (block_clock(chain), VERSION.call(pool), price_call(pool, is_v3=vault.is_v3))
    groups["vault"] = Group(calls, is_known=False)
    groups["wallet"] = Group((BALANCE_OF.call(pool, question.address, gas=BALANCE_GAS),), is_known=False)
    return Plan(groups, prices=(Token(chain, vault.asset.address),))


_TOTAL = Interface.load("server.protocols.yearn", "vault")["totalAssets"]
_TOTAL_GAS = 300_000


class VaultReader(VaultTables):
    """Reads a vault's rate: by Kong where that has one, else by the vault's contracts."""

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: Vault | None, prices: TokenPrices
    ) -> yield_pb2.VaultYield | More:
        """Return the vault's row, without a rate where no source has one. Raises as `check_proof`."""
        listed = find_listed(question, outcomes)
        has_rate = listed is not None and listed.apy is not None
        if "vault" not in outcomes and "proof" not in outcomes:
            return More(_plan_rate(question, tables, is_listed=listed is not None, has_rate=has_rate))
        vault = check_proof(question, tables, outcomes)
        returned_time, version, total, _ = outcomes["vault"]
        check_version(vault, version)
        now = read_block_time(returned_time)
        rate = _rate(vault, listed, outcomes)
        row = yield_pb2.VaultYield(block_height=outcomes.block_of("vault"))
        asset = vault.asset
        amount = total.read_one(_TOTAL) / 10**asset.decimals
        worth = value([Held(asset.symbol, asset.address, amount)], question.chain, prices)
        # The chain's own figure at the gateway's own price; Kong's where there is no such price.
        usd = worth.usd
        is_kongs = usd is None and listed is not None and listed.tvl is not None
        if is_kongs and listed is not None:
            usd = listed.tvl
        if usd is not None:
            row.tvl = usd
        if rate is not None:
            row.apy, row.basis = rate.apy, rate.basis
        document = outcomes.find_document(kong.vaults_of(question.chain))
        of_kong = document.read_at if document is not None and (has_rate or is_kongs) else None
        row.updated_at.FromDatetime(oldest(now, worth.updated_at, of_kong))
        return row


def _plan_rate(question: PoolQuestion, vault: Vault | None, *, is_listed: bool, has_rate: bool) -> Plan:
    """Return all that one read takes: the vault in executions of its own, proved by registries unless Kong lists it."""
    chain, pool = question.chain, question.pool
    groups = {} if is_listed else {"proof": proof_group(question, vault)}
    if vault is None:
        return Plan(groups or {"proof": proof_group(question, vault)})
    price = price_call(pool, is_v3=vault.is_v3)
    calls = (
        block_clock(chain),
        VERSION.call(pool),
        _TOTAL.call(pool, gas=_TOTAL_GAS),
        price,
    )
    groups["vault"] = Group(calls, is_known=False)
    if not has_rate:
        groups["then"] = past_group(chain, [price])
        if vault.is_v3:
            groups["oracle"] = Group(oracle_calls(chain, pool), is_known=False)
    return Plan(groups, prices=(Token(chain, vault.asset.address),))


def _rate(vault: Vault, listed: kong.Vault | None, outcomes: Outcomes) -> Rate | None:
    if listed is not None and listed.apy is not None:
        return Rate(listed.apy, yield_protocol_pb2.YIELD_BASIS_AVERAGE)
    if vault.is_v3:
        found = oracle_rate(*outcomes["oracle"])
        if found is not None:
            return found
    then = outcomes.find("then")
    if then is None:
        return None
    clock, *_, price = outcomes["vault"]
    return growth_rate(price, then[1], (clock, then[0]), is_v3=vault.is_v3)


# The list has the largest first; what lies in those after them compares with nothing.
_MOST_READ = 100
_V3 = "3"


class BestReader:
    """Reads all vaults that are neither retired nor hidden; it needs no tables."""

    def subject(self, question: ChainQuestion) -> tuple[str, str]:
        """Return the chain."""
        return SLUG, question.chain

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> None:
        """Return None."""

    def plan(self, question: ChainQuestion, tables: None) -> Plan:
        """Return Kong's list."""
        return Plan(documents=(kong.vaults_of(question.chain),))

    def build(
        self, question: ChainQuestion, outcomes: Outcomes, tables: None, prices: TokenPrices
    ) -> list[BestRow] | More:
        """Return a row for each vault, without a rate (NaN) where no source has one.

        Raises:
            UpstreamUnavailable: Kong's list is not to be had.
        """
        document = outcomes.document(kong.vaults_of(question.chain))
        vaults: list[kong.Vault] = [vault for vault in document.value.values() if vault.is_open]
        missing = [vault for vault in vaults if vault.apy is None and vault.version][:_MOST_READ]
        if missing and "vaults" not in outcomes:
            return More(_plan_all(question.chain, missing))
        found = _read(missing, outcomes) if missing else {}
        rows = []
        for vault in vaults:
            is_read = vault.address in found
            apy = found[vault.address] if is_read else vault.apy
            row = yield_pb2.BestYield(
                pool=vault.address, apy=math.nan if apy is None else apy, tvl=vault.tvl, symbol=vault.symbol
            )
            now = read_block_time(outcomes["vaults"][0]) if is_read else None
            row.updated_at.FromDatetime(oldest(document.read_at, now))
            if is_read:
                row.block_height = outcomes.block_of("vaults")
            rows.append(BestRow(row, (vault.symbol,)))
        return rows


def _plan_all(chain: str, vaults: list[kong.Vault]) -> Plan:
    calls: list[ContractCall] = [price_call(vault.address, is_v3=_is_v3(vault)) for vault in vaults]
    oracle = [call for vault in vaults if _is_v3(vault) for call in oracle_calls(chain, vault.address)]
    return Plan(
        {
            "vaults": Group((block_clock(chain), *calls), is_known=False),
            "oracle": Group(tuple(oracle), is_known=False),
            "then": past_group(chain, calls),
        }
    )


def _read(vaults: list[kong.Vault], outcomes: Outcomes) -> dict[str, float | None]:
    """Return the rates of vaults by address."""
    clock, *prices = outcomes["vaults"]
    then, oracle = outcomes.find("then"), iter(outcomes["oracle"])
    found: dict[str, float | None] = {}
    for place, vault in enumerate(vaults):
        is_v3 = _is_v3(vault)
        rate = oracle_rate(next(oracle), next(oracle)) if is_v3 else None
        if rate is None and then is not None:
            rate = growth_rate(prices[place], then[1 + place], (clock, then[0]), is_v3=is_v3)
        found[vault.address] = None if rate is None else rate.apy
    return found


def _is_v3(vault: kong.Vault) -> bool:
    return vault.version.startswith(_V3)
