"""Blocks come while somebody asks, at a pinned base fee, and old heights stay readable."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from devnet import known
from devnet.evm import mining
from devnet.evm.activity import Listener
from devnet.evm.mining import paced
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
    began = time.time()
    await devnet.mine("polygon")
    made = int((await node.call("eth_getBlockByNumber", "latest", False))["timestamp"], 16)
    first = int((await node.call("eth_getBlockByNumber", hex(node.chain.height), False))["timestamp"], 16)
    assert made > first
    # Later ones follow the clock.
    await devnet.mine("polygon")
    latest = int((await node.call("eth_getBlockByNumber", "latest", False))["timestamp"], 16)
    assert latest - made <= time.time() - began + 2


async def test_blocks_come_while_somebody_asks_and_stop_when_nobody_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mining, "PAUSE_AFTER", 1.0)
    async with Devnet.start(["polygon"]) as devnet:
        node, miner = devnet.nodes["polygon"], devnet.miners["polygon"]
        node.chain = replace(node.chain, interval=0.4)
        start = node.chain.height + known.SEEDED_BLOCKS + 1
        await asyncio.sleep(1.5)
        assert miner.mined == 1  # the block of the present alone: nobody has asked yet
        assert await height_of(node) == start
        for _ in range(8):
            await asyncio.sleep(0.25)
            moved = await height_of(node)
        assert moved >= start + 2
        await asyncio.sleep(2)  # beyond the pause
        resting = miner.mined
        await asyncio.sleep(1.5)
        assert miner.mined == resting


def test_the_devnets_own_requests_are_no_questions() -> None:
    with Listener() as listener:
        ear, sink = listener.open()
        os.write(sink, b"anvil_setNextBlockBaseFeePerGas\nevm_mine\n\n    Block Number: 7\net")
        time.sleep(0.5)
        assert not ear.asked_within(60)
        os.write(sink, b"h_getBalance\n")
        for _ in range(200):
            if ear.asked_within(60):
                break
            time.sleep(0.05)
        assert ear.asked_within(60)
        ear.forget()
        time.sleep(0.5)
        assert not ear.asked_within(60)
        os.close(sink)


def test_long_sessions_slow_down() -> None:
    assert paced(2.0, 0) == 2.0
    assert paced(2.0, 300) == 4.0
    day, mined, clock = 86_400.0, 0, 0.0
    while clock < day:
        clock += paced(2.0, mined)
        mined += 1
    assert 1_500 < mined < 2_500
