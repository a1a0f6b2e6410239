"""Blocks come while somebody asks, at a pinned base fee, and old heights stay readable."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from devnet import known
from devnet.evm.mining import Miner, paced, processor_time
from devnet.launcher import Devnet
from tests.e2e.devnet_reads import read

if TYPE_CHECKING:
    from devnet.evm.node import Node

pytestmark = pytest.mark.devnet


async def height_of(node: Node) -> int:
    return int(await node.call("eth_blockNumber"), 16)


async def test_old_heights_stay_readable_and_the_base_fee_stays_put() -> None:
    async with Devnet.start(["gnosis"], mines=False) as devnet:
        node = devnet.nodes["gnosis"]
        first = node.chain.height
        before = await height_of(node)
        after = await devnet.mine("gnosis", 520)
        assert after == before + 520
        assert int(await node.call("eth_getBalance", known.VITALIK, hex(first)), 16) == known.NATIVE_AT_FIRST
        token = node.chain.tokens[1]
        balance = await read(node, token.address, "balanceOf(address)", [known.VITALIK], "uint256", first)
        assert balance == known.vitalik_at_first(token)
        for number in (before + 1, after - 1, after):
            block = await node.call("eth_getBlockByNumber", hex(number), False)
            assert int(block["baseFeePerGas"], 16) == node.chain.base_fee


async def test_the_newest_block_is_of_the_present(devnet: Devnet) -> None:
    node = devnet.nodes["polygon"]
    await devnet.mine("polygon")
    made = int((await node.call("eth_getBlockByNumber", "latest", False))["timestamp"], 16)
    first = int((await node.call("eth_getBlockByNumber", hex(node.chain.height), False))["timestamp"], 16)
    assert made > first
    # Later ones follow the clock: mined twice within two seconds, they are no more than that apart.
    await devnet.mine("polygon")
    assert int((await node.call("eth_getBlockByNumber", "latest", False))["timestamp"], 16) - made <= 2


async def test_blocks_come_while_somebody_asks_and_stop_when_nobody_does() -> None:
    async with Devnet.start(["polygon"], mines=False) as devnet:
        node = devnet.nodes["polygon"]
        if processor_time(node.pid) is None:
            pytest.skip("this system does not tell the processor time of another process")
        timer = asyncio.create_task(Miner(node, interval=0.2, pause_after=0.8).run())
        try:
            start = await height_of(node)
            for _ in range(8):
                await asyncio.sleep(0.25)
                moved = await height_of(node)
            assert moved >= start + 3
            await asyncio.sleep(1.8)  # beyond the pause, whatever the machine's load
            resting = await height_of(node)
            assert resting <= moved + 7  # bounded by the pause, not by the wait; asking has woken it again
            await asyncio.sleep(0.7)
            assert await height_of(node) > resting
        finally:
            timer.cancel()
            await asyncio.gather(timer, return_exceptions=True)


def test_long_sessions_slow_down() -> None:
    assert paced(2.0, 0) == 2.0
    assert paced(2.0, 300) == 4.0
    day, mined, clock = 86_400.0, 0, 0.0
    while clock < day:
        clock += paced(2.0, mined)
        mined += 1
    assert 1_500 < mined < 2_500


async def test_an_idle_chain_stands_still() -> None:
    async with Devnet.start(["polygon"], mines=False) as devnet:
        node = devnet.nodes["polygon"]
        height = await height_of(node)
        timer = asyncio.create_task(Miner(node, interval=0.05, pause_after=0.0).run())
        try:
            await asyncio.sleep(1.5)
            assert await height_of(node) == height
        finally:
            timer.cancel()
            await asyncio.gather(timer, return_exceptions=True)
