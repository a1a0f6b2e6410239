"""What quotes say, against the pools: formulas of their own over raw state, and swaps that are executed, to the wei."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi.abi import decode, encode
from eth_utils.crypto import keccak
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from devnet import known, known_exchanges
from devnet.evm.calls import encode_call, to_hex
from devnet.known_exchanges import V3_CONTRACTS, V4_CONTRACTS
from tests.e2e.devnet_reads import call_raw, read
from tests.rewinding import rewound
from tests.server.protocols.test_runner_requests import NATIVE, USDC, WETH

if TYPE_CHECKING:
    from devnet.evm.node import Node
    from tests.server.protocols.conftest import Asked

pytestmark = pytest.mark.devnet

ZERO = "0x" + "00" * 20
DAI, LINK = "0x6B175474E89094C44Da98b954EedeAC495271d0F", "0x514910771AF9Ca656af840dff83E8264EcF986CA"
DECIMALS = {WETH: 18, DAI: 18, LINK: 18, USDC: 6, ZERO: 18, NATIVE: 18}
Q96 = 1 << 96
LATER = 2**64
LOWEST, HIGHEST = 4295128739 + 1, 1461446703485210103287273052203988822378723970342 - 1
POOL_KEY = "(address,address,uint24,int24,address)"
# A gateway over the local chain is slow to start; the fixture is one for all examples.
FEW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def text_of(raw: int, token: str) -> str:
    """Return a raw amount as a caller writes it."""
    whole, fraction = divmod(raw, 10 ** DECIMALS[token])
    return f"{whole}.{fraction:0{DECIMALS[token]}d}"


def raw_of(text: str, token: str) -> int:
    """Return a text in whole units as a raw amount; it must say no more than the token has."""
    whole, _, fraction = text.partition(".")
    assert len(fraction) <= DECIMALS[token]
    return int(whole) * 10 ** DECIMALS[token] + int(fraction.ljust(DECIMALS[token], "0") or 0)


def sorts_first(one: str, other: str) -> bool:
    return int(one, 16) < int(other, 16)


def check_texts(quote: Any, sold: str, bought: str, amount: int) -> int:
    """Check that raw amounts and texts say the same; return what is received."""
    out = int(quote.amount_out_raw)
    assert int(quote.amount_in_raw) == amount
    assert raw_of(quote.amount_out, bought) == out
    return out


async def send(node: Node, to: str, signature: str, *arguments: object, value: int = 0) -> None:
    data = to_hex(encode_call(signature, arguments))
    transaction = {"from": known.ALICE, "to": to, "data": data, "value": hex(value), "gas": hex(6_000_000)}
    sent = await node.call("eth_sendTransaction", transaction)
    await node.call("evm_mine")
    assert (await node.call("eth_getTransactionReceipt", sent))["status"] == "0x1"


async def held(node: Node, token: str) -> int:
    return int(await read(node, token, "balanceOf(address)", [known.ALICE], "uint256"))


async def endow(node: Node, token: str, spender: str, amount: int) -> None:
    """Have ALICE own an amount and let the spender take it."""
    if token == WETH:
        await node.call("anvil_setBalance", known.ALICE, hex(amount + 10**20))
        await send(node, WETH, "deposit()", value=amount)
    else:
        mint = to_hex(encode_call("mint(address,uint256)", [known.ALICE, amount]))
        await node.call("anvil_impersonateAccount", known.DEVELOPER)
        await node.call("eth_sendTransaction", {"from": known.DEVELOPER, "to": token, "data": mint})
        await node.call("evm_mine")
    await send(node, token, "approve(address,uint256)", spender, amount)


async def reserves(node: Node, sold: str, bought: str) -> tuple[int, int]:
    """Return what a pair of the second version holds of each side, (0, 0) where there is none."""
    pair = await read(node, known_exchanges.V2_FACTORY, "getPair(address,address)", [sold, bought], "address")
    if pair == ZERO:
        return 0, 0
    first, second = decode(["uint112"] * 2, await call_raw(node, pair, encode_call("getReserves()")))
    return (first, second) if sorts_first(sold, bought) else (second, first)


async def through_pairs(node: Node, path: tuple[str, ...], amount: int) -> int:
    """Return what is received along a path: the product of a pair's reserves never falls after its fee of 0.3 %."""
    for sold, bought in pairwise(path):
        own, other = await reserves(node, sold, bought)
        if not own:
            return 0
        # The least that has to stay in the pair, in thousandths of what is sold.
        amount = other - -(-own * other * 1000 // (own * 1000 + amount * 997))
    return amount


class TestV2:
    @given(
        amount=st.integers(1, 10**24),
        tokens=st.permutations((WETH, USDC, DAI)).map(lambda three: three[:2]),
    )
    @FEW
    async def test_the_larger_of_both_ways(self, asked: Asked, amount: int, tokens: list[str]) -> None:
        sold, bought = tokens
        node = asked.devnet.nodes["ethereum"]
        ways: dict[tuple[str, ...], int] = {(sold, bought): await through_pairs(node, (sold, bought), amount)}
        if WETH not in tokens:
            ways[sold, WETH, bought] = await through_pairs(node, (sold, WETH, bought), amount)
        quote = await asked.swap("GetDexAV2Quote", "ethereum", sold, bought, text_of(amount, sold))
        assert check_texts(quote, sold, bought, amount) == max(ways.values())
        assert ways[tuple(quote.path)] == max(ways.values())

    async def test_more_goes_over_weth_and_little_directly(self, asked: Asked) -> None:
        little = await asked.swap("GetDexAV2Quote", "ethereum", USDC, DAI, "1")
        much = await asked.swap("GetDexAV2Quote", "ethereum", USDC, DAI, "1000")
        assert (list(little.path), list(much.path)) == ([USDC, DAI], [USDC, WETH, DAI])

    @pytest.mark.parametrize(
        ("sold", "bought", "amount"),
        [(USDC, WETH, 12_345_678_901), (WETH, USDC, 10**18 // 7), (USDC, DAI, 777_000_001)],
    )
    async def test_a_swap_pays_it(self, asked: Asked, sold: str, bought: str, amount: int) -> None:
        node, router = asked.devnet.nodes["ethereum"], known_exchanges.V2_ROUTER
        quote = await asked.swap("GetDexAV2Quote", "ethereum", sold, bought, text_of(amount, sold))
        async with rewound(node):
            await endow(node, sold, router, amount)
            had = await held(node, bought)
            signature = "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"
            await send(node, router, signature, amount, 0, list(quote.path), known.ALICE, LATER)
            assert await held(node, bought) - had == int(quote.amount_out_raw) > 0


def within_one_range(liquidity: int, root: int, amount: int, fee: int, spacing: int, *, first: bool) -> int:
    """Return what is received of a pool whose liquidity is one range over all prices.

    The root of the price moves by the amount over the liquidity; prices are rounded in the pool's favour. Assumes that
    the price stays within one word of the pool's map of ticks, where nothing is rounded on the way.
    """
    net = amount * (1_000_000 - fee) // 1_000_000
    if first:
        after = -(-liquidity * Q96 * root // (liquidity * Q96 + net * root))
        out = liquidity * (root - after) // Q96
    else:
        after = root + net * Q96 // liquidity
        out = liquidity * Q96 * (after - root) // after // root
    words = {math.floor(2 * math.log(one / Q96, 1.0001) / spacing / 256) for one in (root, after)}
    assume(len(words) == 1)
    return out


class TestV3:
    @given(amount=st.integers(1, 10**12), sells_dollars=st.booleans())
    @FEW
    async def test_one_range(self, asked: Asked, amount: int, sells_dollars: bool) -> None:
        node = asked.devnet.nodes["ethereum"]
        sold, bought = (USDC, WETH) if sells_dollars else (WETH, USDC)
        amount = amount if sells_dollars else amount * 10**8
        arguments = [sold, bought, 3000]
        factory = V3_CONTRACTS["ethereum"]["factory"]
        pool = await read(node, factory, "getPool(address,address,uint24)", arguments, "address")
        root = decode(["uint160"], await call_raw(node, pool, encode_call("slot0()")))[0]
        liquidity = await read(node, pool, "liquidity()", [], "uint128")
        expected = within_one_range(liquidity, root, amount, 3000, 60, first=sorts_first(sold, bought))
        quote = await asked.swap("GetDexAV3Quote", "ethereum", sold, bought, text_of(amount, sold), fee=3000)
        assert check_texts(quote, sold, bought, amount) == expected

    @pytest.mark.parametrize("chain", ["ethereum", "polygon", "arbitrum"])
    @pytest.mark.parametrize("fee", [500, 3000, None])
    async def test_a_swap_pays_it(self, asked: Asked, chain: str, fee: int | None) -> None:
        node, at = asked.devnet.nodes[chain], V3_CONTRACTS[chain]
        dollar, coin = node.chain.token("USDC"), node.chain.wrapped_native
        # So much that the position around the price of the smallest fee is left.
        amount = 250_000 * 10**dollar.decimals + 1
        quote = await asked.swap("GetDexAV3Quote", chain, dollar.address, coin.address, f"250000.{1:06d}", fee=fee)
        if fee is not None:
            assert quote.fee == fee
        async with rewound(node):
            await endow(node, dollar.address, at["swap"], amount)
            had = await held(node, coin.address)
            order = (dollar.address, coin.address, quote.fee, known.ALICE, LATER, amount, 0, 0)
            types = "(address,address,uint24,address,uint256,uint256,uint256,uint160)"
            await send(node, at["swap"], f"exactInputSingle({types})", order)
            assert await held(node, coin.address) - had == int(quote.amount_out_raw) > 0

    async def test_without_a_fee_the_largest_amount_wins(self, asked: Asked) -> None:
        for amount, best in (("1", 500), ("100", 3000)):
            quotes = [
                await asked.swap("GetDexAV3Quote", "ethereum", WETH, USDC, amount, fee=fee) for fee in (500, 3000)
            ]
            found = await asked.swap("GetDexAV3Quote", "ethereum", WETH, USDC, amount)
            assert found == max(quotes, key=lambda quote: int(quote.amount_out_raw))
            assert found.fee == best


class TestV4:
    @given(amount=st.integers(1, 10**12), sells_dollars=st.booleans())
    @FEW
    async def test_one_range(self, asked: Asked, amount: int, sells_dollars: bool) -> None:
        node, at = asked.devnet.nodes["ethereum"], V4_CONTRACTS["ethereum"]
        sold, bought = (USDC, ZERO) if sells_dollars else (ZERO, USDC)
        amount = amount if sells_dollars else amount * 10**8
        number = keccak(encode([POOL_KEY], [(ZERO, USDC, 3000, 60, ZERO)]))
        slot = await call_raw(node, at["state"], encode_call("getSlot0(bytes32)", [number]))
        liquidity = await read(node, at["state"], "getLiquidity(bytes32)", [number], "uint128")
        expected = within_one_range(liquidity, decode(["uint160"], slot)[0], amount, 3000, 60, first=sold == ZERO)
        quote = await asked.swap("GetDexAV4Quote", "ethereum", sold, bought, text_of(amount, sold))
        assert check_texts(quote, sold, bought, amount) == expected
        assert quote.pool_id == "0x" + number.hex()

    @pytest.mark.parametrize("chain", ["ethereum", "polygon", "arbitrum"])
    @pytest.mark.parametrize(("fee", "spacing", "is_native"), [(500, 10, True), (3000, 60, True), (10_000, 200, False)])
    async def test_a_swap_pays_it(self, asked: Asked, chain: str, fee: int, spacing: int, is_native: bool) -> None:
        """Of the pools of the coin and of its wrapper the better one is named, and pays what was quoted."""
        node = asked.devnet.nodes[chain]
        dollar, coin = node.chain.token("USDC").address, node.chain.wrapped_native.address
        amount = 5_000 * 10**6 + 1
        quote = await asked.swap("GetDexAV4Quote", chain, dollar, coin, "5000.000001", fee=fee, tick_spacing=spacing)
        assert (quote.currency_in, quote.currency_out) == (dollar, ZERO if is_native else coin)
        assert (quote.fee, quote.tick_spacing) == (fee, spacing)
        low, high = sorted((quote.currency_in, quote.currency_out), key=lambda one: int(one, 16))
        key = (low, high, fee, spacing, ZERO)
        assert quote.pool_id == "0x" + keccak(encode([POOL_KEY], [key])).hex()
        async with rewound(node):
            await endow(node, dollar, known_exchanges.V4_SWAP, amount)
            zero_for_one = low == dollar
            order = (zero_for_one, -amount, LOWEST if zero_for_one else HIGHEST)
            signature = f"swap({POOL_KEY},(bool,int256,uint160),(bool,bool),bytes)"
            had = await held(node, coin)
            coins = await self.coins(node)
            data = to_hex(encode_call(signature, (key, order, (False, False), b"")))
            transaction = {"from": known.ALICE, "to": known_exchanges.V4_SWAP, "data": data, "gas": hex(3_000_000)}
            sent = await node.call("eth_sendTransaction", transaction)
            await node.call("evm_mine")
            receipt = await node.call("eth_getTransactionReceipt", sent)
            assert receipt["status"] == "0x1"
            spent = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
            received = await self.coins(node) - coins + spent if is_native else await held(node, coin) - had
            assert received == int(quote.amount_out_raw) > 0

    async def coins(self, node: Node) -> int:
        return int(await node.call("eth_getBalance", known.ALICE, "latest"), 16)


async def test_a_quote_of_an_older_block_is_of_that_block(asked: Asked) -> None:
    """A swap moves the price; before it the quote is another one, and stays that."""
    node, at = asked.devnet.nodes["ethereum"], V3_CONTRACTS["ethereum"]
    before = int(await node.call("eth_blockNumber"), 16)
    first = await asked.swap("GetDexAV3Quote", "ethereum", WETH, USDC, "2", fee=3000)
    async with rewound(node):
        await endow(node, USDC, at["swap"], 10**12)
        order = (USDC, WETH, 3000, known.ALICE, LATER, 10**12, 0, 0)
        types = "(address,address,uint24,address,uint256,uint256,uint256,uint160)"
        await send(node, at["swap"], f"exactInputSingle({types})", order)
        await asked.mine("ethereum")
        now = await asked.swap("GetDexAV3Quote", "ethereum", WETH, USDC, "2", fee=3000)
        assert int(now.amount_out_raw) > int(first.amount_out_raw) * 14 // 10
        again = await asked.swap("GetDexAV3Quote", "ethereum", WETH, USDC, "2", fee=3000, block=before)
        assert again == first
    await asked.mine("ethereum")
