"""All vaults of vault-b on a chain, out of Kong's list; those of which it has no rate are read on the chain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from waypost.v1 import yield_pb2

from server.protocols.plan import Group, More, Plan
from server.protocols.yearn.rates import growth_rate, oracle_calls, oracle_rate, past_group, price_call
from server.protocols.yearn.tables import SLUG
from server.protocols.yields import BestRow, block_clock, oldest, read_block_time
from server.yields import kong

if TYPE_CHECKING:
    from server.contracts.calls import ContractCall
    from server.protocols.plan import Outcomes
    from server.protocols.reader import ChainQuestion, TokenPrices

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
        """Return a row for each vault, without a rate (NaN) where nothing says one.

        Raises:
            UpstreamUnavailable: Kong's list is not to be had.
        """
        document = outcomes.document(kong.vaults_of(question.chain))
        vaults: list[kong.Vault] = [vault for vault in document.value.values() if vault.is_open]
        missing = [vault for vault in vaults if vault.apy is None and vault.version][:_MOST_READ]
        if missing and "vaults" not in outcomes:
            return More(_plan(question.chain, missing))
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


def _plan(chain: str, vaults: list[kong.Vault]) -> Plan:
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
