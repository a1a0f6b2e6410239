"""What a wallet has supplied to and borrowed from a market of lend-a V2.

The data provider answers for each reserve, frozen ones included; debts are the stable and the variable one together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import position_lending_pb2

from server.catalog.protocols import load_address_book
from server.chains.amounts import decimal_text
from server.contracts.interface import Interface
from server.protocols.deployments import load_deployments
from server.protocols.plan import Group, More, Plan, StaleTables
from server.protocols.pooled_lending import ACCOUNT_GAS, GET_ACCOUNT_DATA, GET_RESERVES_LIST, LIST_GAS, read_account
from server.protocols.tokens import TokenFacts, describe, read_facts

if TYPE_CHECKING:
    from server.protocols.plan import Outcomes
    from server.protocols.reader import TokenPrices, WalletQuestion

_SLUG = "aave-v2"
_PROVIDER = Interface.load("server.protocols.aave_v2", "data_provider")
_GET_USER_RESERVE = _PROVIDER["getUserReserveData"]

# Measured 90,000 through Multicall3 (facts/protocol_reads_2, 2.3).
_USER_RESERVE_GAS = 110_000


class PositionReader:
    """Reads positions; tables are the tokens of the market's reserves in its order."""

    def subject(self, question: WalletQuestion) -> tuple[str, str]:
        """Return the chain: it has one market of the kind."""
        return _SLUG, question.chain

    def load(self, question: WalletQuestion, outcomes: Outcomes) -> tuple[TokenFacts, ...] | More:
        """Return the tokens of the reserves, or what has to be read for them."""
        if "list" not in outcomes:
            pool = _find(question.chain, "lendingPool")
            return More(Plan({"list": Group((GET_RESERVES_LIST.call(pool, gas=LIST_GAS),))}))
        assets = outcomes["list"][0].read_one(GET_RESERVES_LIST)
        if "tokens" not in outcomes:
            return More(Plan({"tokens": Group(tuple(call for asset in assets for call in describe(asset)))}))
        told = outcomes["tokens"]
        return tuple(read_facts(*pair) for pair in zip(told[::2], told[1::2], strict=True))

    def plan(self, question: WalletQuestion, tables: tuple[TokenFacts, ...]) -> Plan:
        """Return the market's list, which serves every wallet, and the wallet's account and reserves."""
        pool, provider = _find(question.chain, "lendingPool"), _find(question.chain, "protocolDataProvider")
        reserves = (
            _GET_USER_RESERVE.call(provider, token.address, question.address, gas=_USER_RESERVE_GAS) for token in tables
        )
        return Plan(
            {
                "list": Group((GET_RESERVES_LIST.call(pool, gas=LIST_GAS),)),
                "account": Group((GET_ACCOUNT_DATA.call(pool, question.address, gas=ACCOUNT_GAS),)),
                "reserves": Group(tuple(reserves)),
            }
        )

    def build(
        self, question: WalletQuestion, outcomes: Outcomes, tables: tuple[TokenFacts, ...], prices: TokenPrices
    ) -> position_lending_pb2.LendAV2Positions:
        """Return the positions; raises PriceUnavailable, ContractUnreadable."""
        if outcomes["list"][0].read_one(GET_RESERVES_LIST) != [token.address for token in tables]:
            raise StaleTables
        market = load_deployments("server.protocols.aave_v2")[question.chain]
        unit = 10 ** market["decimals"]
        account = read_account(outcomes["account"][0], "lend-a version 2")
        positions = position_lending_pb2.LendAV2Positions(
            totals_unit=f"TOTALS_UNIT_{market['unit']}",
            total_collateral_usd=account.collateral / unit,
            total_debt_usd=account.debt / unit,
            health_factor=account.health_factor,
            ltv=account.max_ltv,
        )
        for token, told in zip(tables, outcomes["reserves"], strict=True):
            supply, stable_debt, variable_debt, *_ = told.read(_GET_USER_RESERVE)
            for rows, raw in ((positions.supplies, supply), (positions.borrows, stable_debt + variable_debt)):
                if raw:
                    balance = decimal_text(raw, token.decimals)
                    rows.add(symbol=token.symbol, address=token.address, balance=balance)
        return positions


def _find(chain: str, key: str) -> str:
    return load_address_book().find_contract(_SLUG, chain, key).address
