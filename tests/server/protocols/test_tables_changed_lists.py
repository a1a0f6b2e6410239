"""Lists that governance changes between two reads: what that costs, and that the answer is that of the new list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devnet import known
from devnet.evm.lending_a_v3 import _RESERVE_INPUT
from devnet.evm.treasury import token_of
from devnet.known_exchanges import LEND_FACTORIES
from devnet.known_lending import LEND_A_V3, TREASURY, place_of
from devnet.known_lending_b import LEND_B_V3, price_feed
from tests.rewinding import rewound
from tests.server.protocols.arithmetic import ask, mine_at, now, send

if TYPE_CHECKING:
    from devnet.evm.node import Node
    from tests.server.protocols.conftest import Asked

pytestmark = pytest.mark.devnet

POOL = LEND_A_V3["ethereum"]
SUPPLY = "supply(address,uint256,address,uint16)"
NOBODY = "0x" + "00" * 20


async def to_next_block(asked: Asked, node: Node) -> None:
    """Have what was sent happen, and the gateway see that there is another block."""
    await mine_at(node, await now(node) + 1)
    await asked.mine("ethereum")


async def supply(node: Node, symbol: str, amount: int) -> None:
    token = token_of(node.chain, symbol)
    await send(node, known.DEVELOPER, token.address, "mint(address,uint256)", known.VITALIK, amount)
    await send(node, known.VITALIK, token.address, "approve(address,uint256)", POOL.pool, amount)
    await send(node, known.VITALIK, POOL.pool, SUPPLY, token.address, amount, known.VITALIK, 0)


async def test_lend_a_a_reserve_is_dropped_and_another_listed_in_its_place(asked: Asked) -> None:
    """The reserves after it keep their ids, so their bits in a wallet's record are not their places in the list."""
    node = asked.devnet.nodes["ethereum"]
    token, rpc = token_of(node.chain, "USDT"), "GetLendAV3UserPositions"
    async with rewound(node):
        await asked.wallet(rpc, "ethereum", known.VITALIK)
        # Only an empty reserve can be dropped.
        withdraw = "withdraw(address,uint256,address)"
        await send(node, TREASURY, POOL.pool, withdraw, token.address, 2**256 - 1, TREASURY)
        await send(node, known.DEVELOPER, POOL.configurator, "dropReserve(address)", token.address)
        await supply(node, "MKR", 10**18)
        await to_next_block(asked, node)
        listed = await ask(node, POOL.pool, "getReservesList()", types="address[]")
        assert token.address.lower() not in listed
        with asked.sends("ethereum"):
            found = await asked.wallet(rpc, "ethereum", known.VITALIK)
        last = found.reserves[-1]
        assert (last.symbol, last.balance, last.is_collateral) == ("MKR", "1", True)

        parts = [place_of(f"lend-a V3 {name}") for name in ("AToken", "StableDebtToken", "VariableDebtToken")]
        strategy = place_of("lend-a V3 DefaultReserveInterestRateStrategy")
        names = [f"{word} {kind}" for word in ("supply", "variable", "stable") for kind in ("name", "symbol")]
        row = (*parts, token.decimals, strategy, token.address, TREASURY, NOBODY, *names, b"")
        await send(node, known.DEVELOPER, POOL.configurator, f"initReserves({_RESERVE_INPUT}[])", [row])
        await to_next_block(asked, node)
        await supply(node, "USDT", 2_500_000)
        await to_next_block(asked, node)
        with asked.sends("ethereum", "ethereum"):
            found = await asked.wallet(rpc, "ethereum", known.VITALIK)
        dollars, maker = ({row.symbol: row for row in found.reserves}[symbol] for symbol in ("USDT", "MKR"))
        # Nothing can be borrowed against it yet, so it is no collateral.
        assert (dollars.symbol, dollars.balance, dollars.debt, dollars.is_collateral) == ("USDT", "2.5", "0", False)
        assert (maker.symbol, maker.is_collateral) == ("MKR", True)
        assert dollars.balance_usd == 2.5 * 0.9997
        await asked.mine("ethereum")
        with asked.sends("ethereum"):
            again = await asked.wallet(rpc, "ethereum", known.VITALIK)
        assert [row.symbol for row in again.reserves] == [row.symbol for row in found.reserves]


async def test_lend_b_a_market_takes_another_collateral(asked: Asked) -> None:
    node, market = asked.devnet.nodes["ethereum"], LEND_B_V3["ethereum"][2]
    token, rpc = token_of(node.chain, "LINK"), "GetLendBV3UserPositions"
    async with rewound(node):
        await asked.wallet(rpc, "ethereum", known.VITALIK)
        values = (token.address, price_feed("LINK", ""), token.decimals, 7 * 10**17, 8 * 10**17)
        await send(node, known.DEVELOPER, market.address, "add_asset(address,address,uint8,uint64,uint64)", *values)
        await send(node, known.DEVELOPER, token.address, "mint(address,uint256)", known.VITALIK, 10**18)
        await send(node, known.VITALIK, token.address, "approve(address,uint256)", market.address, 10**18)
        give = "supplyTo(address,address,uint256)"
        await send(node, known.VITALIK, market.address, give, known.VITALIK, token.address, 10**18)
        await to_next_block(asked, node)
        with asked.sends("ethereum", "ethereum"):
            found = await asked.wallet(rpc, "ethereum", known.VITALIK)
        [row] = [row for row in found.markets if row.market_address == market.address]
        assert [(one.token.symbol, one.balance) for one in row.collateral] == [("LINK", "1")]
        await asked.mine("ethereum")
        with asked.sends("ethereum"):
            await asked.wallet(rpc, "ethereum", known.VITALIK)


async def test_a_lending_vault_is_opened(asked: Asked) -> None:
    node, factory = asked.devnet.nodes["ethereum"], LEND_FACTORIES["ethereum", 2]
    known_vault = (await asked.listing("GetPoolALendMarkets", "ethereum"))["markets"][0].vault_address
    async with rewound(node):
        # It stands for a new one: the factories do not mind that it is listed twice.
        await send(node, known.DEVELOPER, factory, "add(address)", known_vault)
        await to_next_block(asked, node)
        with asked.sends("ethereum", "ethereum"):
            found = (await asked.listing("GetPoolALendMarkets", "ethereum"))["markets"]
        assert found[-1].vault_address == known_vault
        assert found[-1].total_assets == found[0].total_assets
        await asked.mine("ethereum")
        with asked.sends("ethereum"):
            await asked.wallet("GetPoolALend", "ethereum", known.ALICE)
