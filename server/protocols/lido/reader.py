"""What a wallet has staked with stake-a: the rebasing token on Ethereum, the wrapped one there and on other chains.

Elsewhere the wrapped token is a bridge's contract without a rate: the rate is always Ethereum's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import position_pool_pb2

from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.contracts.words import decimal_text
from server.protocols.plan import Group, Plan
from server.protocols.tokens import BALANCE_OF

if TYPE_CHECKING:
    from server.protocols.plan import Outcomes
    from server.protocols.reader import TokenPrices, WalletQuestion

_SLUG = "lido"
_HOME = "ethereum"
_WRAPPED = Interface.load("server.protocols.lido", "wrapped")
_PER_WRAPPED = _WRAPPED["stEthPerToken"]
_PER_REBASING = _WRAPPED["tokensPerStEth"]

# The contract of both tokens: 18 decimals, rates times 1e18.
_DECIMALS = 18
_UNIT = 10**_DECIMALS
# The rebasing token computes shares of the whole.
_BALANCE_GAS = 100_000
# Fixed by the contract (section 4.13).
_STAKING_APR = 3.5


class PositionReader:
    """Reads positions; it needs no tables."""

    def subject(self, question: WalletQuestion) -> tuple[str, str]:
        """Return the chain."""
        return _SLUG, question.chain

    def load(self, question: WalletQuestion, outcomes: Outcomes) -> None:
        """Return None."""

    def plan(self, question: WalletQuestion, tables: None) -> Plan:
        """Return the rates, which serve every wallet, and the wallet's balances."""
        wrapped = _find(_HOME, "wstETH")
        rates = (_PER_WRAPPED.call(wrapped, gas=_BALANCE_GAS), _PER_REBASING.call(wrapped, gas=_BALANCE_GAS))
        balances = [BALANCE_OF.call(_find(question.chain, "wstETH"), question.address, gas=_BALANCE_GAS)]
        if question.chain == _HOME:
            balances.append(BALANCE_OF.call(_find(_HOME, "stETH"), question.address, gas=_BALANCE_GAS))
        return Plan({"rates": Group(rates, chain=_HOME), "balances": Group(tuple(balances))})

    def build(
        self, question: WalletQuestion, outcomes: Outcomes, tables: None, prices: TokenPrices
    ) -> position_pool_pb2.StakeAPositions:
        """Return the positions, zeros included; ContractUnreadable where a token does not answer."""
        per_wrapped = outcomes["rates"][0].read_one(_PER_WRAPPED)
        per_rebasing = outcomes["rates"][1].read_one(_PER_REBASING)
        wrapped, *rebasing = (returned.read_one(BALANCE_OF) for returned in outcomes["balances"])
        worth = wrapped * per_wrapped // _UNIT
        positions = position_pool_pb2.StakeAPositions(
            wst_eth=position_pool_pb2.StakeAWrapped(
                balance=_text(wrapped), balance_st_eth=_text(worth), balance_eth=_text(worth)
            ),
            exchange_rates=position_pool_pb2.StakeARates(
                st_eth_per_wst_eth=_text(per_wrapped), wst_eth_per_st_eth=_text(per_rebasing)
            ),
            total_eth_equivalent=_text(worth + sum(rebasing)),
            staking_apr=_STAKING_APR,
        )
        if rebasing:
            positions.st_eth.balance = positions.st_eth.balance_eth = _text(rebasing[0])
        else:
            positions.rate_block_height = outcomes.block_of("rates")
        return positions


def _find(chain: str, key: str) -> str:
    return load_address_book().find_contract(_SLUG, chain, key).address


def _text(raw: int) -> str:
    return decimal_text(raw, _DECIMALS)
