"""What a wallet has in the listed markets of lend-c, accrued to the block.

`accrueInterest` runs in front of the reads of its market in one execution, so the contract itself accrues. Where the
execution was split, so that a market's last update is not the block's time, the formula does (`accrual`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from waypost.v1 import common_pb2, position_lending_pb2

from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.contracts.words import decimal_text
from server.protocols.morpho.rates import Market, accrue, owed, supplied
from server.protocols.plan import Group, More, Plan
from server.protocols.reader import load_deployments
from server.protocols.tokens import TokenFacts, describe, multicall, read_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.contracts.calls import ContractCall
    from server.protocols.plan import Outcomes
    from server.protocols.reader import TokenPrices, WalletQuestion

_SLUG = "morpho"
_MORPHO = Interface.load("server.protocols.morpho", "morpho")
_ACCRUE = _MORPHO["accrueInterest"]
_MARKET = _MORPHO["market"]
_POSITION = _MORPHO["position"]
_RATE = Interface.load("server.protocols.morpho", "rate_model")["borrowRateView"]
_NOW = Interface.load("server.protocols", "multicall")["getCurrentBlockTimestamp"]

# Measured 39,000, 10,000 and 8,000 (facts/protocol_reads_2, 2.3).
_ACCRUE_GAS = 120_000
_READ_GAS = 30_000

_NO_MODEL = "0x" + "0" * 40


class _Listed(NamedTuple):
    """A market of the list; the members after `id` are the contract's parameters in their order."""

    id: str
    loan_token: str
    collateral_token: str
    oracle: str
    irm: str
    lltv: int

    @property
    def params(self) -> tuple[Any, ...]:
        return self[1:]


class PositionReader:
    """Reads positions; tables are the tokens of the chain's listed markets by address."""

    def subject(self, question: WalletQuestion) -> tuple[str, str]:
        """Return the chain."""
        return _SLUG, question.chain

    def load(self, question: WalletQuestion, outcomes: Outcomes) -> Mapping[str, TokenFacts] | More:
        """Return the tokens, or what has to be read for them."""
        if "tokens" not in outcomes:
            listed = _listed(question.chain)
            tokens = dict.fromkeys(token for one in listed for token in (one.loan_token, one.collateral_token))
            return More(Plan({"tokens": Group(tuple(call for token in tokens for call in describe(token)))}))
        returned = outcomes["tokens"]
        facts = [read_facts(*pair) for pair in zip(returned[::2], returned[1::2], strict=True)]
        return {one.address: one for one in facts}

    def plan(self, question: WalletQuestion, tables: Mapping[str, TokenFacts]) -> Plan:
        """Return accruals and reads of all markets, in an execution of their own: the accruals change state in it."""
        morpho = load_address_book().find_contract(_SLUG, question.chain, "morpho").address
        calls: list[ContractCall] = [_NOW.call(multicall(question.chain))]
        for one in _listed(question.chain):
            market_id = bytes.fromhex(one.id[2:])
            calls += (
                _ACCRUE.call(morpho, one.params, gas=_ACCRUE_GAS, is_optional=True),
                _MARKET.call(morpho, market_id, gas=_READ_GAS),
                _POSITION.call(morpho, market_id, question.address, gas=_READ_GAS),
            )
        return Plan({"markets": Group(tuple(calls), is_known=False)})

    def build(
        self, question: WalletQuestion, outcomes: Outcomes, tables: Mapping[str, TokenFacts], prices: TokenPrices
    ) -> position_lending_pb2.LendCPositions | More:
        """Return the positions; ContractUnreadable where the contract does not answer as it does."""
        returned_time, *returned = outcomes["markets"]
        now = int(returned_time.read_one(_NOW))
        held = []
        for one, returned_market, returned_position in zip(
            _listed(question.chain), returned[1::3], returned[2::3], strict=True
        ):
            position = returned_position.read(_POSITION)
            if any(position):
                held.append((one, Market(*returned_market.read(_MARKET)), position))
        old = [(one, market) for one, market, _ in held if market.last_update != now and one.irm != _NO_MODEL]
        if old and "rates" not in outcomes:
            rates = (_RATE.call(one.irm, one.params, tuple(market), gas=_ACCRUE_GAS) for one, market in old)
            return More(Plan({"rates": Group(tuple(rates))}))
        current = dict[str, Market]()
        if old:
            for (one, market), returned_rate in zip(old, outcomes["rates"], strict=True):
                current[one.id] = accrue(market, int(returned_rate.read_one(_RATE)), now)
        rows = [_row(one, current.get(one.id, market), position, tables) for one, market, position in held]
        return position_lending_pb2.LendCPositions(markets=rows)


def _listed(chain: str) -> list[_Listed]:
    return [_Listed(**row) for row in load_deployments("server.protocols.morpho")[chain]]


def _row(
    one: _Listed, market: Market, position: tuple[int, int, int], tables: Mapping[str, TokenFacts]
) -> position_lending_pb2.LendCMarket:
    supply_shares, borrow_shares, collateral = position
    loan, pledged = tables[one.loan_token], tables[one.collateral_token]
    supply, debt = supplied(market, supply_shares), owed(market, borrow_shares)
    return position_lending_pb2.LendCMarket(
        market_id=one.id,
        loan_token=common_pb2.TokenRef(symbol=loan.symbol, address=loan.address, decimals=loan.decimals),
        collateral_token=common_pb2.TokenRef(symbol=pledged.symbol, address=pledged.address, decimals=pledged.decimals),
        supply_shares=str(supply_shares),
        supply_assets=decimal_text(supply, loan.decimals),
        supply_assets_raw=str(supply),
        borrow_shares=str(borrow_shares),
        borrow_assets=decimal_text(debt, loan.decimals),
        borrow_assets_raw=str(debt),
        collateral=decimal_text(collateral, pledged.decimals),
        collateral_raw=str(collateral),
        lltv=one.lltv,
    )
