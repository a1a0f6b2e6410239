"""Edges of lend-b's yields: markets of every kind, feeds that do not answer, pools that are none, largest figures."""

from __future__ import annotations

import math
from datetime import UTC, timedelta
from decimal import Decimal
from typing import NamedTuple

import pytest

from server.catalog.feeds import load_price_table
from server.errors import NotFound
from server.prices import Price
from server.protocols.compound_v3.tables import market_addresses, unit_of
from server.protocols.compound_v3.yields import CHAINS
from server.protocols.plan import ContractUnreadable
from tests.server.protocols.compound_v3.markets import (
    BALANCE,
    BEST,
    BORROW,
    FEED,
    LENDING,
    NOON,
    NOW,
    SUPPLY,
    USDC,
    WAD,
    WALLET,
    WETH,
    Markets,
    apy,
    contract_rate,
)


async def test_rates_size_and_time_of_a_dollar_market() -> None:
    world = Markets("ethereum")
    row = await world.ask(LENDING, USDC)
    assert row.supply_apy == pytest.approx(apy(contract_rate(SUPPLY, WAD // 2)), rel=1e-9)
    assert row.borrow_apy == pytest.approx(apy(contract_rate(BORROW, WAD // 2)), rel=1e-9)
    assert (row.tvl, row.basis, row.block_height) == (2_000.0, 1, world.block)
    assert row.updated_at.ToDatetime(UTC) == NOON


async def test_a_market_in_ether_is_as_old_as_the_price_of_ether() -> None:
    world = Markets("ethereum")
    row = await world.ask(LENDING, WETH)
    assert row.tvl == 1_000 * 2 * 3_000
    assert row.updated_at.ToDatetime(UTC) == NOON - timedelta(seconds=60)
    assert world.own.asked == []


async def test_a_cold_answer_takes_three_requests_and_warms_the_chain() -> None:
    world = Markets("ethereum")
    assert (await world.count(LENDING, USDC))[1] == 3
    for pool in world.addresses:
        assert (await world.count(LENDING, pool))[1] == 1
        assert (await world.count(BALANCE, pool))[1] == 1
    rows, requests = await world.count(BEST)
    assert requests == 1
    assert [one.row.pool for one in rows] == world.addresses


async def test_each_row_of_all_is_that_of_its_own_market() -> None:
    world = Markets("ethereum")
    for place, market in enumerate(world.addresses):
        world.figures(market, WAD * place // 5, 10**6 * (place + 1))
    for place, (row, symbols) in enumerate(await world.ask(BEST)):
        alone = await world.ask(LENDING, row.pool)
        assert (row.apy, row.tvl, row.updated_at) == (alone.supply_apy, alone.tvl, alone.updated_at)
        assert row.block_height == alone.block_height
        assert symbols == (f"T{place}",)
        assert (row.chain, row.protocol, row.type) == ("", 0, 0)


@pytest.mark.parametrize("utilization", [0, 1, 9 * 10**17, 9 * 10**17 + 1, WAD, 2 * WAD])
async def test_utilisation_from_none_to_above_all(utilization: int) -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    world.figures(market, utilization)
    row = await world.ask(LENDING, market)
    assert row.supply_apy == pytest.approx(apy(contract_rate(SUPPLY, utilization)), rel=1e-9, abs=1e-12)
    assert row.borrow_apy == pytest.approx(apy(contract_rate(BORROW, utilization)), rel=1e-9)


async def test_an_empty_market_has_rates_of_nothing_and_no_size() -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    world.figures(market, 0, 0)
    row = await world.ask(LENDING, market)
    assert (row.supply_apy, row.tvl) == (0.0, 0.0)
    assert row.HasField("supply_apy")
    assert row.HasField("tvl")
    assert row.borrow_apy == pytest.approx(apy(BORROW[1]), rel=1e-9)


@pytest.mark.parametrize("price", [0, None])
async def test_without_the_markets_own_price_values_are_unknown_and_rates_are_not(price: int | None) -> None:
    world = Markets("ethereum")
    world.price(USDC, {} if price is None else {FEED: price})
    row = await world.ask(LENDING, USDC)
    assert not row.HasField("tvl")
    assert row.supply_apy > 0
    balance = await world.ask(BALANCE, USDC)
    assert dict(balance.balance.amounts) == {"T0": 12.345678}
    assert not balance.balance.HasField("usd")
    [first, second, *_] = await world.ask(BEST)
    assert not first.row.HasField("tvl")
    assert first.row.apy == row.supply_apy
    assert second.row.tvl == 6_000_000
    assert world.own.asked == []


class Dead(NamedTuple):
    """A way in which the feed of ether is none."""

    answer: int = 3_000 * 10**8
    at: int = NOW - 60
    decimals: int = 8


DEAD = {
    "zero": Dead(answer=0),
    "negative": Dead(answer=-1),
    "an hour and more late": Dead(at=NOW - 7_201),
    "no time": Dead(at=0),
    "a time to come": Dead(at=NOW + 601),
    "a time beyond the calendar": Dead(at=2**255),
    "decimals beyond reason": Dead(decimals=37),
}


@pytest.mark.parametrize("case", [*DEAD, "reverts", "no code"])
async def test_a_feed_of_the_unit_that_is_not_live_leaves_it_to_the_gateways_own_price(case: str) -> None:
    world = Markets("ethereum")
    [feed] = world.feeds("ETH")
    if case in DEAD:
        world.feed("ETH", *DEAD[case])
    elif case == "reverts":
        world.remove(feed, "latestRoundData()")
    else:
        world.functions = {key: value for key, value in world.functions.items() if key[0] != feed.lower()}
    earlier = NOON - timedelta(minutes=9)
    for own in (None, Price(Decimal("2999.5"), earlier, ("x",))):
        world.own.prices = {} if own is None else {world.base_of(WETH): own}
        row, balance = await world.ask(LENDING, WETH), await world.ask(BALANCE, WETH)
        # The own price is of the asset itself: what the market makes of it does not count.
        assert (row.tvl if row.HasField("tvl") else None) == (None if own is None else 2_999_500.0)
        assert balance.balance.HasField("usd") is (own is not None)
        assert row.updated_at.ToDatetime(UTC) == (NOON if own is None else earlier)
        assert row.supply_apy > 0
    assert set(world.own.asked) == {("ethereum", world.base_of(WETH))}
    _, requests = await world.count(LENDING, WETH)
    assert requests == 1


@pytest.mark.parametrize(("since", "answer", "runs"), [(10**6, 0, True), (10**6, 1, False), (3_599, 0, False)])
async def test_behind_a_sequencer_that_does_not_run_no_feed_is_live(since: int, answer: int, runs: bool) -> None:
    world = Markets("base")
    [weth] = [one for one in world.addresses if unit_of("base", one) == "ETH"]
    world.round(load_price_table().sequencers["base"].address, answer, NOW - since)
    row = await world.ask(LENDING, weth)
    assert row.HasField("tvl") is runs
    assert world.own.asked == ([] if runs else [("base", world.base_of(weth))])


@pytest.mark.parametrize("chain", CHAINS)
async def test_a_pool_is_a_market_of_its_chain(chain: str) -> None:
    world = Markets(chain)
    others = {one for slug in CHAINS for one in market_addresses(slug)} - set(world.addresses)
    for pool in (*others, WALLET, "0x0000000000000000000000000000000000000000"):
        for reader in (LENDING, BALANCE):
            with pytest.raises(NotFound, match=f"no such pool of lend-b on {chain}"):
                await world.ask(reader, pool)
    assert world.requests == []
    first = world.addresses[0]
    near = first[:-1] + ("0" if first[-1] != "0" else "1")
    with pytest.raises(NotFound, match=f"nearest .*{first}"):
        await world.ask(LENDING, near)


async def test_a_pool_is_no_market_when_the_chain_is_warm_either() -> None:
    world = Markets("polygon")
    await world.ask(BEST)
    with pytest.raises(NotFound):
        await world.ask(LENDING, WALLET)


async def test_one_address_is_two_markets() -> None:
    shared = set(market_addresses("arbitrum")) & set(market_addresses("base"))
    assert shared == {"0x9c4ec768c28520B50860ea7a15bd7213a9fF58bf"}
    assert {unit_of(chain, one) for chain in ("arbitrum", "base") for one in shared} == {"USD"}


@pytest.mark.parametrize("symbol", ["USD", "usd", "UsD"])
async def test_an_asset_called_usd_stands_under_its_address(symbol: str) -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    world.token(world.base_of(market), symbol, 6)
    found = (await world.ask(BALANCE, market)).balance
    assert dict(found.amounts) == {world.base_of(market): 12.345678}
    assert found.usd == pytest.approx(24.691356)


async def test_a_wallet_with_nothing_is_a_row_of_zeros() -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    world.put(market, "balanceOf(address)", "uint256", 0)
    found = (await world.ask(BALANCE, market)).balance
    assert dict(found.amounts) == {"T0": 0.0}
    assert found.HasField("usd")
    assert found.usd == 0.0


async def test_the_largest_numbers_are_answered_or_refused() -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    world.figures(market, WAD // 2, 2**256 - 1)
    world.price(market, {FEED: 2**256 - 1})
    assert math.isfinite((await world.ask(LENDING, market)).tvl)
    world.figures(market, 2**256 - 1)
    with pytest.raises(ContractUnreadable, match="figures that cannot be"):
        await world.ask(LENDING, market)
    rows = await world.ask(BEST)
    assert [math.isnan(one.row.apy) for one in rows] == [True, False]
