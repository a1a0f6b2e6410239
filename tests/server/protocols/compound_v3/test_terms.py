"""What lend-b's readers keep of a market: proved by every read, renewed where it changed, missing without harm."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.contracts.address import checksum_address
from server.errors import UpstreamUnavailable
from server.protocols.compound_v3.terms import RateModel
from server.protocols.plan import ContractUnreadable
from tests.examples import examples
from tests.server.protocols.compound_v3.markets import (
    BALANCE,
    BEST,
    BORROW,
    FEED,
    LENDING,
    OTHER_FEED,
    SUPPLY,
    WAD,
    Markets,
    apy,
    contract_rate,
)
from tests.server.protocols.scripted import REVERTS, address

if TYPE_CHECKING:
    from server.contracts.calls import ContractCall, ContractOutcome


NEW_SUPPLY, NEW_BORROW = (8 * 10**17, 3, *SUPPLY[2:]), (*BORROW[:3], BORROW[3] // 2)


@pytest.mark.parametrize(("supply", "borrow"), [(NEW_SUPPLY, BORROW), (SUPPLY, NEW_BORROW), (NEW_SUPPLY, NEW_BORROW)])
async def test_another_rate_model_costs_one_request_once(supply: Any, borrow: Any) -> None:
    world = Markets("polygon")
    [market, other] = world.addresses
    before = await world.ask(LENDING, market)
    world.figures(market, 95 * 10**16)
    world.curves(market, supply, borrow)
    assert (await world.count(LENDING, other))[1] == 1
    row, requests = await world.count(LENDING, market)
    assert requests == 2
    assert row.supply_apy == pytest.approx(apy(contract_rate(supply, 95 * 10**16)), rel=1e-9)
    assert row.borrow_apy == pytest.approx(apy(contract_rate(borrow, 95 * 10**16)), rel=1e-9)
    assert row.tvl == before.tvl
    assert await world.count(LENDING, market) == (row, 1)
    assert (await world.count(BEST))[1] == 1


async def test_rate_models_of_several_markets_change_at_once() -> None:
    world = Markets("ethereum")
    await world.ask(BEST)
    for place, market in enumerate(world.addresses[1:4]):
        world.curves(market, (*SUPPLY[:1], 1_000 * (place + 1), *SUPPLY[2:]))
    rows, requests = await world.count(BEST)
    assert requests == 2
    for one in rows:
        assert one.row.apy == (await world.ask(LENDING, one.row.pool)).supply_apy
    assert len({one.row.apy for one in rows}) == 4


async def test_another_feed_is_asked_for_its_price_in_the_same_request() -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    await world.ask(BALANCE, market)
    world.put(market, "baseTokenPriceFeed()", "address", OTHER_FEED)
    world.price(market, {FEED: 2 * 10**8, OTHER_FEED: 5 * 10**8})
    row, requests = await world.count(BALANCE, market)
    assert requests == 2
    assert row.balance.usd == pytest.approx(12.345678 * 5)
    assert await world.count(BALANCE, market) == (row, 1)


async def test_another_asset_is_read_anew() -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    await world.ask(BALANCE, market)
    token = checksum_address(address(0xC0C0))
    world.token(token, "NEW", 18)
    world.put(market, "baseToken()", "address", token)
    world.put(market, "baseTokenPriceFeed()", "address", OTHER_FEED)
    world.price(market, {OTHER_FEED: 10**8})
    world.put(market, "balanceOf(address)", "uint256", 10**18)
    row = await world.ask(BALANCE, market)
    assert dict(row.balance.amounts) == {"NEW": 1.0}
    assert row.balance.usd == 1.0


async def test_a_market_that_computes_otherwise_is_no_answer() -> None:
    """Its parameters are what they were, its rates are not: whatever they are made of now, it is not known here."""
    world = Markets("polygon")
    [market, other] = world.addresses
    await world.ask(LENDING, market)
    world.put(market, "getBorrowRate(uint256)", "uint64", 77)
    with pytest.raises(ContractUnreadable, match=f"{market} on polygon does not compute interest by its own"):
        await world.ask(LENDING, market)
    broken, sound = await world.ask(BEST)
    assert math.isnan(broken.row.apy)
    assert (broken.row.pool, sound.row.pool) == (market, other)
    assert sound.row.apy > 0


@given(
    st.tuples(
        st.integers(0, 2**63),
        st.integers(0, 2**40),
        st.integers(0, 2**40),
        st.integers(0, 2**40),
    ),
    st.integers(0, 2**70),
)
def test_the_rate_is_the_contracts_to_the_unit(parameters: tuple[int, int, int, int], utilization: int) -> None:
    assert RateModel(*parameters).rate(utilization) == contract_rate(parameters, utilization)


@given(
    st.tuples(st.integers(1, 2 * WAD), *[st.integers(0, 2**40)] * 3),
    st.integers(0, 3),
    st.integers(1, 2**39),
    st.lists(st.integers(0, 4 * WAD), max_size=20),
)
def test_a_rate_model_with_one_other_parameter_shows_at_the_points(
    parameters: tuple[int, int, int, int], place: int, more: int, utilizations: list[int]
) -> None:
    """Either the kink differs, which is read by itself, or a value does, or the two say the same to a unit."""
    kept = RateModel(*parameters)
    other: Any = tuple(number + more * (i == place) for i, number in enumerate(parameters))
    is_seen = other[0] != kept.kink or any(contract_rate(other, point) != kept.rate(point) for point in kept.points)
    if not is_seen:
        assert place == 2
        for utilization in utilizations:
            true = Fraction(contract_rate(other, utilization))
            assert abs(true - kept.rate(utilization)) <= 1 + Fraction(utilization, kept.kink)
    # What governance may set is seen: slopes are percents per year, kinks above a tenth.
    if place != 2 or (kept.kink > WAD // 10 and more > 10):
        assert is_seen


@pytest.mark.parametrize("cold", [True, False])
async def test_a_market_that_does_not_answer_costs_the_others_nothing(cold: bool) -> None:
    world = Markets("polygon")
    [market, other] = world.addresses
    if not cold:
        await world.ask(BEST)
    there = dict(world.functions)
    world.functions = {key: value for key, value in there.items() if key[0] != market.lower()}
    with pytest.raises(ContractUnreadable, match=f"contract {market} on polygon .*no contract is there"):
        await world.ask(LENDING, market)
    assert (await world.count(LENDING, other))[1] == 1
    rows, requests = await world.count(BEST)
    assert requests == 1
    assert [math.isnan(one.row.apy) for one in rows] == [True, False]
    world.functions = there
    rows = await world.ask(BEST)
    assert [math.isnan(one.row.apy) for one in rows] == [False, False]
    assert (await world.count(LENDING, market))[1] == 1


@pytest.mark.parametrize("signature", ["symbol()", "decimals()"])
async def test_an_asset_that_does_not_say_what_it_is_holds_up_its_own_market_alone(signature: str) -> None:
    world = Markets("polygon")
    [market, other] = world.addresses
    token = world.base_of(market)
    world.remove(token, signature)
    for _ in range(2):
        with pytest.raises(UpstreamUnavailable, match=token):
            await world.ask(LENDING, market)
        assert (await world.count(LENDING, other))[1] == 1
    world.token(token, "T0", 6)
    assert (await world.ask(LENDING, market)).tvl == 2_000.0


async def test_an_asset_that_was_nonsense_for_a_moment_is_forgotten() -> None:
    world = Markets("polygon")
    [market, _] = world.addresses
    await world.ask(LENDING, market)
    world.put(market, "baseToken()", "address", address(0))
    world.put(market, "baseTokenPriceFeed()", "address", address(0))
    with pytest.raises(UpstreamUnavailable, match=f"token {address(0)} on polygon"):
        await world.ask(LENDING, market)
    world.put(market, "baseToken()", "address", world.base_of(market))
    world.put(market, "baseTokenPriceFeed()", "address", FEED)
    assert (await world.ask(LENDING, market)).tvl == 2_000.0


async def test_where_no_market_answers_there_is_no_list() -> None:
    world = Markets("polygon")
    for market in world.addresses:
        world.remove(market, "getUtilization()")
    with pytest.raises(ContractUnreadable, match="getUtilization"):
        await world.ask(BEST)


WORDS = (0, 1, 2**64 - 1, 2**64, 2**128, 2**255, 2**256 - 1)


@settings(max_examples=examples(40))
@given(
    kinds=st.lists(st.sampled_from(["nothing", "fails", "word", "cut"]), min_size=1, max_size=3),
    word=st.sampled_from(WORDS),
    every=st.integers(1, 25),
    first=st.integers(0, 25),
    is_warm=st.booleans(),
    reader=st.sampled_from(["lending", "balance", "best"]),
)
async def test_what_is_spoilt_is_an_answer_or_names_what_failed(
    kinds: list[str], word: int, every: int, first: int, is_warm: bool, reader: str
) -> None:
    world = Markets("optimism")
    market = world.addresses[-1]
    pool = None if reader == "best" else market
    asked: Any = {"lending": LENDING, "balance": BALANCE, "best": BEST}[reader]
    if is_warm:
        await world.ask(asked, pool)
    calls = [first]

    def spoil(call: ContractCall, outcome: ContractOutcome) -> ContractOutcome:
        calls[0] += 1
        if calls[0] % every:
            return outcome
        kind = kinds[calls[0] % len(kinds)]
        if kind == "fails":
            return REVERTS
        data = {"nothing": b"", "word": word.to_bytes(32, "big"), "cut": outcome.data[:31]}[kind]
        return outcome._replace(data=data)

    world.spoil = spoil
    try:
        found = await world.ask(asked, pool)
    except UpstreamUnavailable:
        return
    assert "inf" not in str(found)
