"""Yields of lend-a and lend-d over scripted markets: rates, sizes, what is missing, what governance changes."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.contracts.address import checksum_address
from server.contracts.calls import ContractOutcome
from server.errors import NotFound, PriceUnavailable, UpstreamUnavailable
from server.protocols import pooled_yields
from server.protocols.plan import ContractUnreadable
from server.protocols.yields import apy_of_apr
from tests.server.protocols.pooled_market import (
    BALANCE,
    BRIDGED,
    DOLLAR,
    LENDING,
    NATIVE,
    NOBODY,
    OTHERS,
    PRICE,
    RAY,
    RPCS,
    TIME,
    WPOL,
    Market,
    Reserve,
    alone,
    hyper,
    polygon,
)
from tests.server.protocols.scripted import REVERTS

# Figures


async def test_rates_size_and_time() -> None:
    row = await hyper().ask(LENDING, OTHERS[0])
    assert row.supply_apy == pytest.approx(math.expm1(0.03) * 100, rel=1e-8)
    assert row.borrow_apy == pytest.approx(math.expm1(0.05) * 100, rel=1e-8)
    assert (row.tvl, row.updated_at.seconds, row.block_height, row.basis) == (116.25, TIME, 100, 1)


def exact_apy(rate: int) -> Decimal:
    """The rate of a second, in so many digits that the power loses none that counts."""
    with localcontext() as context:
        context.prec = 60
        return ((1 + Decimal(rate) / RAY / 31_536_000) ** 31_536_000 - 1) * 100


@given(st.one_of(st.integers(0, 10**24), st.integers(0, RAY), st.integers(0, 20 * RAY)))
def test_apy_is_the_power_of_a_second(rate: int) -> None:
    assert apy_of_apr(rate / RAY) == pytest.approx(float(exact_apy(rate)), rel=1e-13, abs=1e-300)


@given(st.integers(0, 10**33), st.integers(0, 24), st.integers(1, 10**16), st.sampled_from([DOLLAR, 10**18]))
async def test_size_is_exact_to_the_last_digit_of_a_float(supplied: int, decimals: int, price: int, unit: int) -> None:
    market = alone(Reserve(OTHERS[0], "X", decimals, supplied=supplied, held=supplied, price=price))
    market.unit = unit
    market.appoint(market.oracle, market.data_provider)
    exact = Decimal(supplied * price) / (10**decimals * unit)
    with localcontext() as context:
        context.prec = 90
        exact = Decimal(supplied * price) / (10**decimals * unit)
    assert Decimal((await market.ask(LENDING, "X")).tvl) == Decimal(float(exact))
    assert (await market.ask(BALANCE, "X")).balance.usd == float(exact)
    assert (await market.ask(PRICE, "X")).price.usd == price / unit


async def test_nothing_supplied_and_matured_or_minted_assets_are_figures_like_others() -> None:
    """Supply that is closed earns nothing and is nothing; borrowing goes on. A matured claim has its last price."""
    minted = Reserve(OTHERS[0], "GHO", 18, lent_at=0, owed_at=6 * RAY // 100)
    matured = Reserve(OTHERS[1], "PT-sUSDE-25SEP2025", 18, lent_at=0, owed_at=0, supplied=10**18, is_frozen=True)
    market = polygon(minted, matured)
    row = await market.ask(LENDING, "gho")
    assert (row.supply_apy, row.HasField("supply_apy"), row.tvl, row.HasField("tvl")) == (0, True, 0, True)
    assert row.borrow_apy == pytest.approx(math.expm1(0.06) * 100, rel=1e-8)
    row = await market.ask(LENDING, "pt-susde-25sep2025")
    assert (row.supply_apy, row.borrow_apy, row.tvl) == (0, 0, 1)


async def test_frozen_reserves_have_rates() -> None:
    row = await hyper(Reserve(OTHERS[0], "X", supplied=5_000_000, is_frozen=True)).ask(LENDING, OTHERS[0])
    assert (row.tvl, row.supply_apy > 3) == (5, True)


async def test_a_debt_is_not_subtracted() -> None:
    balance = (await polygon().ask(BALANCE, "WPOL")).balance
    assert (dict(balance.amounts), balance.usd) == ({"WPOL": 2}, 0.5)


async def test_a_wallet_with_nothing_is_zeros() -> None:
    for price in (DOLLAR, None, 0):
        balance = (await hyper(Reserve(OTHERS[0], "X", price=price)).ask(BALANCE, OTHERS[0])).balance
        assert (dict(balance.amounts), balance.usd, balance.HasField("usd")) == ({"X": 0}, 0, True)


@pytest.mark.parametrize("price", [None, 0])
async def test_without_a_price_values_are_null_and_the_price_is_an_error(price: int | None) -> None:
    market = alone(
        Reserve(OTHERS[0], "X", supplied=10**6, held=10**6, price=price), Reserve(OTHERS[1], "Y", supplied=10**6)
    )
    await market.ask(LENDING, "Y")
    row, requests = await market.count(LENDING, "X")
    assert (row.HasField("tvl"), row.supply_apy > 3, requests) == (False, True, 1)
    balance = (await market.ask(BALANCE, "X")).balance
    assert (dict(balance.amounts), balance.HasField("usd")) == ({"X": 1}, False)
    with pytest.raises(PriceUnavailable, match="the oracle of lend-a on polygon has no price of X") as refused:
        await market.ask(PRICE, "X")
    assert refused.value.retry_after_ms
    del market.requests[:]
    found = await market.best()
    assert (found["X"].row.HasField("tvl"), found["Y"].row.tvl, len(market.requests)) == (False, 1, 1)


async def test_one_feed_that_reverts_in_a_large_market_costs_one_request_of_the_comparison(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pooled_yields, "_MOST_ONE_BY_ONE", 1)
    market = hyper(Reserve(OTHERS[0], "X", supplied=10**6), Reserve(OTHERS[1], "Y", supplied=10**6, price=2 * DOLLAR))
    assert [one.row.tvl for one in (await market.best()).values()] == [1, 2]
    market.reserves[OTHERS[0]].price = None
    del market.requests[:]
    found = await market.best()
    assert (found[OTHERS[0]].row.HasField("tvl"), found[OTHERS[1]].row.tvl, len(market.requests)) == (False, 2, 2)


# What is not there


@pytest.mark.parametrize("rpc", RPCS)
async def test_an_unknown_pool_names_the_nearest(rpc: str) -> None:
    market = polygon()
    with pytest.raises(NotFound, match=r"no such pool of lend-a on polygon; the nearest are .*USDC") as refused:
        await market.ask(rpc, "USDCC")
    assert refused.value.field == "pool"
    if rpc == PRICE:
        return
    known = hyper()
    wrong = OTHERS[0][:-2] + "99"
    with pytest.raises(NotFound, match=rf"no such pool of lend-d on hyperliquid; the nearest are .*{OTHERS[0]}"):
        await known.ask(rpc, wrong)
    # It costs a look whether the list is still the same; the token is not asked for anything.
    del known.requests[:]
    with pytest.raises(NotFound):
        await known.ask(rpc, wrong)
    assert len(known.requests) == 1


@pytest.mark.parametrize("rpc", RPCS)
async def test_a_reserve_that_is_not_active_is_no_pool(rpc: str) -> None:
    market = polygon()
    await market.ask(rpc, "WPOL")
    market.reserves[WPOL].is_active = False
    with pytest.raises(NotFound, match="no such pool") as refused:
        await market.ask(rpc, "WPOL")
    assert "WPOL" not in refused.value.message
    assert list(await market.best()) == ["USDC.e", "USDC"]


async def test_a_market_without_reserves() -> None:
    market = hyper()
    market.list()
    with pytest.raises(NotFound):
        await market.ask(LENDING, OTHERS[0])
    assert await market.best() == {}


# What governance changes


@pytest.mark.parametrize("rpc", RPCS)
async def test_the_first_read_takes_three_requests_and_each_later_one_a_single_request(rpc: str) -> None:
    market = polygon()
    assert (await market.count(rpc, "USDC"))[1] == 3
    for other in RPCS:
        assert (await market.count(other, "wpol"))[1] == 1
    del market.requests[:]
    await market.best()
    assert len(market.requests) == 1
    # One group, of which all is read at one block.
    assert len(market.requests[0]) == 1


async def test_a_reserve_that_was_listed_since_is_found_at_once() -> None:
    market = polygon()
    await market.ask(LENDING, "USDC")
    market.list(*market.reserves.values(), Reserve(OTHERS[0], "NEW", supplied=9_000_000))
    row, requests = await market.count(LENDING, "NEW")
    assert (row.tvl, requests) == (9, 4)
    assert (await market.count(BALANCE, "NEW"))[1] == 1
    assert "NEW" in await market.best()


async def test_a_native_one_that_is_listed_after_the_bridged_one_takes_its_name() -> None:
    bridged, native = Reserve(BRIDGED, "USDC", supplied=1_000_000), Reserve(NATIVE, "USDC", supplied=2_000_000)
    market = polygon(bridged)
    assert (await market.ask(LENDING, "USDC")).tvl == 1
    market.list(bridged, native)
    assert (await market.ask(LENDING, "USDC")).tvl == 2
    assert (await market.ask(LENDING, "USDC.e")).tvl == 1


async def test_a_reserve_that_was_dropped_is_gone_at_once() -> None:
    market = polygon()
    await market.ask(LENDING, "WPOL")
    market.list(market.reserves[NATIVE])
    with pytest.raises(NotFound):
        await market.ask(LENDING, "WPOL")
    assert list(await market.best()) == ["USDC"]


async def test_an_oracle_of_another_unit_and_another_data_provider_are_read_at_once() -> None:
    market = alone()
    assert (await market.ask(PRICE, "X")).price.usd == 38.75
    market.unit, market.reserves[OTHERS[0]].price = 10**18, 4 * 10**19
    market.appoint(OTHERS[-1], OTHERS[-2])
    row, requests = await market.count(PRICE, "X")
    assert (row.price.usd, requests) == (40, 4)
    assert (await market.ask(LENDING, "X")).tvl == 120
    assert (await market.count(PRICE, "X"))[1] == 1


async def test_a_registry_without_a_data_provider_leaves_the_one_that_is_known() -> None:
    market = hyper()
    market.appoint(market.oracle, NOBODY)
    assert (await market.ask(LENDING, OTHERS[0])).tvl == 116.25


# What cannot be


async def test_contracts_that_are_not_there_are_named() -> None:
    market = polygon()
    market.functions.clear()
    with pytest.raises(ContractUnreadable, match=f"getReservesList of the contract {market.place.pool} on polygon"):
        await market.ask(LENDING, "USDC")


def spoiled(market: Market, asset: str, member: int, value: int) -> None:
    """Have the data provider return another word for one reserve."""
    own = market._data if member >= 10 else market._configuration

    def answer(data: bytes) -> ContractOutcome:
        found = own(data)
        if checksum_address("0x" + data[12:32].hex()) != asset:
            return found
        at = 32 * (member % 10)
        return ContractOutcome(True, found.data[:at] + value.to_bytes(32, "big") + found.data[at + 32 :])

    name = "getReserveData(address)" if member >= 10 else "getReserveConfigurationData(address)"
    market.put_raw(market.data_provider, name, answer)


@pytest.mark.parametrize(
    ("member", "value"),
    [(0, 2**256 - 1), (0, 256), (8, 2)],
    ids=["decimals without end", "decimals of more than a byte", "a flag that is none"],
)
@pytest.mark.parametrize("rpc", RPCS)
async def test_settings_that_cannot_be_are_no_answer(rpc: str, member: int, value: int) -> None:
    market = alone()
    spoiled(market, OTHERS[0], member, value)
    with pytest.raises(ContractUnreadable):
        await market.ask(rpc, "X")
    assert list(await market.best()) == ["Y"]


async def test_a_rate_beyond_all_numbers_is_no_answer_and_takes_no_other_with_it() -> None:
    market = hyper()
    market.reserves[OTHERS[0]].lent_at = 2**256 - 1
    with pytest.raises(ContractUnreadable, match="figures that cannot be"):
        await market.ask(LENDING, OTHERS[0])
    found = await market.best()
    assert (found[OTHERS[0]].row.apy, found[OTHERS[1]].row.apy < 4) == (math.inf, True)


async def test_a_reserve_that_does_not_answer_takes_no_other_with_it_but_all_of_them_are_an_error() -> None:
    market = hyper()
    silent = market.reserves[OTHERS[0]]
    market.put_raw(
        market.data_provider,
        "getReserveData(address)",
        lambda data: REVERTS if market._of(data) is silent else market._data(data),
    )
    with pytest.raises(ContractUnreadable, match="getReserveData"):
        await market.ask(LENDING, OTHERS[0])
    assert list(await market.best()) == [OTHERS[1]]
    market.remove(market.data_provider, "getReserveData(address)")
    with pytest.raises(ContractUnreadable, match="getReserveData"):
        await market.best()


@pytest.mark.parametrize("rpc", RPCS)
@given(data=st.data())
async def test_whatever_contracts_return_it_is_an_answer_or_names_what_failed(rpc: str, data: st.DataObject) -> None:
    """One word of one answer is replaced, or the answer is cut."""
    market = alone()
    at, word = data.draw(st.integers(0, 12)), data.draw(st.integers(0, 2**256 - 1))
    cut, which = data.draw(st.booleans()), data.draw(st.integers(0, 12))
    seen = 0

    def spoil(_: Any, outcome: ContractOutcome) -> ContractOutcome:
        nonlocal seen
        seen += 1
        if seen != which:
            return outcome
        if cut:
            return ContractOutcome(outcome.succeeded, outcome.data[: at * 7])
        return ContractOutcome(
            outcome.succeeded, outcome.data[: 32 * at] + word.to_bytes(32, "big") + outcome.data[32 * at + 32 :]
        )

    market.spoil = spoil
    try:
        row = await market.ask(rpc, "X")
    except (UpstreamUnavailable, PriceUnavailable, NotFound):
        return
    assert row.block_height == 100
