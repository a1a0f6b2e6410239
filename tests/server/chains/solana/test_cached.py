"""What is kept: blocks and transactions, for good once their slot is finalized; never a balance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devnet import known_solana as known
from devnet.solana import world
from server.chains.capabilities.accounts import ReadsMints
from server.chains.view import ReadView
from server.upstream.cache import Cache
from tests.server.chains.solana.conftest import drive
from tests.server.upstream.cache.conftest import Clock

if TYPE_CHECKING:
    from devnet.solana.ledger import Ledger
    from tests.server.chains.solana.conftest import Front
    from tests.tallies import CallTally

pytestmark = pytest.mark.devnet

HOUR = 3600.0


async def _read(driver: object, slot: int) -> bytes:
    return (await driver.read_block_by_number(slot, ReadView())).SerializeToString()  # type: ignore[attr-defined]


async def test_a_finalized_block_is_asked_for_once(node: Front, ledger: Ledger, tally: CallTally):
    clock = Clock()
    cache = Cache(1 << 20, clock=clock)
    async with drive(tally, cache, local=node.url) as driver:
        await driver.read_height(ReadView())
        first = await _read(driver, known.FIRST_SLOT + 1)
        await driver.memory.finality.settled()
        clock.now += HOUR
        node.asked.clear()
        assert await _read(driver, known.FIRST_SLOT + 1) == first
        assert node.asked == []
        await driver.read_transaction(world.versioned(ledger), ReadView())
        node.asked.clear()
        await driver.read_transaction(world.versioned(ledger), ReadView())
        assert node.asked == []


async def test_what_no_node_calls_finalized_is_not_kept(node: Front, tally: CallTally):
    clock = Clock()
    node.twists["getSlot"] = lambda params: (
        {"result": known.FIRST_SLOT - 1} if params[0]["commitment"] == "finalized" else None
    )
    async with drive(tally, Cache(1 << 20, clock=clock), local=node.url) as driver:
        await driver.read_height(ReadView())
        await _read(driver, known.FIRST_SLOT + 1)
        await driver.memory.finality.settled()
        clock.now += HOUR
        node.asked.clear()
        await _read(driver, known.FIRST_SLOT + 1)
        assert [method for method, _ in node.asked].count("getBlock") == 1


async def test_balances_are_read_every_time(node: Front, tally: CallTally):
    async with drive(tally, Cache(1 << 20, clock=Clock()), local=node.url) as driver:
        for _ in range(3):
            await driver.read_balance(str(known.ALICE), ReadView())
        assert [method for method, _ in node.asked].count("getBalance") == 3


async def test_decimals_of_mints_are_asked_for_once_until_an_endpoint_proves_wrong(node: Front, tally: CallTally):
    async with drive(tally, None, local=node.url) as driver:
        mints = {"inputMint": str(known.USDC), "outputMint": str(known.WRAPPED_SOL)}
        reads = driver.capabilities[ReadsMints]
        assert await reads.read_decimals(mints, ReadView()) == {"inputMint": 6, "outputMint": 9}
        node.asked.clear()
        turned = {"inputMint": str(known.WRAPPED_SOL), "outputMint": str(known.USDC)}
        assert await reads.read_decimals(turned, ReadView()) == {"inputMint": 9, "outputMint": 6}
        assert node.asked == []
        driver.memory.forget()
        await reads.read_decimals(mints, ReadView())
        assert node.asked != []
