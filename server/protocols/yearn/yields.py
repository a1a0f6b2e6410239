"""The rate of one vault of vault-b and what lies in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import yield_pb2, yield_protocol_pb2

from server.contracts.interface import Interface
from server.protocols.plan import Group, More, Plan, Token
from server.protocols.shares import Held, value
from server.protocols.yearn.rates import (
    Rate,
    growth_rate,
    oracle_calls,
    oracle_rate,
    past_group,
    price_call,
)
from server.protocols.yearn.tables import (
    VERSION,
    VaultTables,
    check_proof,
    check_version,
    find_listed,
    proof_group,
)
from server.protocols.yields import block_clock, oldest, read_block_time
from server.yields import kong

if TYPE_CHECKING:
    from server.protocols.plan import Outcomes
    from server.protocols.reader import TokenPrices
    from server.protocols.yearn.tables import Vault
    from server.protocols.yields import PoolQuestion

_TOTAL = Interface.load("server.protocols.yearn", "vault")["totalAssets"]
_TOTAL_GAS = 300_000


class VaultReader(VaultTables):
    """Reads a vault's rate: by Kong where that has one, else by the vault's contracts."""

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: Vault | None, prices: TokenPrices
    ) -> yield_pb2.VaultYield | More:
        """Return the vault's row, without a rate where nothing says one. Raises as `check_proof`."""
        listed = find_listed(question, outcomes)
        has_rate = listed is not None and listed.apy is not None
        if "vault" not in outcomes and "proof" not in outcomes:
            return More(_plan(question, tables, is_listed=listed is not None, has_rate=has_rate))
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


def _plan(question: PoolQuestion, vault: Vault | None, *, is_listed: bool, has_rate: bool) -> Plan:
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
