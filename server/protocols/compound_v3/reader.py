"""What a wallet has in the markets of lend-b V3: a supply or a debt of the base asset, and collateral.

The balances are accrued to the block by the contract's own views. A wallet's record states in which assets it has
collateral: bits 0 to 15 in `assetsIn`, bits 16 to 23 in the reserved byte (CometWithExtendedAssetList).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.v1 import common_pb2, position_lending_pb2

from server.contracts.words import decimal_text
from server.protocols.compound_v3.tables import ASSET_INFO, COMET, NUM_ASSETS, SLUG, Market, load_markets
from server.protocols.plan import ContractUnreadable, Group, More, Plan, Renewed, StaleTables
from server.protocols.tokens import describe, read_facts

if TYPE_CHECKING:
    from server.protocols.plan import Answered, Outcomes
    from server.protocols.reader import TokenPrices, WalletQuestion
    from server.protocols.tokens import TokenFacts

_SUPPLY = COMET["balanceOf"]
_DEBT = COMET["borrowBalanceOf"]
_IS_LIQUIDATABLE = COMET["isLiquidatable"]
_USER_BASIC = COMET["userBasic"]
_USER_COLLATERAL = COMET["userCollateral"]

_BALANCE_GAS = 60_000
# It reads the price of every asset that the wallet has.
_LIQUIDATABLE_GAS = 400_000
_FIXED = 4
_ASSETS_IN_BITS = 16


class PositionReader:
    """Reads positions; tables are the chain's markets."""

    def subject(self, question: WalletQuestion) -> tuple[str, str]:
        """Return the chain."""
        return SLUG, question.chain

    def load(self, question: WalletQuestion, outcomes: Outcomes) -> tuple[Market, ...] | More:
        """Return the chain's markets, or what has to be read for them."""
        return load_markets(question.chain, outcomes)

    def plan(self, question: WalletQuestion, tables: tuple[Market, ...]) -> Plan:
        """Return how many assets the markets have, which serves every wallet, and the wallet's balances.

        The place after a market's last asset is read as well: an asset that was listed since stands there.
        """
        counts = []
        for market in tables:
            counts += [
                NUM_ASSETS.call(market.address),
                ASSET_INFO.call(market.address, len(market.assets), is_optional=True),
            ]
        balances = []
        for market in tables:
            wallet = question.address
            balances += [
                _SUPPLY.call(market.address, wallet, gas=_BALANCE_GAS),
                _DEBT.call(market.address, wallet, gas=_BALANCE_GAS),
                _USER_BASIC.call(market.address, wallet),
                _IS_LIQUIDATABLE.call(market.address, wallet, gas=_LIQUIDATABLE_GAS, is_optional=True),
                *(_USER_COLLATERAL.call(market.address, wallet, asset.address) for asset in market.assets),
            ]
        return Plan({"counts": Group(tuple(counts)), "balances": Group(tuple(balances))})

    def build(
        self, question: WalletQuestion, outcomes: Outcomes, tables: tuple[Market, ...], prices: TokenPrices
    ) -> position_lending_pb2.LendBV3Positions | More | Renewed:
        """Return the markets with a supply, a debt or collateral; ContractUnreadable where one does not answer."""
        new = _find_new(outcomes["counts"], tables)
        if new and "new tokens" not in outcomes:
            held = (_USER_COLLATERAL.call(market, question.address, asset) for market, asset in new.items())
            tokens = tuple(call for asset in new.values() for call in describe(asset))
            return More(Plan({"new tokens": Group(tokens), "new balances": Group(tuple(held))}))
        added = _read_new(new, outcomes) if new else {}
        returned, start = outcomes["balances"], 0
        rows, current = [], []
        for market in tables:
            end = start + _FIXED + len(market.assets)
            answered = returned[start:end]
            if market.address in added:
                asset, balance = added[market.address]
                market, answered = market._replace(assets=(*market.assets, asset)), (*answered, balance)
            row = _row(market, answered)
            if row is not None:
                rows.append(row)
            current.append(market)
            start = end
        positions = position_lending_pb2.LendBV3Positions(markets=rows)
        return Renewed(positions, tuple(current)) if new else positions


def _find_new(counts: tuple[Answered, ...], tables: tuple[Market, ...]) -> dict[str, str]:
    """Return the asset that was listed since, by market; StaleTables where it is not one more than there were."""
    new = {}
    for market, returned_count, returned_info in zip(tables, counts[::2], counts[1::2], strict=True):
        more = returned_count.read_one(NUM_ASSETS) - len(market.assets)
        if more not in (0, 1):
            raise StaleTables
        if more:
            new[market.address] = returned_info.read_one(ASSET_INFO)[1]
    return new


def _read_new(new: dict[str, str], outcomes: Outcomes) -> dict[str, tuple[TokenFacts, Answered]]:
    """Return what each market's new asset is, and the wallet's balance of it."""
    words = outcomes["new tokens"]
    facts = (read_facts(*pair) for pair in zip(words[::2], words[1::2], strict=True))
    return dict(zip(new, zip(facts, outcomes["new balances"], strict=True), strict=True))


def _row(market: Market, returned: tuple[Answered, ...]) -> position_lending_pb2.LendBV3Market | None:
    """Return the wallet's position in a market, None where it has none."""
    supply, debt = returned[0].read_one(_SUPPLY), returned[1].read_one(_DEBT)
    _, _, _, assets_in, reserved = returned[2].read(_USER_BASIC)
    used = assets_in | reserved << _ASSETS_IN_BITS
    collateral = []
    for index, (asset, held) in enumerate(zip(market.assets, returned[_FIXED:], strict=True)):
        balance = held.read(_USER_COLLATERAL)[0]
        if balance and not used >> index & 1:
            raise ContractUnreadable(
                f"the market {market.address} on {held.chain} has collateral of {asset.symbol} that the wallet's own "
                "record does not show; try again",
                retry_after_ms=1000,
            )
        if balance:
            token = _token(asset)
            text = decimal_text(balance, asset.decimals)
            collateral.append(position_lending_pb2.LendBV3Collateral(token=token, balance=text))
    if not (supply or debt or collateral):
        return None
    # Without a debt nothing can be liquidated, whatever the feeds do.
    liquidatable = returned[3].read_if_answered(_IS_LIQUIDATABLE) if debt else (False,)
    row = position_lending_pb2.LendBV3Market(
        market_name=market.name,
        market_address=market.address,
        base_token=_token(market.base),
        supply_balance=decimal_text(supply, market.base.decimals),
        borrow_balance=decimal_text(debt, market.base.decimals),
        collateral=collateral,
    )
    if liquidatable is not None:
        row.is_liquidatable = liquidatable[0]
    return row


def _token(facts: TokenFacts) -> common_pb2.TokenRef:
    return common_pb2.TokenRef(symbol=facts.symbol, address=facts.address, decimals=facts.decimals)
