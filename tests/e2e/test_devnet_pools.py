"""pool-a on ethereum: stand-ins whose arithmetic is that of the invariants, recomputed here from their equations."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

import pytest
from eth_abi.abi import decode

from devnet import known, known_exchanges, known_marketplace
from devnet.evm.calls import encode_call, to_hex
from devnet.known_exchanges import ETHER_POOL, THREE_POOL, TRICRYPTO, TRICRYPTO_TOKEN
from devnet.local_chain import NodeError
from server.catalog.protocols import load_address_book
from tests.e2e.devnet_reads import call_raw, read
from tests.rewinding import rewound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devnet.evm.node import Node
    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

ONE = 10**18
FEE_ONE = 10**10
NATIVE = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
GAS_PRICE = 10**10


@pytest.fixture
def node(devnet: Devnet) -> Node:
    return devnet.nodes["ethereum"]


async def number(node: Node, to: str, signature: str, *arguments: object) -> int:
    return int(await read(node, to, signature, arguments, "uint256"))


async def numbers(node: Node, to: str, name: str, count: int) -> list[int]:
    return [await number(node, to, f"{name}(uint256)", place) for place in range(count)]


async def addresses(node: Node, to: str, name: str, count: int) -> list[str]:
    return [str(await read(node, to, f"{name}(uint256)", [place], "address")) for place in range(count)]


async def send(node: Node, to: str, signature: str, *arguments: object, value: int = 0) -> int:
    """Have ALICE send a transaction that has to succeed and mine it; returns what the gas cost her, in wei."""
    data = to_hex(encode_call(signature, arguments))
    transaction = {"from": known.ALICE, "to": to, "data": data, "value": hex(value), "gas": hex(2_000_000)}
    sent = await node.call("eth_sendTransaction", transaction | {"gasPrice": hex(GAS_PRICE)})
    await node.call("evm_mine")
    receipt = await node.call("eth_getTransactionReceipt", sent)
    assert receipt["status"] == "0x1"
    return int(receipt["gasUsed"], 16) * GAS_PRICE


async def held(node: Node, token: str) -> int:
    if token == NATIVE:
        return int(await node.call("eth_getBalance", known.ALICE, "latest"), 16)
    return await number(node, token, "balanceOf(address)", known.ALICE)


def stable_side(amounts: Sequence[int], weight: int, d: int) -> int:
    """Return the two sides of the StableSwap invariant, one less the other, times n^n * prod(x)."""
    count, product = len(amounts), 1
    for amount in amounts:
        product *= amount * count
    return (weight * sum(amounts) + d - weight * d) * product - d ** (count + 1)


def stable_invariant(amounts: Sequence[int], weight: int) -> int:
    """Return D by bisection."""
    low, high = 0, sum(amounts) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if stable_side(amounts, weight, middle) >= 0 else (low, middle)
    return low


def stable_balance(others: Sequence[int], weight: int, d: int) -> int:
    """Return the amount that the others leave to one coin, by bisection."""
    low, high = 1, 10 * d
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if stable_side([*others, middle], weight, d) >= 0 else (middle, high)
    return high


async def test_the_pools_are_those_of_the_address_book(node: Node) -> None:
    book = load_address_book().protocols["curve"].contracts["ethereum"]
    listed = {contract.address for contract in book.values()}
    assert {THREE_POOL.address, ETHER_POOL.address, TRICRYPTO} <= listed
    for shares, symbol in ((THREE_POOL.token, "3Crv"), (ETHER_POOL.token, "steCRV"), (TRICRYPTO_TOKEN, "crv3crypto")):
        assert await read(node, shares, "symbol()", [], "string") == symbol


async def test_what_the_pools_say_of_themselves(node: Node) -> None:
    coins = [node.chain.token(symbol).address.lower() for symbol in THREE_POOL.coins]
    assert await addresses(node, THREE_POOL.address, "coins", 3) == coins
    assert await addresses(node, ETHER_POOL.address, "coins", 2) == [NATIVE, known_marketplace.STETH.lower()]
    volatile = [node.chain.token(symbol).address.lower() for symbol in known_exchanges.TRICRYPTO_COINS]
    assert await addresses(node, TRICRYPTO, "coins", 3) == volatile
    for pool in (THREE_POOL, ETHER_POOL):
        assert await number(node, pool.address, "A()") == pool.amplification
        assert await number(node, pool.address, "fee()") == pool.fee
        assert await number(node, pool.address, "admin_fee()") == FEE_ONE // 2
    assert await number(node, ETHER_POOL.address, "A_precise()") == 100 * ETHER_POOL.amplification
    assert await number(node, TRICRYPTO, "A()") == known_exchanges.TRICRYPTO_FIGURES[0]
    with pytest.raises(NodeError):
        await call_raw(node, THREE_POOL.address, encode_call("coins(uint256)", [3]))


async def test_balances_are_what_the_pools_hold_less_the_fees_of_the_protocol(node: Node) -> None:
    for place, symbol in enumerate(THREE_POOL.coins):
        token = node.chain.token(symbol).address
        kept = await number(node, THREE_POOL.address, "admin_balances(uint256)", place)
        has = await number(node, token, "balanceOf(address)", THREE_POOL.address)
        assert await number(node, THREE_POOL.address, "balances(uint256)", place) == has - kept
        assert kept > 0
    ether = int(await node.call("eth_getBalance", ETHER_POOL.address, "latest"), 16)
    staked = await number(node, known_marketplace.STETH, "balanceOf(address)", ETHER_POOL.address)
    kept = [await number(node, ETHER_POOL.address, "admin_balances(uint256)", place) for place in range(2)]
    assert await numbers(node, ETHER_POOL.address, "balances", 2) == [ether - kept[0], staked - kept[1]]


async def test_virtual_prices_of_the_stable_pools(node: Node) -> None:
    for pool, count in ((THREE_POOL, 3), (ETHER_POOL, 2)):
        amounts = await scaled(node, pool.address, count)
        supply = await number(node, pool.token, "totalSupply()")
        exact = stable_invariant(amounts, pool.amplification * count) * ONE // supply
        answered = await number(node, pool.address, "get_virtual_price()")
        assert abs(answered - exact) <= 1
        assert answered > ONE


@pytest.mark.parametrize(("sold", "bought", "dx"), [(0, 1, 12_345 * ONE), (1, 2, 9 * 10**11), (2, 0, 7)])
async def test_an_exchange_of_dollars_pays_what_the_invariant_leaves(
    node: Node, sold: int, bought: int, dx: int
) -> None:
    pool, scales = THREE_POOL, (1, 10**12, 10**12)
    amounts, weight = await scaled(node, pool.address, 3), pool.amplification * 3
    after = list(amounts)
    after[sold] += dx * scales[sold]
    rest = stable_balance(
        [after[place] for place in range(3) if place != bought], weight, stable_invariant(amounts, weight)
    )
    exact = (amounts[bought] - rest) * (FEE_ONE - pool.fee) // FEE_ONE // scales[bought]
    quoted = await number(node, pool.address, "get_dy(int128,int128,uint256)", sold, bought, dx)
    assert abs(quoted - exact) <= 4
    async with rewound(node):
        coins = await addresses(node, pool.address, "coins", 3)
        await send(node, coins[sold], "approve(address,uint256)", pool.address, dx)
        had = await held(node, coins[bought])
        await send(node, pool.address, "exchange(int128,int128,uint256,uint256)", sold, bought, dx, 0)
        assert abs(await held(node, coins[bought]) - had - quoted) <= 1  # the two round the fee in another order


async def test_ether_is_exchanged_for_its_staked_form_and_back(node: Node) -> None:
    pool, dx = ETHER_POOL, 3 * ONE
    amounts, weight = await scaled(node, pool.address, 2), pool.amplification * 2
    d = stable_invariant(amounts, weight)
    for sold, bought in ((0, 1), (1, 0)):
        exact = (amounts[bought] - stable_balance([amounts[sold] + dx], weight, d)) * (FEE_ONE - pool.fee) // FEE_ONE
        quoted = await number(node, pool.address, "get_dy(int128,int128,uint256)", sold, bought, dx)
        assert abs(quoted - exact) <= 4
    async with rewound(node):
        quoted = await number(node, pool.address, "get_dy(int128,int128,uint256)", 0, 1, dx)
        had = await held(node, known_marketplace.STETH)
        await send(node, pool.address, "exchange(int128,int128,uint256,uint256)", 0, 1, dx, 0, value=dx)
        got = await held(node, known_marketplace.STETH) - had
        assert abs(got - quoted) <= 2  # what a balance of stETH loses by rounding
        await send(node, known_marketplace.STETH, "approve(address,uint256)", pool.address, got)
        quoted, had = (
            await number(node, pool.address, "get_dy(int128,int128,uint256)", 1, 0, got),
            await held(node, NATIVE),
        )
        cost = await send(node, pool.address, "exchange(int128,int128,uint256,uint256)", 1, 0, got, 0)
        assert await held(node, NATIVE) - had == quoted - cost


@pytest.mark.parametrize(
    ("pool", "shares", "count"),
    [
        (THREE_POOL.address, THREE_POOL.token, 3),
        (ETHER_POOL.address, ETHER_POOL.token, 2),
        (TRICRYPTO, TRICRYPTO_TOKEN, 3),
    ],
    ids=["3pool", "ether", "tricrypto2"],
)
async def test_shares_are_redeemed_for_their_part_of_every_coin(node: Node, pool: str, shares: str, count: int) -> None:
    mine, supply = await held(node, shares), await number(node, shares, "totalSupply()")
    counted = mine - 1 if pool == TRICRYPTO else mine
    expected = [balance * counted // supply for balance in await numbers(node, pool, "balances", count)]
    coins = await addresses(node, pool, "coins", count)
    assert all(expected)
    async with rewound(node):
        had = [await held(node, coin) for coin in coins]
        cost = await send(node, pool, f"remove_liquidity(uint256,uint256[{count}])", mine, [0] * count)
        for coin, before, part in zip(coins, had, expected, strict=True):
            got = await held(node, coin) - before + (cost if coin == NATIVE else 0)
            assert part - 2 <= got <= part if coin == known_marketplace.STETH.lower() else got == part
        assert await held(node, shares) == 0
        assert await number(node, shares, "totalSupply()") == supply - mine


async def test_the_volatile_pool_follows_its_equation(node: Node) -> None:
    prices = await numbers(node, TRICRYPTO, "price_scale", 2)
    balances = await numbers(node, TRICRYPTO, "balances", 3)
    amounts = [balances[0] * 10**12, balances[1] * 10**10 * prices[0] // ONE, balances[2] * prices[1] // ONE]
    d, supply = await number(node, TRICRYPTO, "D()"), await number(node, TRICRYPTO_TOKEN, "totalSupply()")
    a, gamma = known_exchanges.TRICRYPTO_FIGURES
    mid, out, fee_gamma = known_exchanges.TRICRYPTO_FEES
    with localcontext() as context:
        context.prec = 60

        def side(d: Decimal) -> Decimal:
            """K * (sum - D) less D / n^n * (1 - K0), which is nought at the invariant."""
            product = Decimal(amounts[0]) * amounts[1] * amounts[2]
            k0, g = product * 27 / d**3, Decimal(gamma) / ONE
            k = Decimal(a) / 27 / 10_000 * k0 * g**2 / (g + 1 - k0) ** 2
            return k * (sum(amounts) - d) - d / 27 * (1 - k0)

        assert side(Decimal(d) * (1 - Decimal("1e-12"))) > 0 > side(Decimal(d) * (1 + Decimal("1e-12")))
        mean = (Decimal(d) ** 3 * ONE**2 / 27 / prices[0] / prices[1]) ** (Decimal(1) / 3)
        assert abs(await number(node, TRICRYPTO, "get_virtual_price()") / (mean * ONE / supply) - 1) < Decimal("1e-15")
        balance = 27 * Decimal(amounts[0]) * amounts[1] * amounts[2] / Decimal(sum(amounts)) ** 3
        f = Decimal(fee_gamma) / (fee_gamma + ONE * (1 - balance))
        assert abs(await number(node, TRICRYPTO, "fee()") - (mid * f + out * (1 - f))) <= 1
    assert await number(node, TRICRYPTO, "get_virtual_price()") > ONE
    assert mid < await number(node, TRICRYPTO, "fee()") < out


async def test_the_wallets_hold_what_is_said(node: Node) -> None:
    for shares, unit in ((THREE_POOL.token, ONE), (ETHER_POOL.token, ONE), (TRICRYPTO_TOKEN, ONE // 1000)):
        for holder, amount in known_exchanges.POOL_SHARES.items():
            assert await number(node, shares, "balanceOf(address)", holder) == amount * unit
    data = await call_raw(node, THREE_POOL.token, encode_call("name()"))
    assert decode(["string"], data) == (THREE_POOL.name,)


async def scaled(node: Node, pool: str, count: int) -> list[int]:
    """Return a stable pool's balances in 18 decimals."""
    scales = (1, 10**12, 10**12) if count == 3 else (1, 1)
    return [
        balance * scale for balance, scale in zip(await numbers(node, pool, "balances", count), scales, strict=True)
    ]
