"""What reads of lend-a's and lend-d's yields cost, exactly, and what governance, feeds and nodes do to them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from devnet import known
from devnet.evm.lending_a_v3 import _RESERVE_INPUT, dollars, price_source
from devnet.evm.treasury import token_of
from devnet.known_lending import TREASURY, place_of
from devnet.launcher import Devnet
from server.errors import NotFound, PriceUnavailable
from tests.rewinding import rewound
from tests.server.chains.evm.nodes import LatestOnly, MovesOn
from tests.server.protocols.arithmetic import ask, mine_at, now, send
from tests.server.protocols.pooled_site import (
    BALANCE,
    CHAINS,
    LENDING,
    POOLS,
    PRICE,
    RPCS_D,
    Site,
    open_site,
    pool_of,
    rpcs_of,
)
from tests.tallies import CallTally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from devnet.evm.node import Node

pytestmark = pytest.mark.devnet

REVERTS = "0x5f5ffd"
NOBODY = "0x" + "00" * 20
BOTH = ("ethereum", "hyperliquid")
UBTC = "0x9FDBdA0A5e284c32744D2f17Ee5c74B284993463"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def lending() -> AsyncIterator[Devnet]:
    async with Devnet.start(tuple(CHAINS), mines=False) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def site(lending: Devnet) -> AsyncIterator[Site]:
    """Readers without tables yet, which keep what they read of a block."""
    overrides = lending.settings_overrides()["chains"]
    async with open_site({slug: overrides[slug] for slug in CHAINS}, kept=True) as opened:
        yield opened


def dollar(node: Node) -> str:
    """Return the pool of dollars."""
    return pool_of(node.chain.slug, "USDC", token_of(node.chain, "USDC").address)


async def next_block(site: Site, node: Node) -> None:
    """Make a block with what was sent, and have the gateway see it by a read that no test repeats."""
    await mine_at(node, await now(node) + 1)
    seen = next(_UNSEEN)
    await site.row(BALANCE, node.chain.slug, dollar(node), f"0x{seen:040x}")


_UNSEEN = iter(range(0x70000, 0x80000))


def wallet_of(rpc: str) -> str:
    return known.VITALIK if rpc == BALANCE else ""


# What reads cost


@pytest.mark.parametrize(("chain", "rpc"), [(chain, rpc) for chain in CHAINS for rpc in rpcs_of(chain)])
async def test_the_first_read_is_three_requests_a_later_one_is_one_and_the_same_none(
    site: Site, lending: Devnet, chain: str, rpc: str
) -> None:
    node = lending.nodes[chain]
    pool, wallet = dollar(node), wallet_of(rpc)
    with site.sends(chain, chain, chain):
        await site.row(rpc, chain, pool, wallet)
    with site.sends():
        again = await site.row(rpc, chain, pool, wallet)
    await next_block(site, node)
    with site.sends(chain):
        assert (await site.row(rpc, chain, pool, wallet)).block_height == again.block_height + 1
    for other in rpcs_of(chain):
        if other != rpc:
            with site.sends(chain):
                await site.row(other, chain, pool, wallet_of(other))
    with site.sends(chain):
        await site.best(chain)


@pytest.mark.parametrize("chain", BOTH)
async def test_questions_of_one_moment_leave_together(site: Site, lending: Devnet, chain: str) -> None:
    node = lending.nodes[chain]
    await site.row(LENDING, chain, dollar(node))
    await next_block(site, node)
    pools = [
        pool_of(chain, reserve.symbol, token_of(node.chain, reserve.symbol).address)
        for reserve in POOLS[chain].set_up.reserves
    ]
    with site.sends(chain):
        rows = await asyncio.gather(*(site.row(LENDING, chain, pool) for pool in pools))
    assert len({row.block_height for row in rows}) == 1


async def test_all_reserves_of_the_largest_market_are_one_execution() -> None:
    tally = CallTally()
    async with Devnet.start(["ethereum"], mines=False, of_mainnet_size=True) as large:
        overrides = large.settings_overrides()["chains"]
        async with open_site({"ethereum": overrides["ethereum"]}, tally=tally) as site:
            await site.best("ethereum")
            tally.requests.clear()
            rows = await site.best("ethereum")
    assert len(rows) == 67
    assert tally.requests == [1]


async def test_an_unknown_pool_costs_a_look_at_the_list_and_nothing_is_asked_of_it(site: Site, lending: Devnet) -> None:
    node = lending.nodes["hyperliquid"]
    # A token that is there and is no reserve, an account, and what was a reserve once.
    for pool in (token_of(node.chain, "USDC").address[:-4] + "0000", known.ALICE, token_of(node.chain, "LINK").address):
        await next_block(site, node)
        for rpc in RPCS_D:
            with pytest.raises(NotFound, match="no such pool of lend-d on hyperliquid"):
                await site.row(rpc, "hyperliquid", pool, wallet_of(rpc))
        await next_block(site, node)
        with site.sends("hyperliquid"), pytest.raises(NotFound):
            await site.row(LENDING, "hyperliquid", pool)


# Governance


async def list_reserve(node: Node, symbol: str) -> None:
    pool, token = POOLS[node.chain.slug], token_of(node.chain, symbol)
    parts = [place_of(f"lend-a V3 {name}") for name in ("AToken", "StableDebtToken", "VariableDebtToken")]
    strategy = place_of("lend-a V3 DefaultReserveInterestRateStrategy")
    names = [f"{word} {kind}" for word in ("supply", "variable", "stable") for kind in ("name", "symbol")]
    row = (*parts, token.decimals, strategy, token.address, TREASURY, NOBODY, *names, b"")
    await send(node, known.DEVELOPER, pool.configurator, f"initReserves({_RESERVE_INPUT}[])", [row])


@pytest.mark.parametrize("chain", BOTH)
async def test_a_reserve_is_listed_and_dropped(site: Site, lending: Devnet, chain: str) -> None:
    node, pool, symbol = lending.nodes[chain], POOLS[chain], "UNI" if chain == "ethereum" else "LINK"
    token = token_of(node.chain, symbol)
    name = pool_of(chain, symbol, token.address)
    async with rewound(node):
        with pytest.raises(NotFound):
            await site.row(LENDING, chain, name)
        await list_reserve(node, symbol)
        await next_block(site, node)
        row = await site.row(LENDING, chain, name)
        # It has no feed yet.
        assert (row.tvl, row.HasField("tvl"), row.supply_apy) == (0, False, 0)
        if chain == "ethereum":
            with pytest.raises(PriceUnavailable, match=f"no price of {symbol}"):
                await site.row(PRICE, chain, name)
        assert name in await site.best(chain)
        await next_block(site, node)
        with site.sends(chain):
            await site.row(LENDING, chain, name)

        await send(node, known.DEVELOPER, pool.configurator, "dropReserve(address)", token.address)
        await next_block(site, node)
        for rpc in rpcs_of(chain):
            with pytest.raises(NotFound, match="no such pool"):
                await site.row(rpc, chain, name, wallet_of(rpc))
        assert name not in await site.best(chain)


@pytest.mark.parametrize("chain", BOTH)
async def test_a_reserve_is_frozen_paused_and_made_inactive(site: Site, lending: Devnet, chain: str) -> None:
    node, pool = lending.nodes[chain], POOLS[chain]
    token = token_of(node.chain, "USDC")
    async with rewound(node):
        before = await site.row(LENDING, chain, dollar(node))
        for signature in ("setReserveFreeze(address,bool)", "setReservePause(address,bool)"):
            await send(node, known.DEVELOPER, pool.configurator, signature, token.address, True)
            await next_block(site, node)
            row = await site.row(LENDING, chain, dollar(node))
            assert (row.supply_apy, row.borrow_apy) == (before.supply_apy, before.borrow_apy)
            assert row.tvl >= before.tvl
        await list_reserve(node, "UNI" if chain == "ethereum" else "LINK")
        empty = token_of(node.chain, "UNI" if chain == "ethereum" else "LINK")
        await send(node, known.DEVELOPER, pool.configurator, "setReserveActive(address,bool)", empty.address, False)
        await next_block(site, node)
        with pytest.raises(NotFound, match="no such pool"):
            await site.row(LENDING, chain, pool_of(chain, empty.symbol, empty.address))


@pytest.mark.parametrize("chain", BOTH)
async def test_governance_appoints_another_oracle(site: Site, lending: Devnet, chain: str) -> None:
    """The old one stays where it is and goes on answering."""
    node, pool = lending.nodes[chain], POOLS[chain]
    other, source = place_of("another oracle"), price_source("USDC")
    async with rewound(node):
        before = (await site.row(LENDING, chain, dollar(node))).tvl
        # The same code and storage elsewhere, then another price at its own source.
        code = await node.call("eth_getCode", pool.oracle, "latest")
        await node.call("anvil_setCode", other, code)
        await copy_source(node, pool.oracle, other, token_of(node.chain, "USDC").address, place_of("another source"))
        await node.call("anvil_setCode", place_of("another source"), await node.call("eth_getCode", source, "latest"))
        await node.call("anvil_setStorageAt", place_of("another source"), "0x" + "00" * 32, hex256(dollars("1.25")))
        await send(node, known.DEVELOPER, pool.provider, "setPriceOracle(address)", other)
        await next_block(site, node)
        await site.row(LENDING, chain, dollar(node))
        await next_block(site, node)
        with site.sends(chain):
            lent = await site.row(LENDING, chain, dollar(node))
        assert lent.tvl == pytest.approx(before * 1.25 / 1.0001, rel=1e-6)
        if chain == "ethereum":
            assert (await site.row(PRICE, chain, dollar(node))).price.usd == 1.25


async def copy_source(node: Node, oracle: str, other: str, asset: str, source: str) -> None:
    """Put a source for an asset into the oracle's table, which is its first variable."""
    slot = "0x" + keccak(encode(["address", "uint256"], [asset, 0])).hex()
    assert int(await node.call("eth_getStorageAt", oracle, slot, "latest"), 16) == int(price_source("USDC"), 16)
    await node.call("anvil_setStorageAt", other, slot, hex256(int(source, 16)))


def hex256(number: int) -> str:
    return "0x" + number.to_bytes(32, "big").hex()


# Names


async def test_of_two_tokens_that_call_themselves_the_same_both_can_be_named(lending: Devnet) -> None:
    """On the real polygon the bridged token has called itself USDC too."""
    node = lending.nodes["polygon"]
    bridged = token_of(node.chain, "USDC.e").address
    async with rewound(node):
        slots = {slot: await node.call("eth_getStorageAt", bridged, hex(slot), "latest") for slot in range(40)}
        [at] = [slot for slot, text in slots.items() if bytes.fromhex(text[2:]).startswith(b"USDC.e\0")]
        await node.call("anvil_setStorageAt", bridged, hex256(at), "0x" + b"USDC".ljust(31, b"\0").hex() + "08")
        await node.call("evm_mine")
        assert (await ask(node, bridged, "symbol()", types="string")).rstrip("\0") == "USDC"
        async with open_site({"polygon": lending.settings_overrides()["chains"]["polygon"]}) as site:
            for name, supplied, key in (("usdc", 5_001, "USDC"), ("usdc.E", 700, "USDC.e")):
                row = await site.row(BALANCE, "polygon", name, known.VITALIK)
                assert {symbol: int(amount) for symbol, amount in row.balance.amounts.items()} == {key: supplied}
            assert {"USDC", "USDC.e"} < set(await site.best("polygon"))


# Feeds


FEEDS: dict[str, Callable[[Node, str], Any]] = {
    "reverts": lambda node, source: node.call("anvil_setCode", source, REVERTS),
    "has no code": lambda node, source: node.call("anvil_setCode", source, "0x"),
    "0": lambda node, source: node.call("anvil_setStorageAt", source, "0x" + "00" * 32, hex256(0)),
    "below 0": lambda node, source: node.call("anvil_setStorageAt", source, "0x" + "00" * 32, hex256(2**256 - 5)),
}


@pytest.mark.parametrize("fault", FEEDS)
@pytest.mark.parametrize("chain", BOTH)
async def test_a_feed_that_gives_no_price(site: Site, lending: Devnet, chain: str, fault: str) -> None:
    node = lending.nodes[chain]
    pool = dollar(node)
    async with rewound(node):
        before = await site.row(LENDING, chain, pool)
        await FEEDS[fault](node, price_source("USDC"))
        await next_block(site, node)
        with site.sends(chain):
            row = await site.row(LENDING, chain, pool)
        assert (row.HasField("tvl"), row.supply_apy) == (False, before.supply_apy)
        wallet = known.VITALIK if chain == "ethereum" else TREASURY
        row = await site.row(BALANCE, chain, pool, wallet)
        assert row.balance.amounts["USDC"] > 1_000
        assert not row.balance.HasField("usd")
        row = await site.row(BALANCE, chain, pool, known.UNTOUCHED)
        assert (dict(row.balance.amounts), row.balance.usd, row.balance.HasField("usd")) == ({"USDC": 0}, 0, True)
        if chain == "ethereum":
            with pytest.raises(PriceUnavailable, match="no price of USDC"):
                await site.row(PRICE, chain, pool)
        with site.sends(chain):
            rows = await site.best(chain)
        assert [name for name, row in rows.items() if not row.HasField("tvl")] == [pool]


# A chain whose nodes know the latest state alone


class MovingLatest(MovesOn):
    """A node that answers every height with the latest state, and makes a block after each of so many calls."""

    async def _forward(self, item: dict[str, Any]) -> Any:
        if item["method"] == "eth_call":
            item = item | {"params": [item["params"][0], "latest"]}
        return await super()._forward(item)


@asynccontextmanager
async def moving(node: Node, *, kept: bool = True) -> AsyncIterator[tuple[Site, MovingLatest]]:
    """Open readers over the node, which is set back at the end, and what stands before it."""
    async with rewound(node), aiohttp.ClientSession() as session:
        front = MovingLatest(node.url, session, 0)
        await front.start()
        try:
            async with open_site(through(front), kept=kept) as site:
                yield site, front
        finally:
            await front.stop()


def through(front: LatestOnly) -> dict[str, Any]:
    return {"hyperliquid": {"endpoints": [{"label": "local", "url": front.url}]}}


async def test_nodes_that_ignore_heights_answer_all_of_it(lending: Devnet) -> None:
    node = lending.nodes["hyperliquid"]
    async with aiohttp.ClientSession() as session:
        front = LatestOnly(node.url, session)
        await front.start()
        try:
            async with open_site(through(front), kept=True) as site:
                for rpc in RPCS_D:
                    assert (await site.row(rpc, "hyperliquid", dollar(node), wallet_of(rpc))).block_height > 0
                assert len(await site.best("hyperliquid")) == 7
        finally:
            await front.stop()


@pytest.mark.parametrize("moves", [1, 2, 3, 5])
async def test_a_chain_that_moves_on_between_the_steps_of_the_first_read(lending: Devnet, moves: int) -> None:
    node = lending.nodes["hyperliquid"]
    async with moving(node) as (site, front):
        front.moves = moves
        row = await site.row(LENDING, "hyperliquid", dollar(node))
        assert row.tvl > 19_000
        assert row.block_height <= int(await node.call("eth_blockNumber"), 16)


async def test_a_chain_that_never_stands_still_is_read_warm_in_one_request(lending: Devnet) -> None:
    """Every question is one execution: it has nothing to wait for."""
    node = lending.nodes["hyperliquid"]
    async with moving(node) as (site, front):
        await site.row(LENDING, "hyperliquid", dollar(node))
        front.moves = 1000
        for rpc in RPCS_D:
            with site.sends("hyperliquid"):
                await site.row(rpc, "hyperliquid", UBTC, known.ALICE if rpc == BALANCE else "")
        with site.sends("hyperliquid"):
            await site.best("hyperliquid")


async def test_the_first_read_too_is_answered_on_a_chain_that_never_stands_still(lending: Devnet) -> None:
    """What a table's steps read need not be of one block: the read that uses it compares it."""
    node = lending.nodes["hyperliquid"]
    async with moving(node) as (site, front):
        front.moves = 1000
        row = await site.row(LENDING, "hyperliquid", dollar(node))
        assert row.tvl > 19_000
        assert 1000 - front.moves <= 6


async def test_a_reserve_that_is_listed_on_such_a_chain_is_found_while_it_moves_on(lending: Devnet) -> None:
    node = lending.nodes["hyperliquid"]
    token = token_of(node.chain, "LINK")
    async with moving(node, kept=False) as (site, front):
        await site.row(LENDING, "hyperliquid", dollar(node))
        await list_reserve(node, "LINK")
        await mine_at(node, await now(node) + 1)
        front.moves = 6
        row = await site.row(BALANCE, "hyperliquid", token.address, known.ALICE)
        assert dict(row.balance.amounts) == {"LINK": 0}
