"""dex-a on the local chains: published contracts at the real addresses; a swap pays what they quote, to the wei."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi.abi import decode, encode
from eth_utils.crypto import keccak

from devnet import known, known_exchanges
from devnet.archives import fetch_archive, is_fetched
from devnet.evm.artifacts import linked
from devnet.evm.calls import encode_call, to_hex
from devnet.evm.world import load_world
from devnet.install import InstallError
from devnet.known_exchanges import NATIVE, RICH, V3_CONTRACTS, V4_CONTRACTS, WRAPPED
from devnet.launcher import Devnet
from devnet.local_chain import NodeError
from devnet.status import describe
from server.catalog.protocols import load_address_book
from tests.e2e.devnet_reads import call_raw, read
from tests.rewinding import rewound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.evm.node import Node
    from devnet.evm.world import Chain

pytestmark = pytest.mark.devnet

CHAINS = tuple(V3_CONTRACTS)
NOBODY = "0x" + "00" * 20
LATER = 2**64
POOL_KEY = "(address,address,uint24,int24,address)"
QUOTE_V3 = "quoteExactInputSingle((address,address,uint256,uint24,uint160))"
QUOTE_V4 = f"quoteExactInputSingle(({POOL_KEY},bool,uint128,bytes))"
# Where a swap stops when it is not limited: a step inside the first and the last price there is.
LOWEST, HIGHEST = 4295128739 + 1, 1461446703485210103287273052203988822378723970342 - 1
# Selectors of the quoter of the fourth version: UnexpectedRevertBytes, and what it holds.
WRAPS, NOT_ENOUGH, NOT_INITIALIZED = "0x6190b2b0", "7a5ed734", "486aa307"


@pytest.fixture(scope="module")
async def exchanges() -> AsyncIterator[Devnet]:
    """The chains that have the exchanges; blocks are made by the tests."""
    async with Devnet.start(CHAINS, mines=False) as running:
        assert not running.left_out
        yield running


def address_of(chain: Chain, symbol: str) -> str:
    if symbol == NATIVE:
        return NOBODY
    return (chain.wrapped_native if symbol == WRAPPED else chain.token(symbol)).address


def in_order(*addresses: str) -> list[str]:
    return sorted(addresses, key=lambda one: int(one, 16))


def key_of(chain: Chain, base: str, quote: str, fee: int, spacing: int) -> tuple[Any, ...]:
    return (*in_order(address_of(chain, base), address_of(chain, quote)), fee, spacing, NOBODY)


async def send(node: Node, to: str, signature: str, *arguments: object, value: int = 0) -> None:
    """Have ALICE send a transaction and mine it; it has to succeed."""
    data = to_hex(encode_call(signature, arguments))
    transaction = {"from": known.ALICE, "to": to, "data": data, "value": hex(value), "gas": hex(2_000_000)}
    sent = await node.call("eth_sendTransaction", transaction)
    await node.call("evm_mine")
    assert (await node.call("eth_getTransactionReceipt", sent))["status"] == "0x1"


async def held(node: Node, token: str) -> int:
    return int(await read(node, token, "balanceOf(address)", [known.ALICE], "uint256"))


async def refusal(node: Node, to: str, data: bytes) -> str:
    """Return what a call is reverted with, as the node says it."""
    with pytest.raises(NodeError) as refused:
        await call_raw(node, to, data)
    return str(refused.value)


async def test_the_addresses_are_those_of_the_address_book() -> None:
    book = load_address_book().protocols
    v2 = book["uniswap-v2"].contracts["ethereum"]
    assert (v2["factory"].address, v2["router02"].address) == (
        known_exchanges.V2_FACTORY,
        known_exchanges.V2_ROUTER,
    )
    for slug, at in V3_CONTRACTS.items():
        v3 = book["uniswap-v3"].contracts[slug]
        assert (v3["factory"].address, v3["quoterV2"].address) == (at["factory"], at["quoter"])
    for slug, at in V4_CONTRACTS.items():
        v4 = book["uniswap-v4"].contracts[slug]
        assert (v4["poolManager"].address, v4["quoter"].address, v4["stateView"].address) == tuple(at.values())


async def test_what_stands_there_is_the_published_code(exchanges: Devnet) -> None:
    async def code(slug: str, address: str) -> bytes:
        return bytes.fromhex((await exchanges.nodes[slug].call("eth_getCode", address, "latest"))[2:])

    # Without immutables the code is the end of the creation code, word for word.
    assert linked("dex_a_v2_core", "UniswapV2Factory").endswith(await code("ethereum", known_exchanges.V2_FACTORY))
    for slug in CHAINS:
        # With immutables (itself; the pool manager) all else is equal.
        for address, archive, name in (
            (V3_CONTRACTS[slug]["factory"], "dex_a_v3_core", "UniswapV3Factory"),
            (V4_CONTRACTS[slug]["manager"], "dex_a_v4_core", "PoolManager"),
        ):
            found, published = await code(slug, address), linked(archive, name)
            assert len(found) > 20_000
            assert found[:1_000] in published


class TestV2:
    async def test_pairs(self, exchanges: Devnet) -> None:
        node = exchanges.nodes["ethereum"]
        factory, chain = known_exchanges.V2_FACTORY, node.chain

        async def pair(first: str, second: str) -> str:
            tokens = [chain.token(symbol).address for symbol in (first, second)]
            return str(await read(node, factory, "getPair(address,address)", tokens, "address"))

        assert await read(node, factory, "allPairsLength()", [], "uint256") == len(known_exchanges.V2_PAIRS)
        # The real pair's address, as creation code and factory are the real ones.
        assert await pair("WETH", "USDC") == "0xb4e16d0168e52d35cacd2c6185b44281ec28c9dc"
        assert await pair("USDT", "DAI") == NOBODY
        empty = await pair("LINK", "WETH")
        assert decode(["uint112"] * 2, await call_raw(node, empty, encode_call("getReserves()"))) == (0, 0)

    @pytest.mark.parametrize(
        ("path", "amount"),
        [
            (("USDC", "WETH"), 12_345_678_901),
            (("WETH", "USDC"), 10**18 // 7),
            (("USDC", "DAI"), 5_000_000),
            (("USDC", "WETH", "DAI"), 777_000_000),
        ],
    )
    async def test_a_swap_pays_what_was_quoted(self, exchanges: Devnet, path: tuple[str, ...], amount: int) -> None:
        node, router = exchanges.nodes["ethereum"], known_exchanges.V2_ROUTER
        tokens = [node.chain.token(symbol).address for symbol in path]
        quoted = await read(node, router, "getAmountsOut(uint256,address[])", [amount, tokens], "uint256[]")
        expected = amount
        for sold, bought in pairwise(tokens):
            expected = await self.bought(node, sold, bought, expected)
        assert quoted[-1] == expected
        async with rewound(node):
            await send(node, tokens[0], "approve(address,uint256)", router, amount)
            had = await held(node, tokens[-1])
            signature = "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"
            await send(node, router, signature, amount, 0, tokens, known.ALICE, LATER)
            assert await held(node, tokens[-1]) - had == expected

    async def test_a_large_amount_goes_better_over_weth_than_through_the_thin_pair(self, exchanges: Devnet) -> None:
        node = exchanges.nodes["ethereum"]
        usdc, weth, dai = (node.chain.token(symbol).address for symbol in ("USDC", "WETH", "DAI"))

        async def out(amount: int, *path: str) -> int:
            arguments = [amount, list(path)]
            signature = "getAmountsOut(uint256,address[])"
            return int((await read(node, known_exchanges.V2_ROUTER, signature, arguments, "uint256[]"))[-1])

        assert await out(10**6, usdc, dai) > await out(10**6, usdc, weth, dai)
        assert await out(10**9, usdc, dai) < await out(10**9, usdc, weth, dai)

    async def test_pairs_without_reserves_and_no_pair_at_all(self, exchanges: Devnet) -> None:
        node = exchanges.nodes["ethereum"]

        async def why(*symbols: str) -> str:
            path = [node.chain.token(symbol).address for symbol in symbols]
            call = encode_call("getAmountsOut(uint256,address[])", [10**18, path])
            return await refusal(node, known_exchanges.V2_ROUTER, call)

        assert "INSUFFICIENT_LIQUIDITY" in await why("LINK", "WETH")
        assert "INSUFFICIENT_LIQUIDITY" not in await why("DAI", "USDT")

    async def bought(self, node: Node, sold: str, bought: str, amount: int) -> int:
        """Return what the reserves of a pair give, less 0.3 %."""
        tokens = [sold, bought]
        pair = await read(node, known_exchanges.V2_FACTORY, "getPair(address,address)", tokens, "address")
        reserves = decode(["uint112"] * 2, await call_raw(node, pair, encode_call("getReserves()")))
        own, other = reserves if in_order(sold, bought)[0] == sold else reserves[::-1]
        return int(other - -(-own * other * 1000 // (own * 1000 + amount * 997)))


class TestV3:
    @pytest.mark.parametrize("slug", CHAINS)
    async def test_a_swap_pays_what_was_quoted(self, exchanges: Devnet, slug: str) -> None:
        node, at = exchanges.nodes[slug], V3_CONTRACTS[slug]
        usdc, coin = node.chain.token("USDC"), node.chain.wrapped_native
        for fee in (500, 3000) if slug in RICH else (3000,):
            for sold, bought, amount in (
                (usdc, coin, 250_000 * 10**usdc.decimals),
                (coin, usdc, 10 * 10**18 + 1),
            ):
                quoted, _, crossed = await self.quote(node, sold.address, bought.address, fee, amount)
                assert crossed == (fee == 500 and sold is usdc)  # large enough to leave the position around the price
                async with rewound(node):
                    await send(node, sold.address, "approve(address,uint256)", at["swap"], 0)
                    await send(node, sold.address, "approve(address,uint256)", at["swap"], amount)
                    had = await held(node, bought.address)
                    order = (sold.address, bought.address, fee, known.ALICE, LATER, amount, 0, 0)
                    types = "(address,address,uint24,address,uint256,uint256,uint256,uint160)"
                    await send(node, at["swap"], f"exactInputSingle({types})", order)
                    assert await held(node, bought.address) - had == quoted > 0

    @pytest.mark.parametrize("slug", RICH)
    async def test_every_pool_of_the_rich_chains(self, exchanges: Devnet, slug: str) -> None:
        node, at = exchanges.nodes[slug], V3_CONTRACTS[slug]
        for pool in known_exchanges.V3_POOLS[slug]:
            address = await self.pool(node, pool.base, pool.quote, pool.fee)
            assert await read(node, address, "tickSpacing()", [], "int24") == pool.spacing
            liquidity = await read(node, address, "liquidity()", [], "uint128")
            assert bool(liquidity) is bool(pool.ranges)
        assert await self.pool(node, "DAI", "LINK", 3000) == NOBODY
        coin, dai, link = (address_of(node.chain, symbol) for symbol in (WRAPPED, "DAI", "LINK"))
        empty = encode_call(QUOTE_V3, [(dai, coin, 10**18, 3000, 0)])
        assert "Unexpected error" in await refusal(node, at["quoter"], empty)
        absent = encode_call(QUOTE_V3, [(dai, link, 10**18, 3000, 0)])
        assert "Unexpected error" not in await refusal(node, at["quoter"], absent)

    async def test_the_pool_of_half_a_thousandth_stands_where_the_real_one_does(self, exchanges: Devnet) -> None:
        found = await self.pool(exchanges.nodes["ethereum"], "USDC", WRAPPED, 500)
        assert found == "0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640"

    @pytest.mark.parametrize("slug", RICH)
    @pytest.mark.parametrize(("base", "quote", "fee"), [(WRAPPED, "USDC", 10_000), ("LINK", WRAPPED, 3000)])
    async def test_a_thin_pool_runs_dry_and_answers_as_if_all_were_sold(
        self, exchanges: Devnet, slug: str, base: str, quote: str, fee: int
    ) -> None:
        node = exchanges.nodes[slug]
        sides = [address_of(node.chain, symbol) for symbol in (base, quote)]
        for sold, bought in (sides, sides[::-1]):
            first, limit, _ = await self.quote(node, sold, bought, fee, 10**22)
            assert limit == (LOWEST if in_order(sold, bought)[0] == sold else HIGHEST)
            assert first == (await self.quote(node, sold, bought, fee, 10**26))[0] > 0
            little, price, _ = await self.quote(node, sold, bought, fee, 10**6)
            assert (little, price) != (first, limit)

    async def quote(self, node: Node, sold: str, bought: str, fee: int, amount: int) -> tuple[int, int, bool]:
        """Return the amount, the root of the price afterwards and whether ticks were crossed."""
        call = encode_call(QUOTE_V3, [(sold, bought, amount, fee, 0)])
        types = ["uint256", "uint160", "uint32", "uint256"]
        out, price, crossed, _ = decode(types, await call_raw(node, V3_CONTRACTS[node.chain.slug]["quoter"], call))
        return int(out), int(price), crossed > 0

    async def pool(self, node: Node, base: str, quote: str, fee: int) -> str:
        arguments = [address_of(node.chain, base), address_of(node.chain, quote), fee]
        factory = V3_CONTRACTS[node.chain.slug]["factory"]
        return str(await read(node, factory, "getPool(address,address,uint24)", arguments, "address"))


class TestV4:
    @pytest.mark.parametrize("slug", CHAINS)
    async def test_a_swap_pays_what_was_quoted(self, exchanges: Devnet, slug: str) -> None:
        node = exchanges.nodes[slug]
        pools = [pool for pool in known_exchanges.V4_POOLS[slug] if pool.ranges and pool.ranges[0].dollars > 10_000]
        for pool in pools:
            key = key_of(node.chain, pool.base, pool.quote, pool.fee, pool.spacing)
            for zero_for_one, sold, bought in ((True, *key[:2]), (False, key[1], key[0])):
                amount = 3 * 10 ** (await self.decimals(node, sold)) + 1
                quoted = await self.quote(node, key, zero_for_one, amount)
                if bought == NOBODY:
                    continue  # what gas costs would have to be counted; the other way round shows as much
                async with rewound(node):
                    if sold != NOBODY:
                        await send(node, sold, "approve(address,uint256)", known_exchanges.V4_SWAP, amount)
                    had = await held(node, bought)
                    order = (zero_for_one, -amount, LOWEST if zero_for_one else HIGHEST)
                    signature = f"swap({POOL_KEY},(bool,int256,uint160),(bool,bool),bytes)"
                    value = amount if sold == NOBODY else 0
                    arguments = (key, order, (False, False), b"")
                    await send(node, known_exchanges.V4_SWAP, signature, *arguments, value=value)
                    assert await held(node, bought) - had == quoted > 0

    @pytest.mark.parametrize("slug", CHAINS)
    async def test_every_pool_is_reported_by_the_state_view(self, exchanges: Devnet, slug: str) -> None:
        node, at = exchanges.nodes[slug], V4_CONTRACTS[slug]
        for pool in known_exchanges.V4_POOLS[slug]:
            number = keccak(encode([POOL_KEY], [key_of(node.chain, pool.base, pool.quote, pool.fee, pool.spacing)]))
            slot = decode(
                ["uint160", "int24", "uint24", "uint24"],
                await call_raw(node, at["state"], encode_call("getSlot0(bytes32)", [number])),
            )
            assert slot[0] > 0
            assert slot[2:] == (0, pool.fee)
            liquidity = await read(node, at["state"], "getLiquidity(bytes32)", [number], "uint128")
            assert bool(liquidity) is bool(pool.ranges)

    @pytest.mark.parametrize("slug", RICH)
    async def test_pools_that_cannot_answer(self, exchanges: Devnet, slug: str) -> None:
        node = exchanges.nodes[slug]
        for base, quote, fee, spacing, why in (
            (NATIVE, "DAI", 3000, 60, NOT_ENOUGH),
            (NATIVE, "LINK", 3000, 60, NOT_ENOUGH),
            (NATIVE, "DAI", 500, 10, NOT_INITIALIZED),
            ("LINK", "DAI", 3000, 60, NOT_INITIALIZED),
        ):
            key = key_of(node.chain, base, quote, fee, spacing)
            said = await refusal(node, V4_CONTRACTS[slug]["quoter"], encode_call(QUOTE_V4, [(key, True, 10**24, b"")]))
            assert WRAPS in said
            assert why in said

    @pytest.mark.parametrize("slug", RICH)
    async def test_the_wrapped_coin_gives_less_at_one_fee_and_more_at_another(
        self, exchanges: Devnet, slug: str
    ) -> None:
        node = exchanges.nodes[slug]
        usdc = node.chain.token("USDC").address

        async def out(coin: str, fee: int, spacing: int) -> int:
            key = key_of(node.chain, coin, "USDC", fee, spacing)
            return await self.quote(node, key, key[0] == usdc, 5_000 * 10**6)

        assert await out(NATIVE, 3000, 60) > await out(WRAPPED, 3000, 60)
        assert await out(NATIVE, 10_000, 200) < await out(WRAPPED, 10_000, 200)

    async def quote(self, node: Node, key: tuple[Any, ...], zero_for_one: bool, amount: int) -> int:
        call = encode_call(QUOTE_V4, [(key, zero_for_one, amount, b"")])
        quoter = V4_CONTRACTS[node.chain.slug]["quoter"]
        return int(decode(["uint256", "uint256"], await call_raw(node, quoter, call))[0])

    async def decimals(self, node: Node, token: str) -> int:
        return 18 if token == NOBODY else int(await read(node, token, "decimals()", [], "uint8"))


async def test_an_archive_that_cannot_be_had_costs_its_own_version_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Path:
        if name == "dex_a_v4_core":
            raise InstallError("the registry is down")
        return fetch_archive(name)

    monkeypatch.setattr("devnet.evm.protocol.fetch_archive", refuse)
    monkeypatch.setattr("devnet.evm.protocol.is_fetched", lambda name: name != "dex_a_v4_core" and is_fetched(name))
    lines: list[str] = []
    async with Devnet.start(("optimism",), lines.append, mines=False) as devnet:
        node = devnet.nodes["optimism"]
        assert devnet.left_out == {"dex-a V4": "the registry is down"}
        assert any("dex-a V4 is left out: the registry is down" in line for line in lines)
        assert await node.call("eth_getCode", V4_CONTRACTS["optimism"]["manager"], "latest") == "0x"
        assert len(await node.call("eth_getCode", V3_CONTRACTS["optimism"]["factory"], "latest")) > 20_000
        described = await describe(devnet.summary(), devnet.sources(), devnet.left_out)
    assert "left out: dex-a V4: the registry is down" in described
    assert "original: dex-a V3" in described
    assert "swaps: a stand-in of an off-chain source" in described


def test_the_rich_chains_are_those_that_most_tests_start() -> None:
    assert {"ethereum", "arbitrum", "polygon"} == set(RICH) <= set(load_world())
