"""What a wallet has in five markets of lend-b V2, accrued to the block by the markets themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import position_lending_pb2

from server.catalog.protocols import load_address_book
from server.catalog.tokens import NATIVE
from server.contracts.interface import Interface
from server.contracts.words import decimal_text
from server.protocols.plan import Group, More, Plan
from server.protocols.reader import load_deployments
from server.protocols.tokens import TokenFacts, describe, read_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.protocols.plan import Outcomes
    from server.protocols.reader import TokenPrices, WalletQuestion

_SLUG = "compound-v2"
_TOKEN = Interface.load("server.protocols.compound_v2", "c_token")
_UNDERLYING = _TOKEN["underlying"]
_SUPPLY = _TOKEN["balanceOfUnderlying"]
_DEBT = _TOKEN["borrowBalanceCurrent"]

# The accrual writes four words and calls the rate model.
_ACCRUING_GAS = 250_000


class PositionReader:
    """Reads positions; tables are the assets of the markets by the market's key."""

    def subject(self, question: WalletQuestion) -> tuple[str, str]:
        """Return the chain."""
        return _SLUG, question.chain

    def load(self, question: WalletQuestion, outcomes: Outcomes) -> Mapping[str, TokenFacts] | More:
        """Return the assets, or what has to be read for them."""
        data = load_deployments("server.protocols.compound_v2")[question.chain]
        markets = {key: address for key, address in _markets(question.chain).items() if key != data["coin_market"]}
        if "underlying" not in outcomes:
            return More(Plan({"underlying": Group(tuple(_UNDERLYING.call(market) for market in markets.values()))}))
        assets = [returned.read_one(_UNDERLYING) for returned in outcomes["underlying"]]
        if "tokens" not in outcomes:
            return More(Plan({"tokens": Group(tuple(call for asset in assets for call in describe(asset)))}))
        returned = outcomes["tokens"]
        facts = (read_facts(*pair) for pair in zip(returned[::2], returned[1::2], strict=True))
        coin = TokenFacts(NATIVE, data["coin"], data["coin_decimals"])
        return {data["coin_market"]: coin, **dict(zip(markets, facts, strict=True))}

    def plan(self, question: WalletQuestion, tables: Mapping[str, TokenFacts]) -> Plan:
        """Return the two balances in each market, in an execution of their own: they change state in it."""
        calls = (
            function.call(market, question.address, gas=_ACCRUING_GAS)
            for market in _markets(question.chain).values()
            for function in (_SUPPLY, _DEBT)
        )
        return Plan({"balances": Group(tuple(calls), is_known=False)})

    def build(
        self, question: WalletQuestion, outcomes: Outcomes, tables: Mapping[str, TokenFacts], prices: TokenPrices
    ) -> position_lending_pb2.LendBV2Positions:
        """Return the markets with a supply or a debt; ContractUnreadable where one does not answer."""
        positions = position_lending_pb2.LendBV2Positions()
        returned = outcomes["balances"]
        for (key, market), supply, debt in zip(
            _markets(question.chain).items(), returned[::2], returned[1::2], strict=True
        ):
            supplied, owed = supply.read_one(_SUPPLY), debt.read_one(_DEBT)
            if supplied or owed:
                asset = tables[key]
                positions.markets.add(
                    c_token_symbol=key,
                    c_token_address=market,
                    underlying_symbol=asset.symbol,
                    underlying_address=asset.address,
                    underlying_decimals=asset.decimals,
                    supply_balance=decimal_text(supplied, asset.decimals),
                    borrow_balance=decimal_text(owed, asset.decimals),
                )
        return positions


def _markets(chain: str) -> dict[str, str]:
    """Return the addresses of the markets by their keys, in the contract's order."""
    book = load_address_book()
    keys = load_deployments("server.protocols.compound_v2")[chain]["markets"]
    return {key: book.find_contract(_SLUG, chain, key).address for key in keys}
