"""The reserves of a market of lend-a V3: their tokens, decimals, symbols and ids, as the chain tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.contracts.interface import Interface
from server.protocols.plan import Group, More, Plan
from server.protocols.pooled_lending import GET_RESERVES_LIST, LIST_GAS
from server.protocols.tokens import SYMBOL, read_symbol

if TYPE_CHECKING:
    from server.protocols.plan import Outcomes

_POOL = Interface.load("server.protocols.aave_v3", "pool")
GET_RESERVE_DATA = _POOL["getReserveData"]

_RESERVE_GAS = 100_000
# Bits 48 to 55 of a reserve's configuration. Source: Aave protocol, ReserveConfiguration.
_DECIMALS_BIT = 48
_DECIMALS_MASK = 0xFF


class Reserve(NamedTuple):
    """A reserve: the asset and the tokens of supplies and debts in it; `id` is its place in a wallet's bitmap."""

    asset: str
    symbol: str
    decimals: int
    id: int
    supply_token: str
    debt_token: str


def load_reserves(pool: str, outcomes: Outcomes) -> tuple[Reserve, ...] | More:
    """Return the reserves in the pool's order, or what has to be read for them."""
    if "list" not in outcomes:
        return More(Plan({"list": Group((GET_RESERVES_LIST.call(pool, gas=LIST_GAS),))}))
    assets = outcomes["list"][0].read_one(GET_RESERVES_LIST)
    if "reserves" not in outcomes:
        calls = (GET_RESERVE_DATA.call(pool, asset, gas=_RESERVE_GAS) for asset in assets)
        symbols = (SYMBOL.call(asset) for asset in assets)
        return More(Plan({"reserves": Group(tuple(calls)), "symbols": Group(tuple(symbols))}))
    reserves = []
    for asset, told, symbol in zip(assets, outcomes["reserves"], outcomes["symbols"], strict=True):
        data = told.read_one(GET_RESERVE_DATA)
        decimals = data[0] >> _DECIMALS_BIT & _DECIMALS_MASK
        reserves.append(Reserve(asset, read_symbol(symbol), decimals, data[7], data[8], data[10]))
    return tuple(reserves)
