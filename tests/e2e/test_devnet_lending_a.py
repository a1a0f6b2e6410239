"""The markets of lend-a and lend-d stand at their addresses and hold what known_lending.py sets up."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi.abi import decode

from devnet import known
from devnet.evm.calls import encode_call
from devnet.evm.treasury import token_of
from devnet.known_lending import CLOSE, LEND_A_V2, LEND_A_V3, LEND_D, PRICES
from tests.e2e.devnet_reads import call_raw, read

if TYPE_CHECKING:
    from devnet.evm.node import Node
    from devnet.known_lending import Pool
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet
# lend-d is a second lend-a V3, on a chain that has none.
V3 = {**LEND_A_V3, **LEND_D}
RICH_V3 = ("ethereum", "arbitrum", "polygon")
DOLLAR = 10**8
WHOLE = 10**18
NEVER = 2**256 - 1


async def answers(node: Node, to: str, signature: str, arguments: list[object], *types: str) -> Any:
    """The decoded answer of several values."""
    return decode(types, await call_raw(node, to, encode_call(signature, arguments)))


async def account(node: Node, pool: Pool, holder: str) -> tuple[int, ...]:
    """Collateral, debt, what may be borrowed, threshold, ltv, health factor."""
    figures: tuple[int, ...] = await answers(node, pool.pool, "getUserAccountData(address)", [holder], *["uint256"] * 6)
    return figures


async def holding(node: Node, pool: Pool, symbol: str, holder: str) -> tuple[int, int, int, bool]:
    """Supply, stable debt, variable debt, and whether the supply is collateral."""
    types = [*["uint256"] * 7, "uint40", "bool"]
    asset = token_of(node.chain, symbol).address
    row = await answers(node, pool.data_provider, "getUserReserveData(address,address)", [asset, holder], *types)
    return row[0], row[1], row[2], row[8]


@pytest.mark.parametrize("slug", V3)
async def test_v3_stands_at_its_addresses(full_devnet: Devnet, slug: str) -> None:
    node, pool = full_devnet.nodes[slug], V3[slug]
    for getter, place in (
        ("getPool()", pool.pool),
        ("getPoolConfigurator()", pool.configurator),
        ("getPoolDataProvider()", pool.data_provider),
        ("getPriceOracle()", pool.oracle),
    ):
        assert await read(node, pool.provider, getter, [], "address") == place.lower()
    assert await read(node, pool.pool, "ADDRESSES_PROVIDER()", [], "address") == pool.provider.lower()
    assets = [token_of(node.chain, reserve.symbol) for reserve in pool.set_up.reserves]
    listed = await read(node, pool.pool, "getReservesList()", [], "address[]")
    assert list(listed) == [token.address.lower() for token in assets]
    rows = await read(node, pool.data_provider, "getAllReservesTokens()", [], "(string,address)[]")
    assert [row[0] for row in rows] == [token.symbol for token in assets]
    asked = [[token.address for token in assets]]
    prices = await read(node, pool.oracle, "getAssetsPrices(address[])", asked, "uint256[]")
    expected = [int(Decimal(PRICES[reserve.symbol]) * DOLLAR) for reserve in pool.set_up.reserves]
    assert list(prices) == expected


@pytest.mark.parametrize("slug", V3)
async def test_v3_positions_are_those_set_up(full_devnet: Devnet, slug: str) -> None:
    node, pool = full_devnet.nodes[slug], V3[slug]
    assert await account(node, pool, known.UNTOUCHED) == (0, 0, 0, 0, 0, NEVER)
    for supply in pool.set_up.supplies:
        at_first = known.units(token_of(node.chain, supply.symbol), supply.amount)
        now, _, _, collateral = await holding(node, pool, supply.symbol, supply.holder)
        assert at_first <= now < at_first * 2
        assert collateral is supply.collateral
    for debt in pool.set_up.debts:
        at_first = known.units(token_of(node.chain, debt.symbol), debt.amount)
        _, stable, variable, _ = await holding(node, pool, debt.symbol, debt.holder)
        assert stable == 0
        assert at_first < variable < at_first * 2
    collateral, owed, _, _, _, health = await account(node, pool, known.ALICE)
    assert 0 < owed < collateral
    assert health > WHOLE


@pytest.mark.parametrize("slug", RICH_V3)
async def test_v3_has_every_case(devnet: Devnet, slug: str) -> None:
    node, pool = devnet.nodes[slug], LEND_A_V3[slug]
    frozen = [reserve.symbol for reserve in pool.set_up.reserves if reserve.frozen]
    assert len(frozen) == 1
    for reserve in pool.set_up.reserves:
        asked = [token_of(node.chain, reserve.symbol).address]
        types = [*["uint256"] * 5, *["bool"] * 5]
        row = await answers(node, pool.data_provider, "getReserveConfigurationData(address)", asked, *types)
        assert row[0] == token_of(node.chain, reserve.symbol).decimals
        assert (row[1], row[2], row[9]) == (reserve.ltv, reserve.threshold, reserve.frozen)
    assert (await holding(node, pool, frozen[0], known.VITALIK))[0] > 0

    # Bitcoin that is no collateral counts nothing, though it is worth more than the rest together.
    collateral, owed, _, _, _, health = await account(node, pool, known.VITALIK)
    bitcoin, _, _, used = await holding(node, pool, "WBTC", known.VITALIK)
    assert not used
    assert bitcoin * int(PRICES["WBTC"]) > collateral > owed > 6_000 * DOLLAR
    assert health > 2 * WHOLE

    # Within a category ALICE owes more than she could outside it.
    assert await read(node, pool.pool, "getUserEMode(address)", [known.ALICE], "uint256") == CLOSE
    collateral, owed, _, threshold, ltv, health = await account(node, pool, known.ALICE)
    assert (ltv, threshold) == (9_000, 9_300)
    assert owed * 10_000 > collateral * 8_100
    assert health > WHOLE

    _, owed, left, _, _, health = await account(node, pool, known.BOB)
    assert owed > 8_000 * DOLLAR
    assert left == 0
    assert 0 < health < WHOLE


async def test_lend_d_has_a_frozen_and_a_paused_reserve(full_devnet: Devnet) -> None:
    node, pool = full_devnet.nodes["hyperliquid"], LEND_D["hyperliquid"]
    for reserve in pool.set_up.reserves:
        asked = [token_of(node.chain, reserve.symbol).address]
        types = [*["uint256"] * 5, *["bool"] * 5]
        row = await answers(node, pool.data_provider, "getReserveConfigurationData(address)", asked, *types)
        assert row[8:] == (True, reserve.symbol == "UETH")
        assert await read(node, pool.data_provider, "getPaused(address)", asked, "bool") is (reserve.symbol == "USDe")
        supplied = await answers(node, pool.data_provider, "getReserveData(address)", asked, *["uint256"] * 12)
        assert supplied[2] > 0


async def test_v3_has_ids_that_are_no_places_in_the_list(devnet: Devnet) -> None:
    node, pool = devnet.nodes["ethereum"], LEND_A_V3["ethereum"]
    types = f"({','.join(['(uint256)', *['uint128'] * 5, 'uint40', 'uint16', *['address'] * 4, *['uint128'] * 3])})"
    ids = []
    for reserve in pool.set_up.reserves:
        asked = [token_of(node.chain, reserve.symbol).address]
        ids.append((await read(node, pool.pool, "getReserveData(address)", asked, types))[7])
    assert ids == [0, *range(2, len(ids) + 1)]
    (bits,) = await read(node, pool.pool, "getUserConfiguration(address)", [known.VITALIK], "(uint256)")
    symbols = {number: reserve.symbol for number, reserve in zip(ids, pool.set_up.reserves, strict=True)}
    used = [symbols[number] for number in range(len(ids) + 1) if bits >> (2 * number + 1) & 1]
    borrowed = [symbols[number] for number in range(len(ids) + 1) if bits >> (2 * number) & 1]
    assert (used, borrowed) == (["WETH", "USDC", "LINK"], ["DAI"])


async def test_v3_lists_a_token_whose_symbol_is_no_string(devnet: Devnet) -> None:
    node, pool = devnet.nodes["ethereum"], LEND_A_V3["ethereum"]
    rows = await read(node, pool.data_provider, "getAllReservesTokens()", [], "(string,address)[]")
    assert ("MKR", known.MKR.lower()) in rows


@pytest.mark.parametrize("slug", LEND_A_V2)
async def test_v2_stands_at_its_addresses(full_devnet: Devnet, slug: str) -> None:
    node, pool = full_devnet.nodes[slug], LEND_A_V2[slug]
    for getter, place in (
        ("getLendingPool()", pool.pool),
        ("getLendingPoolConfigurator()", pool.configurator),
        ("getPriceOracle()", pool.oracle),
    ):
        assert await read(node, pool.provider, getter, [], "address") == place.lower()
    tokens = [token_of(node.chain, reserve.symbol) for reserve in pool.set_up.reserves]
    listed = await read(node, pool.pool, "getReservesList()", [], "address[]")
    assert list(listed) == [token.address.lower() for token in tokens]
    asked = [[token.address for token in tokens]]
    prices = await read(node, pool.oracle, "getAssetsPrices(address[])", asked, "uint256[]")
    for token, price in zip(tokens, prices, strict=True):
        in_dollars = (
            Decimal(price) / DOLLAR if slug == "avalanche" else Decimal(price) / WHOLE * Decimal(PRICES["WETH"])
        )
        assert round(in_dollars, 6) == round(Decimal(PRICES[token.symbol]), 6)


@pytest.mark.parametrize("slug", LEND_A_V2)
async def test_v2_positions_are_those_set_up(full_devnet: Devnet, slug: str) -> None:
    node, pool = full_devnet.nodes[slug], LEND_A_V2[slug]
    assert await account(node, pool, known.UNTOUCHED) == (0, 0, 0, 0, 0, NEVER)
    for supply in pool.set_up.supplies:
        at_first = known.units(token_of(node.chain, supply.symbol), supply.amount)
        now, _, _, collateral = await holding(node, pool, supply.symbol, supply.holder)
        assert at_first <= now < at_first * 2
        assert collateral is supply.collateral
    for debt in pool.set_up.debts:
        at_first = known.units(token_of(node.chain, debt.symbol), debt.amount)
        _, stable, variable, _ = await holding(node, pool, debt.symbol, debt.holder)
        assert at_first < (stable if debt.stable else variable) < at_first * 2
    collateral, owed, _, _, _, health = await account(node, pool, known.VITALIK)
    assert collateral > owed > 0
    assert health > WHOLE


async def test_v2_on_avalanche_counts_dollars_with_8_places(full_devnet: Devnet) -> None:
    collateral, owed, *_ = await account(full_devnet.nodes["avalanche"], LEND_A_V2["avalanche"], known.VITALIK)
    assert 5_000 * DOLLAR < collateral < 5_100 * DOLLAR  # two ether
    assert 1_500 * DOLLAR < owed < 1_600 * DOLLAR


async def test_v2_on_ethereum_has_every_case(devnet: Devnet) -> None:
    node, pool = devnet.nodes["ethereum"], LEND_A_V2["ethereum"]
    _, stable, variable, _ = await holding(node, pool, "DAI", known.VITALIK)
    assert 1_000 * WHOLE < stable < 1_100 * WHOLE
    assert 250 * WHOLE < variable < 275 * WHOLE
    types = [*["uint256"] * 5, *["bool"] * 5]
    for reserve in pool.set_up.reserves:
        asked = [token_of(node.chain, reserve.symbol).address]
        row = await answers(node, pool.data_provider, "getReserveConfigurationData(address)", asked, *types)
        assert (row[1], row[2], row[9]) == (reserve.ltv, reserve.threshold, reserve.frozen)
    assert (await holding(node, pool, "LINK", known.VITALIK))[0] >= 300 * WHOLE
    collateral, owed, left, _, _, health = await account(node, pool, known.BOB)
    assert WHOLE < owed < collateral < 2 * WHOLE  # in ether
    assert left == 0
    assert 0 < health < WHOLE
