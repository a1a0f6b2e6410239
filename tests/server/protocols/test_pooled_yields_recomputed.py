"""Yields of lend-a and lend-d against the original contracts: what they store, and what a day brings.

Storage is read by its layout and rates are checked by what balances grow by, never by the reader's own calls.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devnet import known
from devnet.evm.treasury import token_of
from devnet.known_lending import PRICES, TREASURY
from devnet.launcher import Devnet
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import YEAR, ask, mine_at, now, send
from tests.server.protocols.pooled_site import (
    BALANCE,
    CHAINS,
    DOLLAR,
    LENDING,
    POOLS,
    PRICE,
    RAY,
    Site,
    holding,
    open_site,
    pool_of,
    stored,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.devnet

DAY = 86_400
WALLETS = (known.VITALIK, known.ALICE, known.BOB, known.UNTOUCHED)
RESERVES = [(chain, reserve.symbol) for chain, pool in POOLS.items() for reserve in pool.set_up.reserves]
# Where somebody owes the asset, so that its supply earns, and who supplies and who owes.
EARNING = [
    ("ethereum", "USDC", known.VITALIK, known.BOB),
    ("ethereum", "WETH", known.VITALIK, known.ALICE),
    ("polygon", "DAI", TREASURY, known.VITALIK),
    ("base", "USDC", known.VITALIK, known.BOB),
    ("optimism", "USDC", known.VITALIK, known.ALICE),
    ("avalanche", "USDC", known.VITALIK, known.ALICE),
    ("arbitrum", "USDC", known.VITALIK, known.BOB),
    ("hyperliquid", "USDC", TREASURY, known.VITALIK),
    ("hyperliquid", "USDT0", TREASURY, known.ALICE),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def lending() -> AsyncIterator[Devnet]:
    """The chains of the contract's table."""
    async with Devnet.start(tuple(CHAINS), mines=False) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(lending: Devnet) -> AsyncIterator[Site]:
    overrides = lending.settings_overrides()["chains"]
    async with open_site({slug: overrides[slug] for slug in CHAINS}) as opened:
        yield opened


def exact_apy(rate: int) -> float:
    with localcontext() as context:
        context.prec = 60
        return float(((1 + Decimal(rate) / RAY / YEAR) ** YEAR - 1) * 100)


@pytest.mark.parametrize(("chain", "symbol"), RESERVES)
async def test_rates_size_and_price_are_those_that_are_stored(
    site: Site, lending: Devnet, chain: str, symbol: str
) -> None:
    node = lending.nodes[chain]
    reserve = await stored(node, POOLS[chain], symbol)
    pool = pool_of(chain, symbol, reserve.address)
    row = await site.row(LENDING, chain, pool)
    assert row.supply_apy == pytest.approx(exact_apy(reserve.lent_at), rel=1e-12)
    assert row.borrow_apy == pytest.approx(exact_apy(reserve.owed_at), rel=1e-12)
    assert reserve.supplied > 0
    assert reserve.supplied == await ask(node, reserve.supply_token, "totalSupply()")
    assert row.tvl == reserve.size
    assert row.updated_at.seconds == await now(node)
    assert row.block_height == int(await node.call("eth_blockNumber"), 16)
    assert reserve.price == int(Decimal(PRICES[symbol]) * DOLLAR)
    if chain != "hyperliquid":
        assert (await site.row(PRICE, chain, pool)).price.usd == reserve.price / DOLLAR
        assert await site.row(LENDING, chain, pool.swapcase()) == row


@pytest.mark.parametrize("chain", CHAINS)
async def test_all_pools_of_a_chain_are_what_each_is_by_itself(site: Site, lending: Devnet, chain: str) -> None:
    node, pool = lending.nodes[chain], POOLS[chain]
    rows = await site.best(chain)
    expected = [token_of(node.chain, reserve.symbol) for reserve in pool.set_up.reserves]
    assert list(rows) == [pool_of(chain, token.symbol, token.address) for token in expected]
    for token, (name, row) in zip(expected, rows.items(), strict=True):
        one = await site.row(LENDING, chain, name)
        assert (row.apy, row.tvl, row.symbol) == (one.supply_apy, one.tvl, token.symbol)
        assert (row.updated_at, row.block_height) == (one.updated_at, one.block_height)
    assert any(row.apy > 0 for row in rows.values())


@pytest.mark.parametrize("wallet", WALLETS)
@pytest.mark.parametrize("chain", CHAINS)
async def test_balances_are_those_of_the_reserves_tokens(site: Site, lending: Devnet, chain: str, wallet: str) -> None:
    node, pool = lending.nodes[chain], POOLS[chain]
    for reserve in pool.set_up.reserves:
        token = token_of(node.chain, reserve.symbol)
        supplied, _ = await holding(node, pool, token.address, wallet)
        price = int(Decimal(PRICES[reserve.symbol]) * DOLLAR)
        row = await site.row(BALANCE, chain, pool_of(chain, token.symbol, token.address), wallet)
        assert dict(row.balance.amounts) == {token.symbol: supplied / 10**token.decimals}
        assert row.balance.usd == supplied * price / (10**token.decimals * DOLLAR)
        assert row.block_height == int(await node.call("eth_blockNumber"), 16)


@pytest.mark.parametrize(("chain", "symbol", "supplier", "debtor"), EARNING)
async def test_a_day_brings_what_the_rates_said(
    site: Site, lending: Devnet, chain: str, symbol: str, supplier: str, debtor: str
) -> None:
    """The rate changes as soon as the reserve is used: what it changes by in a day bounds the difference."""
    node, pool = lending.nodes[chain], POOLS[chain]
    token = token_of(node.chain, symbol)
    name = pool_of(chain, symbol, token.address)
    async with rewound(node):
        await touch(node, pool, token)
        before = await site.row(LENDING, chain, name)
        start = await now(node)
        supplied, _ = await holding(node, pool, token.address, supplier)
        _, owed = await holding(node, pool, token.address, debtor)
        assert min(before.supply_apy, before.borrow_apy, supplied, owed) > 0
        await mine_at(node, start + DAY)
        supplied_after, _ = await holding(node, pool, token.address, supplier)
        _, owed_after = await holding(node, pool, token.address, debtor)
        row = await site.row(BALANCE, chain, name, supplier)
        assert dict(row.balance.amounts) == {symbol: supplied_after / 10**token.decimals}
        await touch(node, pool, token)
        after = await site.row(LENDING, chain, name)
    for grown, rate, later, smallest in (
        (supplied_after / supplied - 1, before.supply_apy, after.supply_apy, 2 / supplied),
        (owed_after / owed - 1, before.borrow_apy, after.borrow_apy, 2 / owed),
    ):
        said = (1 + rate / 100) ** (DAY / YEAR) - 1
        own_change = abs(later - rate) / rate
        # Supplies grow by the plain rate until the reserve is used: a day's interest on a day's interest is missing.
        assert abs(grown / said - 1) <= own_change + said + smallest / said
        assert own_change < 0.01


async def touch(node: Any, pool: Any, token: Any) -> None:
    """Supply one unit, by which the pool brings the reserve's indices and rates to the block."""
    await send(node, known.DEVELOPER, token.address, "mint(address,uint256)", TREASURY, 1) if (
        token.address != node.chain.wrapped_native.address
    ) else await send(node, TREASURY, token.address, "deposit()", value=1)
    await send(node, TREASURY, token.address, "approve(address,uint256)", pool.pool, 1)
    await send(node, TREASURY, pool.pool, "supply(address,uint256,address,uint16)", token.address, 1, TREASURY, 0)
    await mine_at(node, await now(node) + 1)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    supplied=st.integers(1, 10**13),
    share=st.integers(0, 99),
    seconds=st.integers(1, 4 * YEAR),
    chain=st.sampled_from(["ethereum", "hyperliquid"]),
)
async def test_after_any_supply_debt_and_time(
    site: Site, lending: Devnet, supplied: int, share: int, seconds: int, chain: str
) -> None:
    """A supply of dollars, a debt of some percent of all dollars there, and then time that passes."""
    node, pool = lending.nodes[chain], POOLS[chain]
    token = token_of(node.chain, "USDC")
    collateral = token_of(node.chain, "WBTC" if chain == "ethereum" else "UBTC")
    supply, mint, approve = (
        "supply(address,uint256,address,uint16)",
        "mint(address,uint256)",
        "approve(address,uint256)",
    )
    async with rewound(node):
        for wallet, asset, amount in ((known.UNTOUCHED, token, supplied), (known.DEVELOPER, collateral, 10**13)):
            await send(node, known.DEVELOPER, asset.address, mint, wallet, amount)
            await send(node, wallet, asset.address, approve, pool.pool, amount)
            await send(node, wallet, pool.pool, supply, asset.address, amount, wallet, 0)
        await mine_at(node, await now(node) + 1)
        reserve = await stored(node, pool, "USDC")
        there = await ask(node, token.address, "balanceOf(address)", reserve.supply_token)
        if debt := there * share // 100:
            borrow = "borrow(address,uint256,uint256,uint16,address)"
            await send(node, known.DEVELOPER, pool.pool, borrow, token.address, debt, 2, 0, known.DEVELOPER)
        await mine_at(node, await now(node) + seconds)
        reserve = await stored(node, pool, "USDC")
        name = pool_of(chain, "USDC", token.address)
        row = await site.row(LENDING, chain, name)
        assert row.supply_apy == pytest.approx(exact_apy(reserve.lent_at), rel=1e-12)
        assert row.borrow_apy == pytest.approx(exact_apy(reserve.owed_at), rel=1e-12)
        assert row.tvl == reserve.size
        held, _ = await holding(node, pool, token.address, known.UNTOUCHED)
        assert held >= supplied - 1
        row = await site.row(BALANCE, chain, name, known.UNTOUCHED)
        assert dict(row.balance.amounts) == {"USDC": held / 10**6}
