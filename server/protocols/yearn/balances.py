"""What a wallet has in a vault of vault-b: the worth of its shares in the vault's asset.

V3 by `convertToAssets`; V2 by `pricePerShare`, which has as many places as the asset and is all that V2 states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import yield_share_pb2

from server.protocols.plan import Group, More, Plan, Token
from server.protocols.shares import MANY_SHARES, Held, balance_of, value
from server.protocols.tokens import BALANCE_GAS, BALANCE_OF
from server.protocols.yearn.rates import CONVERT, PRICE, price_call
from server.protocols.yearn.tables import (
    VERSION,
    VaultTables,
    check_proof,
    check_version,
    find_listed,
    proof_group,
)
from server.protocols.yields import block_clock, oldest, read_block_time

if TYPE_CHECKING:
    from server.protocols.plan import Outcomes
    from server.protocols.reader import TokenPrices
    from server.protocols.yearn.tables import Vault
    from server.protocols.yields import PoolQuestion

_WORTH_GAS = 300_000


class BalanceReader(VaultTables):
    """Reads balances."""

    def build(
        self, question: PoolQuestion, outcomes: Outcomes, tables: Vault | None, prices: TokenPrices
    ) -> yield_share_pb2.YieldBalance | More:
        """Return the wallet's row, zeros included; raises as `check_proof`."""
        if "vault" not in outcomes and "proof" not in outcomes:
            return More(_plan(question, tables, is_listed=find_listed(question, outcomes) is not None))
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


def _plan(question: PoolQuestion, vault: Vault | None, *, is_listed: bool) -> Plan:
    """Return the calls of the vault, which serve every wallet, that of the wallet, and the proof unless Kong is it."""
    chain, pool = question.chain, question.pool
    groups = {} if is_listed else {"proof": proof_group(question, vault)}
    if vault is None:
        return Plan(groups or {"proof": proof_group(question, vault)})
    calls = (block_clock(chain), VERSION.call(pool), price_call(pool, is_v3=vault.is_v3))
    groups["vault"] = Group(calls, is_known=False)
    groups["wallet"] = Group((BALANCE_OF.call(pool, question.address, gas=BALANCE_GAS),), is_known=False)
    return Plan(groups, prices=(Token(chain, vault.asset.address),))
