"""What a wallet has supplied to and borrowed from a market of lend-a V3.

Balances come from the reserves' own tokens, which cost a third of the gas of the data provider's `getUserReserveData`.
Values are the market's own: its oracle's prices in US dollars with 8 decimals (`BASE_CURRENCY_UNIT`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import position_lending_pb2

from server.catalog.protocols import load_address_book
from server.chains.amounts import decimal_text
from server.contracts.interface import Interface
from server.protocols.aave_v3.tables import Reserve, load_reserves
from server.protocols.plan import Group, More, Plan, StaleTables
from server.protocols.pooled_lending import ACCOUNT_GAS, GET_ACCOUNT_DATA, GET_RESERVES_LIST, LIST_GAS, read_account
from server.protocols.tokens import BALANCE_GAS, BALANCE_OF

if TYPE_CHECKING:
    from server.protocols.plan import Outcomes
    from server.protocols.reader import TokenPrices, WalletQuestion

_SLUG = "aave-v3"
_POOL = Interface.load("server.protocols.aave_v3", "pool")
_ORACLE = Interface.load("server.protocols.aave_v3", "oracle")
_GET_CONFIGURATION = _POOL["getUserConfiguration"]
_GET_PRICES = _ORACLE["getAssetsPrices"]
_GET_PRICE = _ORACLE["getAssetPrice"]

_PRICE_GAS = 30_000
_DOLLAR = 10**8


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
            _GET_PRICES.call(oracle, assets, gas=_PRICE_GAS * max(1, len(assets)), is_optional=True),
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
    ) -> position_lending_pb2.LendAV3Positions | More:
        """Return the positions; raises PriceUnavailable, ContractUnreadable."""
        if outcomes["market"][0].read_one(GET_RESERVES_LIST) != [reserve.asset for reserve in tables]:
            raise StaleTables
        quotes = _read_prices(question.chain, outcomes, tables)
        if isinstance(quotes, More):
            return quotes
        told_account, configuration = outcomes["account"]
        account = read_account(told_account, "lend-a version 3")
        [bitmap] = configuration.read_one(_GET_CONFIGURATION)
        balances = [told.read_one(BALANCE_OF) for told in outcomes["balances"]]
        rows = [
            _row(reserve, supply, debt, price, is_collateral=bool(bitmap >> (2 * reserve.id + 1) & 1))
            for reserve, supply, debt, price in zip(tables, balances[::2], balances[1::2], quotes, strict=True)
            if supply or debt
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


def _read_prices(chain: str, outcomes: Outcomes, tables: tuple[Reserve, ...]) -> list[int | None] | More:
    """Return the price of each reserve, None where its feed gives none; one that reverts fails the array of all."""
    together = outcomes["market"][1].read_if_answered(_GET_PRICES)
    if together is not None and len(together[0]) == len(tables):
        return [price or None for price in together[0]]
    if "prices" not in outcomes:
        oracle = _find(chain, "oracle")
        calls = (_GET_PRICE.call(oracle, reserve.asset, gas=4 * _PRICE_GAS, is_optional=True) for reserve in tables)
        return More(Plan({"prices": Group(tuple(calls))}))
    alone = (told.read_if_answered(_GET_PRICE) for told in outcomes["prices"])
    return [(told[0] or None) if told is not None else None for told in alone]


def _row(
    reserve: Reserve, supply: int, debt: int, price: int | None, *, is_collateral: bool
) -> position_lending_pb2.LendAV3Reserve:
    unit = 10**reserve.decimals * _DOLLAR
    return position_lending_pb2.LendAV3Reserve(
        symbol=reserve.symbol,
        address=reserve.asset,
        balance=decimal_text(supply, reserve.decimals),
        balance_usd=None if price is None else supply * price / unit,
        is_collateral=is_collateral and supply > 0,
        debt=decimal_text(debt, reserve.decimals),
        debt_usd=None if price is None else debt * price / unit,
    )


def _find(chain: str, key: str) -> str:
    return load_address_book().find_contract(_SLUG, chain, key).address
