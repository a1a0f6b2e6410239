"""The lend-b markets of the local chains stand at their addresses and hold what known_lending_b.py sets up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_abi.abi import decode

from devnet import known
from devnet.evm.calls import encode_call, to_hex
from devnet.evm.treasury import token_of
from devnet.known_lending_b import BROKEN, COMPTROLLER, LEND_B_V2, LEND_B_V3, SEVENTEEN, price_feed
from devnet.local_chain import NodeError
from tests.e2e.devnet_reads import call_raw, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devnet.evm.node import Node
    from devnet.known_lending_b import Comet
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet
MARKETS = [(slug, place) for slug, markets in LEND_B_V3.items() for place in range(len(markets))]
BASIC = ("int104", "uint64", "uint64", "uint16", "uint8")
ASSET = "(uint8,address,address,uint64,uint64,uint64,uint64,uint128)"
WHOLE = 10**18


async def answers(node: Node, to: str, signature: str, arguments: list[object], *types: str) -> Any:
    """The decoded answer of several values."""
    return decode(types, await call_raw(node, to, encode_call(signature, arguments)))


async def assets_in(node: Node, market: Comet, holder: str) -> list[str]:
    """The collaterals that a wallet has, by the bits that the market keeps."""
    _, _, _, low, high = await answers(node, market.address, "userBasic(address)", [holder], *BASIC)
    bits = low | high << 16
    return [symbol for offset, symbol in enumerate(market.collaterals) if bits >> offset & 1]


def held_by(market: Comet, holder: str) -> Iterator[str]:
    """The collaterals that a wallet was given, in the order of their offsets."""
    return (symbol for symbol in market.collaterals if (holder, symbol) in market.held)


def test_there_are_22_markets_on_6_chains() -> None:
    assert len(MARKETS) == 22
    assert len(LEND_B_V3) == 6
    assert len(set(SEVENTEEN)) == 17


@pytest.mark.parametrize(("slug", "place"), MARKETS)
async def test_a_v3_market_holds_what_is_set_up(full_devnet: Devnet, slug: str, place: int) -> None:
    node, market = full_devnet.nodes[slug], LEND_B_V3[slug][place]
    base = token_of(node.chain, market.base)
    assert await read(node, market.address, "symbol()", [], "string") == market.symbol
    assert await read(node, market.address, "name()", [], "string") == market.name
    assert await read(node, market.address, "decimals()", [], "uint8") == base.decimals
    assert await read(node, market.address, "baseToken()", [], "address") == base.address.lower()
    assert await read(node, market.address, "numAssets()", [], "uint8") == len(market.collaterals)
    for offset, symbol in enumerate(market.collaterals):
        info = await read(node, market.address, "getAssetInfo(uint8)", [offset], ASSET)
        token = token_of(node.chain, symbol)
        assert info[:4] == (
            offset,
            token.address.lower(),
            price_feed(symbol, market.quoted).lower(),
            10**token.decimals,
        )
    for holder, millionths in market.supplies.items():
        at_first = known.units(base, millionths)
        now = await read(node, market.address, "balanceOf(address)", [holder], "uint256")
        assert at_first - 2 <= now < at_first * 2
        assert await read(node, market.address, "borrowBalanceOf(address)", [holder], "uint256") == 0
        assert await read(node, market.address, "isLiquidatable(address)", [holder], "bool") is False
    for holder, millionths in market.debts.items():
        at_first = known.units(base, millionths)
        now = await read(node, market.address, "borrowBalanceOf(address)", [holder], "uint256")
        assert at_first <= now < at_first * 2
        assert await read(node, market.address, "balanceOf(address)", [holder], "uint256") == 0
    for (holder, symbol), millionths in market.held.items():
        token = token_of(node.chain, symbol)
        row = await answers(
            node, market.address, "userCollateral(address,address)", [holder, token.address], "uint128", "uint128"
        )
        assert row == (known.units(token, millionths), 0)
        assert await assets_in(node, market, holder) == list(held_by(market, holder))
    supplied = await read(node, market.address, "totalSupply()", [], "uint256")
    borrowed = await read(node, market.address, "totalBorrow()", [], "uint256")
    assert supplied > borrowed > 0
    assert await read(node, base.address, "balanceOf(address)", [market.address], "uint256") > 0


async def test_a_v3_market_has_17_collaterals_and_one_beyond_the_first_word(devnet: Devnet) -> None:
    node, market = devnet.nodes["ethereum"], LEND_B_V3["ethereum"][0]
    assert market.collaterals == SEVENTEEN
    _, _, _, low, high = await answers(node, market.address, "userBasic(address)", [known.VITALIK], *BASIC)
    assert (low, high) == (1, 1)
    with pytest.raises(NodeError, match="revert"):
        await call_raw(node, market.address, encode_call("getAssetInfo(uint8)", [17]))


async def test_v3_has_a_loan_to_liquidate_and_one_without_a_price(devnet: Devnet) -> None:
    node = devnet.nodes["ethereum"]
    _, ether, tether, *_ = LEND_B_V3["ethereum"]
    assert await read(node, tether.address, "isLiquidatable(address)", [known.BOB], "bool") is True
    assert await read(node, ether.address, "isLiquidatable(address)", [known.VITALIK], "bool") is False
    with pytest.raises(NodeError, match="revert"):
        await call_raw(node, ether.address, encode_call("isLiquidatable(address)", [known.BOB]))
    with pytest.raises(NodeError, match="revert"):
        await call_raw(node, ether.address, encode_call("getPrice(address)", [price_feed(*BROKEN)]))


async def test_a_v3_feed_can_be_made_to_fail(devnet: Devnet) -> None:
    node, market = devnet.nodes["ethereum"], LEND_B_V3["ethereum"][1]
    feed = price_feed("wstETH", market.quoted)
    before = await node.call("evm_snapshot")
    try:
        transaction = {"from": known.DEVELOPER, "to": feed, "data": to_hex(encode_call("updateAnswer(int256)", [0]))}
        await node.call("eth_sendTransaction", transaction)
        await node.call("evm_mine")
        with pytest.raises(NodeError, match="revert"):
            await call_raw(node, market.address, encode_call("isLiquidatable(address)", [known.VITALIK]))
    finally:
        await node.call("evm_revert", before)
    assert await read(node, market.address, "isLiquidatable(address)", [known.VITALIK], "bool") is False


async def test_v3_accrues_interest_as_the_original_does(devnet: Devnet) -> None:
    """From the stored totals and the published formula, against what the contract answers for now."""
    node, market = devnet.nodes["ethereum"], LEND_B_V3["ethereum"][2]
    totals = ["uint64", "uint64", "uint64", "uint64", "uint104", "uint104", "uint40", "uint8"]
    supply_index, borrow_index, _, _, supplied, borrowed, touched, _ = await answers(
        node, market.address, "totalsBasic()", [], *totals
    )
    now = int((await node.call("eth_getBlockByNumber", "latest", False))["timestamp"], 16)
    used = (borrowed * borrow_index // 10**15) * WHOLE // (supplied * supply_index // 10**15)
    assert await read(node, market.address, "getUtilization()", [], "uint256") == used > WHOLE // 2
    low, base = 28 * 10**15 // 31_536_000, 15 * 10**15 // 31_536_000
    rate = base + low * used // WHOLE
    assert await read(node, market.address, "getBorrowRate(uint256)", [used], "uint64") == rate
    index = borrow_index + borrow_index * (rate * (now - touched)) // WHOLE
    principal, *_ = await answers(node, market.address, "userBasic(address)", [known.BOB], *BASIC)
    owed = await read(node, market.address, "borrowBalanceOf(address)", [known.BOB], "uint256")
    assert owed == -principal * index // 10**15
    assert now > touched


async def test_v2_markets_hold_what_is_set_up(devnet: Devnet) -> None:
    node = devnet.nodes["ethereum"]
    listed = await read(node, COMPTROLLER, "getAllMarkets()", [], "address[]")
    assert list(listed) == [market.address.lower() for market in LEND_B_V2]
    for market in LEND_B_V2:
        native = market.underlying == "ETH"
        places = 18 if native else token_of(node.chain, market.underlying).decimals
        assert await read(node, market.address, "symbol()", [], "string") == market.symbol
        assert await read(node, market.address, "decimals()", [], "uint8") == 8
        if native:  # any unknown call is a deposit, as it is of the original
            assert await call_raw(node, market.address, encode_call("underlying()")) == b""
        else:
            underlying = await read(node, market.address, "underlying()", [], "address")
            assert underlying == token_of(node.chain, market.underlying).address.lower()
        for holder in (known.VITALIK, known.ALICE, known.BOB, known.UNTOUCHED):
            supplied = market.supplies.get(holder, 0) * 10**places // 10**6
            borrowed = market.debts.get(holder, 0) * 10**places // 10**6
            balance = await read(node, market.address, "balanceOfUnderlying(address)", [holder], "uint256")
            owed = await read(node, market.address, "borrowBalanceCurrent(address)", [holder], "uint256")
            slack = 10**10  # a cToken has eight places
            assert supplied - slack <= balance <= supplied * 2
            assert (balance > 0) is (supplied > 0)
            assert borrowed <= owed <= borrowed * 2
            assert (owed > 0) is (borrowed > 0)
            error, tokens, owed_then, rate = await answers(
                node, market.address, "getAccountSnapshot(address)", [holder], *["uint256"] * 4
            )
            assert error == 0
            assert tokens * rate // WHOLE <= balance
            assert owed_then <= owed
    error, _, short = await answers(node, COMPTROLLER, "getAccountLiquidity(address)", [known.BOB], *["uint256"] * 3)
    assert (error, short) == (0, 0)


async def test_v2_reads_at_a_chain_s_first_block(devnet: Devnet) -> None:
    """Nothing in the world is newer than its first block, by number either."""
    node = devnet.nodes["ethereum"]
    asked = "balanceOfUnderlying(address)", [known.VITALIK], "uint256"
    at_first = await read(node, LEND_B_V2[0].address, *asked, node.chain.height)
    assert 0 < at_first <= await read(node, LEND_B_V2[0].address, *asked)
