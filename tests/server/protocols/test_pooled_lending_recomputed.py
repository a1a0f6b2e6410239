"""lend-a's positions against what the pools store: scaled balances, indices and rates, prices and thresholds.

The indices are brought to the block by the published formulas, in ray arithmetic written here; the reader asks the
tokens and the pool for finished figures.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import pytest
from eth_utils.address import to_checksum_address
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devnet import known
from devnet.evm.treasury import token_of
from devnet.known_lending import CLOSE, LEND_A_V2, LEND_A_V3
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import YEAR, ask, mine_at, now, send, units

if TYPE_CHECKING:
    from waypost.v1 import position_lending_pb2

    from devnet.evm.node import Node
    from devnet.known_lending import Pool
    from tests.server.protocols.conftest import Asked

pytestmark = pytest.mark.devnet

RAY, WAD, DOLLAR, PERCENT = 10**27, 10**18, 10**8, 10_000
CHAINS = ("ethereum", "arbitrum", "polygon")
WALLETS = (known.VITALIK, known.ALICE, known.BOB, known.UNTOUCHED)
_COUNT = count()
_STATE = "uint256,uint128,uint128,uint128,uint128,uint128,uint40"
DATA_V3 = f"({_STATE},uint16,address,address,address,address,uint128,uint128,uint128)"
DATA_V2 = f"({_STATE},address,address,address,address,uint8)"


class Held(NamedTuple):
    """A reserve of a wallet: amounts, the asset's decimals and price, its threshold and ltv in basis points."""

    symbol: str
    address: str
    decimals: int
    price: int
    supply: int
    debt: int
    is_collateral: bool
    threshold: int
    ltv: int

    def worth(self, amount: int) -> int:
        return amount * self.price // 10**self.decimals


def ray(one: int, other: int) -> int:
    """Multiply rays, rounding half up."""
    return (one * other + RAY // 2) // RAY


def linear(rate: int, seconds: int) -> int:
    return RAY + rate * seconds // YEAR


def compounded(rate: int, seconds: int) -> int:
    """Return three terms of the binomial that approximates (1 + rate / year) ** seconds, as version 3 has it."""
    if not seconds:
        return RAY
    less, two_less = seconds - 1, max(seconds - 2, 0)
    square = ray(rate, rate) // (YEAR * YEAR)
    cube = ray(square, rate) // YEAR
    return RAY + rate * seconds // YEAR + seconds * less * square // 2 + seconds * less * two_less * cube // 6


def compounded_per_second(rate: int, seconds: int) -> int:
    """The same as version 2 has it: by the rate of a second."""
    if not seconds:
        return RAY
    less, two_less = seconds - 1, max(seconds - 2, 0)
    each = rate // YEAR
    square = ray(each, each)
    cube = ray(square, each)
    return RAY + each * seconds + seconds * less * square // 2 + seconds * less * two_less * cube // 6


async def held_v3(node: Node, pool: Pool, wallet: str, category: int) -> list[Held]:
    """What a wallet has by what is stored."""
    time = await now(node)
    bitmap = await ask(node, pool.pool, "getUserConfiguration(address)", wallet)
    rows = []
    for reserve in pool.set_up.reserves:
        token = token_of(node.chain, reserve.symbol)
        data = await ask(node, pool.pool, "getReserveData(address)", token.address, types=DATA_V3)
        elapsed = time - data[6]
        income = ray(linear(data[2], elapsed), data[1])
        owed = ray(compounded(data[4], elapsed), data[3])
        assert income == await ask(node, pool.pool, "getReserveNormalizedIncome(address)", token.address)
        assert owed == await ask(node, pool.pool, "getReserveNormalizedVariableDebt(address)", token.address)
        scaled = await ask(node, data[8], "scaledBalanceOf(address)", wallet)
        scaled_debt = await ask(node, data[10], "scaledBalanceOf(address)", wallet)
        price = await ask(node, pool.oracle, "getAssetPrice(address)", token.address)
        threshold, ltv = data[0] >> 16 & 0xFFFF, data[0] & 0xFFFF
        if category and reserve.category == category:
            ltv, threshold, *_ = await ask(
                node, pool.pool, "getEModeCategoryData(uint8)", category, types="(uint16,uint16,uint16,address,string)"
            )
        supply, debt = ray(scaled, income), ray(scaled_debt, owed)
        used = bool(bitmap >> (2 * data[7] + 1) & 1)
        if supply or debt:
            rows.append(Held(token.symbol, token.address, token.decimals, price, supply, debt, used, threshold, ltv))
    return rows


class Account(NamedTuple):
    collateral: int
    debt: int
    threshold: int
    ltv: int
    health: int | None


def account_of(rows: list[Held]) -> Account:
    """The pool's sums from a wallet's reserves."""
    used = [row for row in rows if row.is_collateral and row.threshold]
    collateral = sum(row.worth(row.supply) for row in used)
    debt = sum(row.worth(row.debt) for row in rows)
    threshold = sum(row.worth(row.supply) * row.threshold for row in used) // collateral if collateral else 0
    ltv = sum(row.worth(row.supply) * row.ltv for row in used) // collateral if collateral else 0
    covered = (collateral * threshold + PERCENT // 2) // PERCENT
    return Account(collateral, debt, threshold, ltv, (covered * WAD + debt // 2) // debt if debt else None)


async def check_v3(asked: Asked, chain: str, wallet: str, category: int = 0) -> position_lending_pb2.LendAV3Positions:
    """Compare every member of a wallet's positions with what the pool stores; return the positions."""
    node, pool = asked.devnet.nodes[chain], LEND_A_V3[chain]
    rows = await held_v3(node, pool, wallet, category)
    account = account_of(rows)
    found: position_lending_pb2.LendAV3Positions = await asked.wallet("GetLendAV3UserPositions", chain, wallet)

    assert [row.symbol for row in found.reserves] == [row.symbol for row in rows]
    for got, row in zip(found.reserves, rows, strict=True):
        assert got.address == row.address
        assert (units(got.balance, row.decimals), units(got.debt, row.decimals)) == (row.supply, row.debt)
        assert got.is_collateral is (row.is_collateral and row.supply > 0)
        dollars = [amount / 10**row.decimals * (row.price / DOLLAR) for amount in (row.supply, row.debt)]
        assert [got.balance_usd, got.debt_usd] == pytest.approx(dollars, rel=1e-12)
    # As exact as a double is: beyond 2**53 not to the unit.
    assert found.total_collateral_usd == pytest.approx(account.collateral / DOLLAR, rel=1e-15, abs=0.5 / DOLLAR)
    assert found.total_debt_usd == pytest.approx(account.debt / DOLLAR, rel=1e-15, abs=0.5 / DOLLAR)
    assert found.net_worth_usd == pytest.approx((account.collateral - account.debt) / DOLLAR, rel=1e-12)
    assert found.liquidation_threshold == account.threshold / PERCENT
    assert found.ltv == account.ltv / PERCENT
    free = max((account.collateral * account.ltv + PERCENT // 2) // PERCENT - account.debt, 0)
    assert round(found.available_borrows_usd * DOLLAR) == free
    if account.health is None:
        assert not found.HasField("health_factor")
        assert not found.is_liquidatable
    else:
        assert found.health_factor == pytest.approx(account.health / WAD, rel=1e-14)
        assert found.is_liquidatable is (account.health < WAD)
    return found


@pytest.mark.parametrize("wallet", WALLETS)
@pytest.mark.parametrize("chain", CHAINS)
async def test_v3_is_what_the_pool_stores(asked: Asked, chain: str, wallet: str) -> None:
    found = await check_v3(asked, chain, wallet, CLOSE if wallet == known.ALICE else 0)
    assert (wallet == known.BOB) is found.is_liquidatable
    if wallet == known.UNTOUCHED:
        assert (list(found.reserves), found.total_collateral_usd, found.ltv) == ([], 0, 0)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    number=st.integers(1 << 100, 1 << 159),
    coins=st.integers(10**3, 10**11),
    dollars=st.integers(1, 10**12),
    share=st.integers(0, 70),
    seconds=st.integers(1, 4 * YEAR),
)
async def test_v3_of_any_wallet_at_any_time(
    asked: Asked, number: int, coins: int, dollars: int, share: int, seconds: int
) -> None:
    """Supplies of two assets, a debt of some percent of what they allow, and then time that passes."""
    # Another wallet each time: the chain is set back to heights that the readers have seen, which no chain does.
    wallet = to_checksum_address(f"0x{number + next(_COUNT):040x}")
    node, pool = asked.devnet.nodes["ethereum"], LEND_A_V3["ethereum"]
    async with rewound(node):
        for symbol, amount in (("WBTC", coins), ("USDC", dollars)):
            token = token_of(node.chain, symbol)
            await send(node, known.DEVELOPER, token.address, "mint(address,uint256)", wallet, amount)
            await send(node, wallet, token.address, "approve(address,uint256)", pool.pool, amount)
            supply = "supply(address,uint256,address,uint16)"
            await send(node, wallet, pool.pool, supply, token.address, amount, wallet, 0)
        await mine_at(node, await now(node) + 1)
        data = await ask(node, pool.pool, "getUserAccountData(address)", wallet, types=",".join(["uint256"] * 6))
        dai = token_of(node.chain, "DAI")
        price = await ask(node, pool.oracle, "getAssetPrice(address)", dai.address)
        held = await ask(node, dai.address, "balanceOf(address)", await supply_token(node, pool, dai.address))
        debt = min(data[2] * share // 100 * 10**18 // price, held // 2)
        if debt:
            borrow = "borrow(address,uint256,uint256,uint16,address)"
            await send(node, wallet, pool.pool, borrow, dai.address, debt, 2, 0, wallet)
        await mine_at(node, await now(node) + seconds)
        await asked.mine("ethereum")
        found = await check_v3(asked, "ethereum", wallet)
        assert (found.total_debt_usd > 0) is (debt * price >= 10**18)


async def supply_token(node: Node, pool: Pool, asset: str) -> str:
    data = await ask(node, pool.pool, "getReserveData(address)", asset, types=DATA_V3)
    return str(data[8])


async def test_v3_accrues_to_the_block(asked: Asked) -> None:
    """A month later, and with a collateral that is none any more."""
    node, pool = asked.devnet.nodes["ethereum"], LEND_A_V3["ethereum"]
    async with rewound(node):
        await node.call("evm_increaseTime", 2_592_000)
        await node.call("evm_mine")
        rows = await held_v3(node, pool, known.VITALIK, 0)
        found = await asked.wallet("GetLendAV3UserPositions", "ethereum", known.VITALIK)
    assert [
        (row.symbol, units(row.balance, held.decimals), units(row.debt, held.decimals))
        for row, held in zip(found.reserves, rows, strict=True)
    ] == [(held.symbol, held.supply, held.debt) for held in rows]
    assert round(found.total_debt_usd * DOLLAR) == account_of(rows).debt


async def held_v2(node: Node, pool: Pool, wallet: str) -> list[Held]:
    """What a wallet has by what version 2 stores; stable debts grow from a principal at a rate of their own."""
    time = await now(node)
    bitmap = await ask(node, pool.pool, "getUserConfiguration(address)", wallet)
    rows = []
    for place, reserve in enumerate(pool.set_up.reserves):
        token = token_of(node.chain, reserve.symbol)
        data = await ask(node, pool.pool, "getReserveData(address)", token.address, types=DATA_V2)
        elapsed = time - data[6]
        income = ray(linear(data[3], elapsed), data[1])
        owed = ray(compounded_per_second(data[4], elapsed), data[2])
        scaled = await ask(node, data[7], "scaledBalanceOf(address)", wallet)
        principal = await ask(node, data[8], "principalBalanceOf(address)", wallet)
        rate = await ask(node, data[8], "getUserStableRate(address)", wallet)
        since = await ask(node, data[8], "getUserLastUpdated(address)", wallet)
        stable = ray(principal, compounded_per_second(rate, time - since)) if principal else 0
        variable = ray(await ask(node, data[9], "scaledBalanceOf(address)", wallet), owed)
        price = await ask(node, pool.oracle, "getAssetPrice(address)", token.address)
        supply, debt = ray(scaled, income), stable + variable
        used = bool(bitmap >> (2 * place + 1) & 1)
        threshold, ltv = data[0] >> 16 & 0xFFFF, data[0] & 0xFFFF
        if supply or debt:
            rows.append(Held(token.symbol, token.address, token.decimals, price, supply, debt, used, threshold, ltv))
    return rows


@pytest.mark.parametrize("wallet", WALLETS)
@pytest.mark.parametrize("chain", ["ethereum", "polygon"])
async def test_v2_is_what_the_pool_stores(asked: Asked, chain: str, wallet: str) -> None:
    node, pool = asked.devnet.nodes[chain], LEND_A_V2[chain]
    rows = await held_v2(node, pool, wallet)
    found = await asked.wallet("GetLendAV2UserPositions", chain, wallet)
    decimals = {row.address: row.decimals for row in rows}
    for listed, amounts in (
        (found.supplies, [(row.symbol, row.address, row.supply) for row in rows if row.supply]),
        (found.borrows, [(row.symbol, row.address, row.debt) for row in rows if row.debt]),
    ):
        assert [(one.symbol, one.address, units(one.balance, decimals[one.address])) for one in listed] == amounts
    account = account_of(rows)
    # Sums in ether with 18 places, which a float holds to 15 digits.
    assert found.total_collateral_usd == pytest.approx(account.collateral / WAD, rel=1e-15)
    assert found.total_debt_usd == pytest.approx(account.debt / WAD, rel=1e-15)
    assert found.ltv == account.ltv / PERCENT
    if account.health is None:
        assert not found.HasField("health_factor")
    else:
        assert found.health_factor == pytest.approx(account.health / WAD, rel=1e-14)


async def test_v2_tells_the_stable_debt_with_the_variable_one(asked: Asked) -> None:
    """The two kinds of one asset are one row; a frozen supply is there."""
    found = await asked.wallet("GetLendAV2UserPositions", "ethereum", known.VITALIK)
    [debt] = found.borrows
    assert debt.symbol == "DAI"
    assert 1_250.5 < float(debt.balance) < 1_300
    assert "LINK" in [row.symbol for row in found.supplies]
