"""pool-a's pools: what is answered against redeeming every share, and against the pools' equation, solved anew."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from devnet.evm.calls import encode_call, to_hex
from devnet.known_exchanges import ETHER_POOL, THREE_POOL, TRICRYPTO, TRICRYPTO_TOKEN
from tests.e2e.devnet_reads import read
from tests.e2e.test_devnet_pools import scaled, stable_invariant
from tests.rewinding import rewound

if TYPE_CHECKING:
    from devnet.evm.node import Node
    from tests.server.protocols.conftest import Asked

pytestmark = pytest.mark.devnet

SHARES = {THREE_POOL.address: THREE_POOL.token, ETHER_POOL.address: ETHER_POOL.token, TRICRYPTO: TRICRYPTO_TOKEN}


async def pools(asked: Asked) -> dict[str, Any]:
    return {pool.address: pool for pool in (await asked.listing("GetPoolAPools", "ethereum"))["pools"]}


async def decimals(node: Node, coin: str) -> int:
    return 18 if coin == "native" else int(await read(node, coin, "decimals()", [], "uint8"))


async def held(node: Node, coin: str) -> int:
    if coin == "native":
        return int(await node.call("eth_getBalance", known.ALICE, "latest"), 16)
    return int(await read(node, coin, "balanceOf(address)", [known.ALICE], "uint256"))


async def test_the_three_pools(asked: Asked) -> None:
    found = await pools(asked)
    assert list(found) == [THREE_POOL.address, ETHER_POOL.address, TRICRYPTO]
    node = asked.devnet.nodes["ethereum"]
    symbols = {"native": "native"} | {token.address: token.symbol for token in node.chain.tokens}
    reported = [[symbols.get(coin.address, "stETH") for coin in pool.coins] for pool in found.values()]
    assert reported == [["DAI", "USDC", "USDT"], ["native", "stETH"], ["USDT", "WBTC", "WETH"]]
    assert [pool.name for pool in found.values()] == ["3pool", "stETH/ETH", "tricrypto2"]
    # Fees are parts of 10^10: 0.015 and 0.01 percent; tricrypto2's moves between 0.03 and 0.3 percent.
    stable = [found[pool.address] for pool in (THREE_POOL, ETHER_POOL)]
    assert [(pool.fee, pool.amplification) for pool in stable] == [("0.015", "4000"), ("0.01", "200")]
    assert Decimal("0.03") < Decimal(found[TRICRYPTO].fee) < Decimal("0.3")
    assert found[TRICRYPTO].amplification == "1707629"


@pytest.mark.parametrize("address", SHARES)
async def test_redeeming_pays_the_wallets_part_of_the_balances(asked: Asked, address: str) -> None:
    node, pool = asked.devnet.nodes["ethereum"], (await pools(asked))[address]
    shares = await held(node, SHARES[address])
    supply = int(await read(node, SHARES[address], "totalSupply()", [], "uint256"))
    before = {coin.address: await held(node, coin.address) for coin in pool.coins}
    async with rewound(node):
        signature = f"remove_liquidity(uint256,uint256[{len(pool.coins)}])"
        data = to_hex(encode_call(signature, [shares, [0] * len(pool.coins)]))
        transaction = {"from": known.ALICE, "to": address, "data": data, "gas": hex(2_000_000)}
        sent = await node.call("eth_sendTransaction", transaction)
        await node.call("evm_mine")
        receipt = await node.call("eth_getTransactionReceipt", sent)
        assert receipt["status"] == "0x1"
        cost = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
        for coin in pool.coins:
            got = await held(node, coin.address) - before[coin.address] + (cost if coin.address == "native" else 0)
            whole = Decimal(coin.balance) * 10 ** await decimals(node, coin.address)
            assert whole == int(whole)
            # tricrypto2 keeps back the part of one share; stETH loses a wei or two by its own rounding.
            part = int(whole) * (shares - (address == TRICRYPTO)) // supply
            assert part - 2 <= got <= part
            assert got > 0


async def test_virtual_prices_are_those_of_the_equation(asked: Asked) -> None:
    node, found = asked.devnet.nodes["ethereum"], await pools(asked)
    for pool, count in ((THREE_POOL, 3), (ETHER_POOL, 2)):
        invariant = stable_invariant(await scaled(node, pool.address, count), pool.amplification * count)
        supply = int(await read(node, pool.token, "totalSupply()", [], "uint256"))
        exact = Decimal(invariant) / supply
        assert abs(Decimal(found[pool.address].virtual_price) - exact) <= Decimal("2e-18")
        assert Decimal(found[pool.address].virtual_price) > 1
    assert 1 < Decimal(found[TRICRYPTO].virtual_price) < 2


async def test_an_exchange_shows_in_the_next_answer(asked: Asked) -> None:
    node, before = asked.devnet.nodes["ethereum"], (await pools(asked))[THREE_POOL.address]
    async with rewound(node):
        dai = before.coins[0].address
        for to, signature, arguments in (
            (dai, "approve(address,uint256)", [THREE_POOL.address, 10**21]),
            (THREE_POOL.address, "exchange(int128,int128,uint256,uint256)", [0, 1, 10**21, 0]),
        ):
            data = to_hex(encode_call(signature, arguments))
            await node.call("eth_sendTransaction", {"from": known.ALICE, "to": to, "data": data, "gas": hex(10**6)})
            await node.call("evm_mine")
        await asked.mine("ethereum")
        after = (await pools(asked))[THREE_POOL.address]
        sold, bought = (Decimal(after.coins[place].balance) - Decimal(before.coins[place].balance) for place in (0, 1))
        assert sold == 1000
        assert abs(bought + 1000) < 1
        assert after.coins[2] == before.coins[2]
    await asked.mine("ethereum")
