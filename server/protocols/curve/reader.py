"""The state of three pools of pool-a.

Source: curvefi/curve-contract: virtual prices times 1e18, fees times 1e10; `A()` is the plain coefficient of stableswap
pools and carries the factor of cryptoswap pools, and is handed on as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from waypost.v1 import position_pool_pb2

from server.catalog.protocols import load_address_book
from server.catalog.tokens import NATIVE
from server.contracts.interface import Interface
from server.contracts.words import decimal_text
from server.protocols.plan import Group, More, Plan
from server.protocols.reader import load_deployments
from server.protocols.tokens import DECIMALS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.protocols.plan import Answered, Outcomes
    from server.protocols.reader import ChainQuestion, TokenPrices

_SLUG = "curve"
_POOL = Interface.load("server.protocols.curve", "pool")
_VIRTUAL_PRICE = _POOL["get_virtual_price"]
_AMPLIFICATION = _POOL["A"]
_FEE = _POOL["fee"]
_BALANCES = _POOL["balances"]

_STATE_GAS = 200_000
_FIXED = 3
_PRICE_DECIMALS = 18
# Ten decimals, and two more as it is answered in percent.
_FEE_DECIMALS = 8
_COIN_DECIMALS = 18


class _Pool(NamedTuple):
    name: str
    address: str
    coins: tuple[str, ...]


class PoolReader:
    """Reads the pools; tables are the decimals of their coins."""

    def subject(self, question: ChainQuestion) -> tuple[str, str]:
        """Return the chain."""
        return _SLUG, question.chain

    def load(self, question: ChainQuestion, outcomes: Outcomes) -> Mapping[str, int] | More:
        """Return the decimals by coin, or what has to be read for them."""
        pools = _pools(question.chain)
        tokens = [coin for coin in dict.fromkeys(coin for pool in pools for coin in pool.coins) if coin != NATIVE]
        if "decimals" not in outcomes:
            return More(Plan({"decimals": Group(tuple(DECIMALS.call(token) for token in tokens))}))
        returned = (one.read_one(DECIMALS) for one in outcomes["decimals"])
        return {NATIVE: _COIN_DECIMALS, **dict(zip(tokens, returned, strict=True))}

    def plan(self, question: ChainQuestion, tables: Mapping[str, int]) -> Plan:
        """Return the calls of each pool."""
        groups = {}
        for pool in _pools(question.chain):
            state = (function.call(pool.address, gas=_STATE_GAS) for function in (_VIRTUAL_PRICE, _AMPLIFICATION, _FEE))
            balances = (_BALANCES.call(pool.address, index) for index in range(len(pool.coins)))
            groups[pool.address] = Group((*state, *balances))
        return Plan(groups)

    def build(
        self, question: ChainQuestion, outcomes: Outcomes, tables: Mapping[str, int], prices: TokenPrices
    ) -> dict[str, Any]:
        """Return the response's `pools`; ContractUnreadable where one does not answer."""
        return {"pools": [_row(pool, outcomes[pool.address], tables) for pool in _pools(question.chain)]}


def _row(pool: _Pool, returned: tuple[Answered, ...], decimals: Mapping[str, int]) -> position_pool_pb2.PoolAPool:
    balances = (
        position_pool_pb2.PoolACoin(address=coin, balance=decimal_text(one.read_one(_BALANCES), decimals[coin]))
        for coin, one in zip(pool.coins, returned[_FIXED:], strict=True)
    )
    return position_pool_pb2.PoolAPool(
        name=pool.name,
        address=pool.address,
        virtual_price=decimal_text(returned[0].read_one(_VIRTUAL_PRICE), _PRICE_DECIMALS),
        amplification=str(returned[1].read_one(_AMPLIFICATION)),
        fee=decimal_text(returned[2].read_one(_FEE), _FEE_DECIMALS),
        coins=balances,
    )


def _pools(chain: str) -> list[_Pool]:
    contracts = load_address_book().find_contracts(_SLUG, chain)
    listed = load_deployments("server.protocols.curve")[chain]
    return [_Pool(contracts[key].name, contracts[key].address, tuple(row["coins"])) for key, row in listed.items()]
