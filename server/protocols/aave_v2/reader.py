"""What a wallet has supplied to and borrowed from a market of lend-a V2.

The data provider answers for each reserve, frozen ones included; debts are the stable and the variable one together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import position_lending_pb2

from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.contracts.words import decimal_text
from server.protocols.plan import Group, More, Plan, Renewed
from server.protocols.pooled_lending import (
    ACCOUNT_GAS,
    GET_ACCOUNT_DATA,
    GET_RESERVES_LIST,
    LIST_GAS,
    find_new,
    read_account,
)
from server.protocols.reader import load_deployments
from server.protocols.tokens import TokenFacts, describe, read_facts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from server.contracts.calls import ContractCall
    from server.protocols.plan import Answered, Outcomes
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
        returned = outcomes["tokens"]
        return tuple(read_facts(*pair) for pair in zip(returned[::2], returned[1::2], strict=True))

    def plan(self, question: WalletQuestion, tables: tuple[TokenFacts, ...]) -> Plan:
        """Return the market's list, which serves every wallet, and the wallet's account and reserves."""
        pool, assets = _find(question.chain, "lendingPool"), (token.address for token in tables)
        return Plan(
            {
                "list": Group((GET_RESERVES_LIST.call(pool, gas=LIST_GAS),)),
                "account": Group((GET_ACCOUNT_DATA.call(pool, question.address, gas=ACCOUNT_GAS),)),
                "reserves": Group(tuple(_balances(question, assets))),
            }
        )

    def build(
        self, question: WalletQuestion, outcomes: Outcomes, tables: tuple[TokenFacts, ...], prices: TokenPrices
    ) -> position_lending_pb2.LendAV2Positions | More | Renewed:
        """Return the positions; raises PriceUnavailable, ContractUnreadable."""
        listed = outcomes["list"][0].read_one(GET_RESERVES_LIST)
        new = find_new(listed, [token.address for token in tables])
        if new and "new" not in outcomes:
            tokens = tuple(call for asset in new for call in describe(asset))
            return More(Plan({"new": Group(tokens), "new reserves": Group(tuple(_balances(question, new)))}))
        held = dict(zip(tables, outcomes["reserves"], strict=True))
        if new:
            returned = outcomes["new"]
            facts = (read_facts(*pair) for pair in zip(returned[::2], returned[1::2], strict=True))
            held |= zip(facts, outcomes["new reserves"], strict=True)
        tokens_now = {token.address: token for token in held}
        current = tuple(tokens_now[asset] for asset in listed)
        positions = _build(question, outcomes, [(token, held[token]) for token in current])
        return positions if current == tables else Renewed(positions, current)


def _build(
    question: WalletQuestion, outcomes: Outcomes, held: Iterable[tuple[TokenFacts, Answered]]
) -> position_lending_pb2.LendAV2Positions:
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
    for token, returned in held:
        supply, stable_debt, variable_debt, *_ = returned.read(_GET_USER_RESERVE)
        for rows, raw in ((positions.supplies, supply), (positions.borrows, stable_debt + variable_debt)):
            if raw:
                rows.add(symbol=token.symbol, address=token.address, balance=decimal_text(raw, token.decimals))
    return positions


def _balances(question: WalletQuestion, assets: Iterable[str]) -> Iterable[ContractCall]:
    """Yield the calls that return what a wallet has in each reserve."""
    provider = _find(question.chain, "protocolDataProvider")
    return (_GET_USER_RESERVE.call(provider, asset, question.address, gas=_USER_RESERVE_GAS) for asset in assets)


def _find(chain: str, key: str) -> str:
    return load_address_book().find_contract(_SLUG, chain, key).address
