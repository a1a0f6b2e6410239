"""The reserves of a market of lend-a V3: their tokens, decimals, symbols and ids, as the chain has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.contracts.interface import Interface
from server.protocols.plan import Group, More, Plan
from server.protocols.pooled_lending import GET_RESERVES_LIST, LIST_GAS
from server.protocols.tokens import SYMBOL, read_symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        return More(Plan(reserve_groups(pool, assets)))
    return read_reserves(assets, outcomes)


def reserve_groups(pool: str, assets: Sequence[str]) -> dict[str, Group]:
    """Return the groups that `read_reserves` reads."""
    return {
        "reserves": Group(tuple(GET_RESERVE_DATA.call(pool, asset, gas=_RESERVE_GAS) for asset in assets)),
        "symbols": Group(tuple(SYMBOL.call(asset) for asset in assets)),
    }


def read_reserves(assets: Sequence[str], outcomes: Outcomes) -> tuple[Reserve, ...]:
    """Return the reserves of assets, in their order; ContractUnreadable where pool or token do not answer."""
    reserves = []
    for asset, returned, symbol in zip(assets, outcomes["reserves"], outcomes["symbols"], strict=True):
        data = returned.read_one(GET_RESERVE_DATA)
        decimals = data[0] >> _DECIMALS_BIT & _DECIMALS_MASK
        reserves.append(Reserve(asset, read_symbol(symbol), decimals, data[7], data[8], data[10]))
    return tuple(reserves)
