"""What a wallet has supplied to and borrowed from a market of lend-a V3.

Balances come from the reserves' own tokens, which cost a third of the gas of the data provider's `getUserReserveData`;
of a reserve that was listed a moment ago, whose tokens are not known yet, they come from that.
Values are the market's own: its oracle's prices in US dollars with 8 decimals (`BASE_CURRENCY_UNIT`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from waypost.v1 import position_lending_pb2

from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.contracts.words import decimal_text
from server.protocols.aave_v3.tables import Reserve, load_reserves, read_reserves, reserve_groups
from server.protocols.plan import Group, More, Plan, Renewed
from server.protocols.pooled_lending import (
    ACCOUNT_GAS,
    GET_ACCOUNT_DATA,
    GET_RESERVES_LIST,
    LIST_GAS,
    call_prices,
    find_new,
    price_group,
    read_account,
    read_price,
    read_prices,
)
from server.protocols.tokens import BALANCE_GAS, BALANCE_OF

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from server.protocols.plan import Outcomes
    from server.protocols.pooled_lending import Account
    from server.protocols.reader import TokenPrices, WalletQuestion

_SLUG = "aave-v3"
_POOL = Interface.load("server.protocols.aave_v3", "pool")
_GET_CONFIGURATION = _POOL["getUserConfiguration"]
_GET_USER_RESERVE = Interface.load("server.protocols", "lending_data")["getUserReserveData"]

_USER_RESERVE_GAS = 110_000
_DOLLAR = 10**8


class _Held(NamedTuple):
    """What a wallet has in a reserve, and the asset's price, None where its feed gives none."""

    supply: int
    debt: int
    price: int | None


class PositionReader:
    """Reads positions; tables are the reserves of the chain's market."""

    def subject(self, question: WalletQuestion) -> tuple[str, str]:
        """Return the chain: it has one market of the kind."""
        return _SLUG, question.chain

    def load(self, question: WalletQuestion, outcomes: Outcomes) -> tuple[Reserve, ...] | More:
        """Return the reserves of the chain's market, or what has to be read for them."""
        return load_reserves(_find(question.chain, "pool"), outcomes)

    def plan(self, question: WalletQuestion, tables: tuple[Reserve, ...]) -> Plan:
        """Return the market's list and prices, which serve every wallet, and the wallet's account and balances."""
        pool, oracle, wallet = _find(question.chain, "pool"), _find(question.chain, "oracle"), question.address
        assets = [reserve.asset for reserve in tables]
        market = (
            GET_RESERVES_LIST.call(pool, gas=LIST_GAS),
            call_prices(oracle, assets),
        )
        account = (
            GET_ACCOUNT_DATA.call(pool, wallet, gas=ACCOUNT_GAS),
            _GET_CONFIGURATION.call(pool, wallet),
        )
        balances = (
            BALANCE_OF.call(token, wallet, gas=BALANCE_GAS)
            for reserve in tables
            for token in (reserve.supply_token, reserve.debt_token)
        )
        return Plan({"market": Group(market), "account": Group(account), "balances": Group(tuple(balances))})

    def build(
        self, question: WalletQuestion, outcomes: Outcomes, tables: tuple[Reserve, ...], prices: TokenPrices
    ) -> position_lending_pb2.LendAV3Positions | More | Renewed:
        """Return the positions; raises PriceUnavailable, ContractUnreadable."""
        listed = outcomes["market"][0].read_one(GET_RESERVES_LIST)
        new = find_new(listed, [reserve.asset for reserve in tables])
        account = read_account(outcomes["account"][0], "lend-a version 3")
        quotes = read_prices(outcomes["market"][1], outcomes, len(tables))
        further: dict[str, Group] = {}
        if new and "reserves" not in outcomes:
            further |= reserve_groups(_find(question.chain, "pool"), new) | _new_groups(question, new)
        if quotes is None:
            further["prices"] = price_group(_find(question.chain, "oracle"), [reserve.asset for reserve in tables])
        if further:
            return More(Plan(further))
        assert quotes is not None
        returned = [one.read_one(BALANCE_OF) for one in outcomes["balances"]]
        held = dict(zip(tables, map(_Held, returned[::2], returned[1::2], quotes), strict=True))
        if new:
            held |= zip(read_reserves(new, outcomes), _read_new(outcomes), strict=True)
        reserves_now = {reserve.asset: reserve for reserve in held}
        current = tuple(reserves_now[asset] for asset in listed)
        bitmap = outcomes["account"][1].read_one(_GET_CONFIGURATION)[0]
        positions = _build(account, bitmap, [(reserve, held[reserve]) for reserve in current])
        return positions if current == tables else Renewed(positions, current)


def _build(
    account: Account, bitmap: int, held: Iterable[tuple[Reserve, _Held]]
) -> position_lending_pb2.LendAV3Positions:
    rows = [
        _row(reserve, one, is_collateral=bool(bitmap >> (2 * reserve.id + 1) & 1))
        for reserve, one in held
        if one.supply or one.debt
    ]
    return position_lending_pb2.LendAV3Positions(
        total_collateral_usd=account.collateral / _DOLLAR,
        total_debt_usd=account.debt / _DOLLAR,
        net_worth_usd=(account.collateral - account.debt) / _DOLLAR,
        available_borrows_usd=account.available / _DOLLAR,
        health_factor=account.health_factor,
        ltv=account.max_ltv,
        liquidation_threshold=account.liquidation_threshold,
        is_liquidatable=account.is_liquidatable,
        reserves=rows,
    )


def _new_groups(question: WalletQuestion, assets: Sequence[str]) -> dict[str, Group]:
    """Return what has to be read of reserves that were listed since the tables were read."""
    provider = _find(question.chain, "protocolDataProvider")
    held = (_GET_USER_RESERVE.call(provider, asset, question.address, gas=_USER_RESERVE_GAS) for asset in assets)
    return {"new balances": Group(tuple(held)), "new prices": price_group(_find(question.chain, "oracle"), assets)}


def _read_new(outcomes: Outcomes) -> Iterator[_Held]:
    for returned, price in zip(outcomes["new balances"], outcomes["new prices"], strict=True):
        supply, stable_debt, variable_debt, *_ = returned.read(_GET_USER_RESERVE)
        yield _Held(supply, stable_debt + variable_debt, read_price(price))


def _row(reserve: Reserve, held: _Held, *, is_collateral: bool) -> position_lending_pb2.LendAV3Reserve:
    unit = 10**reserve.decimals * _DOLLAR
    return position_lending_pb2.LendAV3Reserve(
        symbol=reserve.symbol,
        address=reserve.asset,
        balance=decimal_text(held.supply, reserve.decimals),
        balance_usd=None if held.price is None else held.supply * held.price / unit,
        is_collateral=is_collateral and held.supply > 0,
        debt=decimal_text(held.debt, reserve.decimals),
        debt_usd=None if held.price is None else held.debt * held.price / unit,
    )


def _find(chain: str, key: str) -> str:
    return load_address_book().find_contract(_SLUG, chain, key).address
