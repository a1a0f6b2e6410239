"""lend-c's reader over scripted markets: pairs with two markets, and totals that nothing has accrued."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import pytest

from server.catalog.protocols import load_address_book
from server.contracts.calls import ContractOutcome
from server.protocols.morpho.reader import PositionReader
from server.protocols.plan import ContractUnreadable
from server.protocols.reader import WalletQuestion, load_deployments
from server.protocols.tokens import multicall
from tests.server.protocols.scripted import REVERTS, Readers, World

QUESTION = WalletQuestion("base", address="0x00000000000000000000000000000000000000AA")
MORPHO = load_address_book().find_contract("morpho", "base", "morpho").address
LISTED = load_deployments("server.protocols.morpho")["base"]
TOTALS = ",".join(["uint128"] * 6)
NOW = 1_700_000_000
READER = PositionReader()


class Markets(World):
    """The fixed markets of base; totals and a wallet's position by market."""

    def __init__(self) -> None:
        super().__init__()
        for row in LISTED:
            self.token(row["loan_token"], "USDC", 6)
            self.token(row["collateral_token"], "cbETH", 18)
        self.put(multicall("base"), "getCurrentBlockTimestamp()", "uint256", NOW)
        self.put_raw(
            MORPHO,
            "accrueInterest((address,address,address,address,uint256))",
            lambda _: ContractOutcome(True, b""),
        )
        self.totals = {row["id"]: (10**12, 10**18, 5 * 10**11, 5 * 10**17, NOW, 0) for row in LISTED}
        self.positions = {row["id"]: (0, 0, 0) for row in LISTED}
        self.put_raw(MORPHO, "market(bytes32)", lambda data: self._row(TOTALS, self.totals, data))
        self.put_raw(
            MORPHO,
            "position(bytes32,address)",
            lambda data: self._row("uint256,uint128,uint128", self.positions, data),
        )
        self.rates = 0

    def rate(self, rate: int | None) -> None:
        view = f"borrowRateView((address,address,address,address,uint256),({TOTALS}))"
        for row in LISTED:
            if rate is None:
                self.remove(row["irm"], view)
            else:
                self.put(row["irm"], view, "uint256", rate)

    def _row(self, types: str, table: dict[str, Any], data: bytes) -> ContractOutcome:
        row = table.get("0x" + data[:32].hex())
        if row is None:
            return REVERTS
        return ContractOutcome(True, b"".join(value.to_bytes(32, "big") for value in row))


async def test_a_wallet_without_anything_is_an_empty_list_and_one_request() -> None:
    readers = Readers(Markets())
    await readers.ask(READER, QUESTION)
    found, requests = await readers.count(READER, QUESTION)
    assert (list(found.markets), requests) == ([], 1)


async def test_both_markets_of_a_pair_are_rows() -> None:
    world = Markets()
    twins = [row["id"] for row in LISTED if row["collateral_token"] == LISTED[1]["collateral_token"]]
    assert len(twins) == 2
    for place, one in enumerate(twins):
        world.positions[one] = (0, 0, 10**18 * (place + 1))
    found = (await Readers(world).ask(READER, QUESTION)).markets
    assert [(row.market_id, row.collateral, row.collateral_raw) for row in found] == [
        (twins[0], "1", str(10**18)),
        (twins[1], "2", str(2 * 10**18)),
    ]
    assert [(row.lltv, row.supply_assets, row.borrow_assets) for row in found] == [(860000000000000000, "0", "0")] * 2


async def test_the_contracts_own_accrual_needs_no_second_request() -> None:
    world = Markets()
    one = LISTED[0]["id"]
    world.positions[one] = (10**18 // 3, 10**17 // 7, 0)
    readers = Readers(world)
    await readers.ask(READER, QUESTION)
    found, requests = await readers.count(READER, QUESTION)
    assert requests == 1
    [row] = found.markets
    # Rounded down and up, with one virtual asset and a million virtual shares.
    assert int(row.supply_assets_raw) == (10**18 // 3) * (10**12 + 1) // (10**18 + 10**6)
    shares, assets, supply = 10**17 // 7, 5 * 10**11 + 1, 5 * 10**17 + 10**6
    assert int(row.borrow_assets_raw) == (shares * assets + supply - 1) // supply


async def test_totals_that_nothing_accrued_are_accrued_by_the_formula() -> None:
    """Where its calls ran apart: one request more asks the rate."""
    world = Markets()
    one = LISTED[1]["id"]
    rate, seconds = 10**9, 1_000_000
    world.totals[one] = (10**12, 10**18, 5 * 10**11, 5 * 10**17, NOW - seconds, 10**17)
    world.positions[one] = (10**18, 5 * 10**17, 0)
    world.rate(rate)
    readers = Readers(world)
    await readers.ask(READER, QUESTION)
    found, requests = await readers.count(READER, QUESTION)
    assert requests == 2
    [row] = found.markets
    # x = 0.001: 0.001 + 0.0000005 + 0.000000000166666...
    grown = floor(5 * 10**11 * (0.001 + 0.0000005 + 0.000000000166666666))
    supply_assets, fee = 10**12 + grown, grown // 10
    shares = 10**18 + fee * (10**18 + 10**6) // (supply_assets - fee + 1)
    assert int(row.supply_assets_raw) == 10**18 * (supply_assets + 1) // (shares + 10**6)
    assert int(row.borrow_assets_raw) == ceil(5 * 10**17 * (5 * 10**11 + grown + 1) / (5 * 10**17 + 10**6))


async def test_only_markets_with_a_position_are_accrued() -> None:
    world = Markets()
    world.totals = {one: (*totals[:4], NOW - 60, 0) for one, totals in world.totals.items()}
    world.positions[LISTED[0]["id"]] = (0, 0, 1)
    world.rate(10**9)
    readers = Readers(world)
    await readers.ask(READER, QUESTION)
    del world.requests[:]
    await readers.ask(READER, QUESTION)
    assert [sum(len(group.calls) for group in groups) for groups in world.requests] == [1 + 3 * len(LISTED), 1]


async def test_a_rate_model_that_refuses_is_named() -> None:
    world = Markets()
    world.totals = {one: (*totals[:4], NOW - 60, 0) for one, totals in world.totals.items()}
    world.positions[LISTED[0]["id"]] = (1, 0, 0)
    world.rate(None)
    with pytest.raises(ContractUnreadable, match=f"borrowRateView of the contract {LISTED[0]['irm']} on base"):
        await Readers(world).ask(READER, QUESTION)


async def test_a_market_that_is_not_there_is_no_wrong_figure() -> None:
    """A chain without the market: shares of nothing."""
    world = Markets()
    world.totals[LISTED[0]["id"]] = (0, 0, 0, 0, 0, 0)
    world.rate(0)
    assert list((await Readers(world).ask(READER, QUESTION)).markets) == []


async def test_the_contract_without_code_is_named() -> None:
    world = Markets()
    world.functions = {key: value for key, value in world.functions.items() if key[0] != MORPHO.lower()}
    with pytest.raises(ContractUnreadable, match=f"contract {MORPHO} on base .*no contract is there"):
        await Readers(world).ask(READER, QUESTION)
