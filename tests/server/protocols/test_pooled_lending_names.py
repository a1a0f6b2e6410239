"""How pools of lend-a and lend-d are named: the native asset before a bridged one, words for symbols, strangers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.protocols.pooled_lending import name_assets
from server.protocols.yields import PoolForm
from tests.server.protocols.pooled_market import (
    BALANCE,
    BRIDGED,
    DOLLAR,
    LENDING,
    NATIVE,
    OTHERS,
    USDT0,
    WPOL,
    Reserve,
    hyper,
    polygon,
)


@pytest.mark.parametrize("asked", ["USDC", "usdc", "uSdC"])
async def test_of_two_that_call_themselves_the_same_the_native_one_is_meant(asked: str) -> None:
    row = await polygon().ask(LENDING, asked)
    assert row.tvl == 222
    assert row.supply_apy == pytest.approx(math.expm1(0.02) * 100, rel=1e-8)


@pytest.mark.parametrize("asked", ["USDC.e", "usdc.E"])
async def test_the_bridged_one_can_be_named_too(asked: str) -> None:
    market = polygon()
    assert (await market.ask(LENDING, asked)).tvl == 111
    market.reserves[BRIDGED].held = 7
    assert dict((await market.ask(BALANCE, asked)).balance.amounts) == {"USDC.e": 7e-6}


async def test_every_pool_of_the_comparison_can_be_asked_for() -> None:
    market = polygon()
    found = await market.best()
    assert list(found) == ["USDC.e", "WPOL", "USDC"]
    for pool, one in found.items():
        row = await market.ask(LENDING, pool)
        assert (row.supply_apy, row.tvl, row.updated_at) == (one.row.apy, one.row.tvl, one.row.updated_at)
        assert (row.block_height, one.row.symbol) == (one.row.block_height, pool)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_order_of_the_list_does_not_decide(order: tuple[int, int]) -> None:
    pair = [(BRIDGED, "USDC"), (NATIVE, "USDC")]
    assets = name_assets("polygon", dict(pair[place] for place in order), PoolForm.SYMBOL)
    assert {asset.address: asset.symbols for asset in assets} == {BRIDGED: ("USDC.e",), NATIVE: ("USDC",)}


def test_a_bridged_one_that_stands_alone_is_not_passed_off_as_native() -> None:
    [asset] = name_assets("polygon", {BRIDGED: "USDC.e"}, PoolForm.SYMBOL)
    assert asset.pools == ("USDC.e",)


def test_what_the_catalogue_calls_an_asset_names_it_too() -> None:
    """The contract's own symbol may have letters that no keyboard has."""
    assets = name_assets("polygon", {USDT0: "USD₮0", WPOL: "WPOL"}, PoolForm.SYMBOL)
    assert [asset.pools for asset in assets] == [("USD₮0", "USDT0", "USDT"), ("WPOL",)]


def test_an_assets_own_symbol_goes_before_what_the_catalogue_calls_another() -> None:
    assets = name_assets("polygon", {USDT0: "USD₮0", OTHERS[0]: "USDT"}, PoolForm.SYMBOL)
    assert [asset.pools for asset in assets] == [("USD₮0", "USDT0"), ("USDT",)]


def test_two_strangers_of_one_symbol() -> None:
    """The first has it; the other has a pool where pools go by address, and none where they go by symbol."""
    named = {OTHERS[0]: "FOO", OTHERS[1]: "foo"}
    by_symbol = name_assets("polygon", named, PoolForm.SYMBOL)
    assert [(asset.pools, asset.label) for asset in by_symbol] == [(("FOO",), "FOO"), ((), "foo")]
    by_address = name_assets("hyperliquid", named, PoolForm.ADDRESS)
    assert [(asset.pools, asset.label) for asset in by_address] == [((OTHERS[0],), "FOO"), ((OTHERS[1],), "foo")]


@given(
    st.dictionaries(
        st.sampled_from([BRIDGED, NATIVE, USDT0, WPOL, *OTHERS[:4]]),
        st.one_of(
            st.sampled_from(["USDC", "usdc", "USDC.e", "USDT", "USDT0", "", "WPOL", "x" * 41]), st.text(max_size=5)
        ),
    )
)
def test_no_name_leads_to_two_pools(named: dict[str, str]) -> None:
    assets = name_assets("polygon", named, PoolForm.SYMBOL)
    assert [asset.address for asset in assets] == list(named)
    pools = [pool.casefold() for asset in assets for pool in asset.pools]
    assert len(pools) == len(set(pools))
    # Nobody goes without a name because of the order: a readable symbol always leads somewhere.
    for symbol in named.values():
        if 0 < len(symbol) <= 40 and symbol.isprintable() and symbol.strip() == symbol:
            assert symbol.casefold() in pools


async def test_symbols_may_be_words_and_a_token_without_one_takes_no_other_with_it() -> None:
    market = polygon(Reserve(OTHERS[0], b"MKR", 18), Reserve(OTHERS[1], None), Reserve(WPOL, "WPOL"))
    assert dict((await market.ask(BALANCE, "mkr")).balance.amounts) == {"MKR": 0}
    assert list(await market.best()) == ["MKR", "WPOL"]
    nameless = hyper(Reserve(OTHERS[0], None))
    assert dict((await nameless.ask(BALANCE, OTHERS[0])).balance.amounts) == {OTHERS[0]: 0}
    assert (await nameless.best())[OTHERS[0]].symbols == ()


@pytest.mark.parametrize("symbol", ["USD", "usd", "Usd"])
async def test_an_asset_that_is_called_usd_stands_under_its_address(symbol: str) -> None:
    market = hyper(Reserve(OTHERS[0], symbol, held=2_000_000, price=3 * DOLLAR))
    balance = (await market.ask(BALANCE, OTHERS[0])).balance
    assert (dict(balance.amounts), balance.usd) == ({OTHERS[0]: 2}, 6)
    assert dict((await hyper(Reserve(OTHERS[0], "USD+")).ask(BALANCE, OTHERS[0])).balance.amounts) == {"USD+": 0}
