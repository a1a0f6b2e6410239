"""lend-b's positions: V2 by redeeming and paying back on a snapshot, V3 by principals, indices and rates as stored.

A block is made twice at one height and time: empty for the reader, then with the transactions in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from devnet import known
from devnet.evm.treasury import token_of
from devnet.known_lending_b import LEND_B_V2, LEND_B_V3
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import YEAR, ask, mine_at, now, send, units

if TYPE_CHECKING:
    from devnet.evm.node import Node
    from devnet.known_lending_b import Comet
    from tests.server.protocols.conftest import Asked

pytestmark = pytest.mark.devnet

WALLETS = (known.VITALIK, known.ALICE, known.BOB)
WAD, INDEX = 10**18, 10**15
C_TOKENS = {market.address: market for market in LEND_B_V2}


async def v2_amounts(asked: Asked, wallet: str) -> dict[str, tuple[int, int]]:
    """Supply and debt that the reader answers by market."""
    found = await asked.wallet("GetLendBV2UserPositions", "ethereum", wallet)
    return {
        row.c_token_address: (
            units(row.supply_balance, row.underlying_decimals),
            units(row.borrow_balance, row.underlying_decimals),
        )
        for row in found.markets
    }


async def test_v2_supplies_are_what_redeeming_brings(asked: Asked) -> None:
    node = asked.devnet.nodes["ethereum"]
    time = await now(node) + 7_777
    redeemed = ((known.VITALIK, "cUSDC"), (known.ALICE, "cDAI"))
    async with rewound(node):
        await mine_at(node, time)
        found = {wallet: await v2_amounts(asked, wallet) for wallet, _ in redeemed}
    for wallet, symbol in redeemed:
        [market] = [one for one in LEND_B_V2 if one.symbol == symbol]
        token = token_of(node.chain, market.underlying).address
        async with rewound(node):
            before = await ask(node, token, "balanceOf(address)", wallet)
            shares = await ask(node, market.address, "balanceOf(address)", wallet)
            await send(node, wallet, market.address, "redeem(uint256)", shares)
            await mine_at(node, time)
            assert await ask(node, market.address, "balanceOf(address)", wallet) == 0
            assert await ask(node, token, "balanceOf(address)", wallet) - before == found[wallet][market.address][0]


async def test_v2_debts_are_what_paying_back_costs(asked: Asked) -> None:
    node = asked.devnet.nodes["ethereum"]
    time = await now(node) + 7_777
    owed = ((known.VITALIK, "cDAI"), (known.BOB, "cUSDT"))
    async with rewound(node):
        await mine_at(node, time)
        found = {wallet: await v2_amounts(asked, wallet) for wallet, _ in owed}
    for wallet, symbol in owed:
        [market] = [one for one in LEND_B_V2 if one.symbol == symbol]
        token = token_of(node.chain, market.underlying).address
        async with rewound(node):
            had = await ask(node, token, "balanceOf(address)", wallet)
            given_to = 10**23
            await send(node, known.DEVELOPER, token, "mint(address,uint256)", wallet, given_to)
            await send(node, wallet, token, "approve(address,uint256)", market.address, 2**255)
            # The largest amount stands for all that is owed.
            await send(node, wallet, market.address, "repayBorrow(uint256)", 2**256 - 1)
            await mine_at(node, time)
            left = await ask(node, token, "balanceOf(address)", wallet)
            assert had + given_to - left == found[wallet][market.address][1]


@pytest.mark.parametrize("wallet", WALLETS)
async def test_v2_is_what_accruing_for_good_leaves(asked: Asked, wallet: str) -> None:
    """All five markets: exchange rate and borrow index as stored by an accrual in the same block."""
    node = asked.devnet.nodes["ethereum"]
    time = await now(node) + 100
    async with rewound(node):
        await mine_at(node, time)
        found = await v2_amounts(asked, wallet)
    async with rewound(node):
        for address in C_TOKENS:
            await send(node, known.ALICE, address, "accrueInterest()")
        await mine_at(node, time)
        expected = {}
        for address in C_TOKENS:
            _, shares, debt, rate = await ask(
                node, address, "getAccountSnapshot(address)", wallet, types="uint256,uint256,uint256,uint256"
            )
            if shares or debt:
                expected[address] = (shares * rate // WAD, debt)
    assert found == expected
    assert expected


class Expected(NamedTuple):
    supply: int
    debt: int
    collateral: dict[str, int]
    is_liquidatable: bool | None


async def v3_expected(node: Node, market: Comet, wallet: str) -> Expected:
    """What a wallet has in a market: its principal, and the indices as stored brought to the block by the rates."""
    types = "(uint64,uint64,uint64,uint64,uint104,uint104,uint40,uint8)"
    totals = await ask(node, market.address, "totalsBasic()", types=types)
    principal, _, _, low, high = await ask(
        node, market.address, "userBasic(address)", wallet, types="int104,uint64,uint64,uint16,uint8"
    )
    supplied, borrowed = totals[4] * totals[0] // INDEX, totals[5] * totals[1] // INDEX
    usage = borrowed * WAD // supplied

    async def rate(side: str) -> int:
        low_slope, high_slope, base, kink = [
            await ask(node, market.address, f"{name}()")
            for name in (
                f"{side}PerSecondInterestRateSlopeLow",
                f"{side}PerSecondInterestRateSlopeHigh",
                f"{side}PerSecondInterestRateBase",
                f"{side}Kink",
            )
        ]
        return int(base + low_slope * min(usage, kink) // WAD + high_slope * max(usage - kink, 0) // WAD)

    elapsed = await now(node) - totals[6]
    assert elapsed < 10 * YEAR
    index = totals[0] + totals[0] * (await rate("supply") * elapsed) // WAD
    owed_index = totals[1] + totals[1] * (await rate("borrow") * elapsed) // WAD
    collateral, worth = {}, 0
    has_price = True
    for offset, symbol in enumerate(market.collaterals):
        token = token_of(node.chain, symbol)
        held, _ = await ask(
            node, market.address, "userCollateral(address,address)", wallet, token.address, types="uint128,uint128"
        )
        assert bool((low | high << 16) >> offset & 1) is (held > 0)
        if held:
            collateral[token.address] = held
            info = await ask(
                node,
                market.address,
                "getAssetInfo(uint8)",
                offset,
                types="(uint8,address,address,uint64,uint64,uint64,uint64,uint128)",
            )
            price = await price_of(node, info[2])
            has_price = has_price and price > 0
            worth += (held * price // info[3]) * info[5] // WAD
    debt = -principal * owed_index // INDEX if principal < 0 else 0
    is_liquidatable: bool | None = False
    if debt:
        base_price = await price_of(node, await ask(node, market.address, "baseTokenPriceFeed()", types="address"))
        scale = await ask(node, market.address, "baseScale()")
        # By the indices as stored, as the original has it.
        stored = -principal * totals[1] // INDEX
        is_liquidatable = worth < stored * base_price // scale if has_price else None
    return Expected(max(principal, 0) * index // INDEX, debt, collateral, is_liquidatable)


async def price_of(node: Node, feed: str) -> int:
    """Return a feed's price, 0 where it has none."""
    rounds = await ask(node, feed, "latestRoundData()", types="uint80,int256,uint256,uint256,uint80")
    return max(int(rounds[1]), 0)


@pytest.mark.parametrize("wallet", WALLETS)
@pytest.mark.parametrize("chain", ["ethereum", "arbitrum", "polygon"])
async def test_v3_is_what_the_markets_store(asked: Asked, chain: str, wallet: str) -> None:
    node = asked.devnet.nodes[chain]
    found = await asked.wallet("GetLendBV3UserPositions", chain, wallet)
    rows = {row.market_address: row for row in found.markets}
    expected = {}
    for market in LEND_B_V3[chain]:
        one = await v3_expected(node, market, wallet)
        if one.supply or one.debt or one.collateral:
            expected[market.address] = one
    assert list(rows) == list(expected)
    for address, one in expected.items():
        row = rows[address]
        base = token_of(node.chain, next(market.base for market in LEND_B_V3[chain] if market.address == address))
        assert (row.base_token.address, row.base_token.symbol) == (base.address, base.symbol)
        assert (units(row.supply_balance, base.decimals), units(row.borrow_balance, base.decimals)) == one[:2]
        reported = {held.token.address: units(held.balance, held.token.decimals) for held in row.collateral}
        assert reported == one.collateral
        assert (row.is_liquidatable if row.HasField("is_liquidatable") else None) is one.is_liquidatable


async def test_v3_tells_two_markets_of_one_symbol_apart(asked: Asked) -> None:
    found = await asked.wallet("GetLendBV3UserPositions", "arbitrum", known.ALICE)
    twins = [row for row in found.markets if row.market_name == "cUSDCv3"]
    assert len(twins) == 2
    assert twins[0].market_address != twins[1].market_address
    assert twins[0].base_token.address != twins[1].base_token.address


async def test_v3_has_a_17th_collateral_a_liquidation_and_a_feed_without_a_price(asked: Asked) -> None:
    vitalik = await asked.wallet("GetLendBV3UserPositions", "ethereum", known.VITALIK)
    [dollars] = [row for row in vitalik.markets if row.market_name == "cUSDCv3"]
    assert [held.token.symbol for held in dollars.collateral] == ["WETH", "DAI"]
    bob = {
        row.market_name: row for row in (await asked.wallet("GetLendBV3UserPositions", "ethereum", known.BOB)).markets
    }
    assert bob["cUSDTv3"].is_liquidatable is True
    assert not bob["cWETHv3"].HasField("is_liquidatable")
    assert bob["cUSDCv3"].is_liquidatable is False  # collateral alone
