"""Chains whose nodes announce blocks: they are read at once, and what is announced is not believed."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from server.streams.blocks import BLOCKS
from tests.faults.simulator import FaultyNode, spoil
from tests.server.streams.clients import ADDED, BlockClient
from tests.server.streams.conftest import Gateway, open_gateway
from tests.server.upstream.push_nodes import PushNode, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.chains.evm.nodes import Anvil

pytestmark = [pytest.mark.devnet, pytest.mark.asyncio(loop_scope="session")]

SLUG = "ethereum"
HEADER = "eth_getBlockByNumber"


@pytest_asyncio.fixture(loop_scope="session")
async def front(node: Anvil) -> AsyncIterator[FaultyNode]:
    front = FaultyNode(node.url)
    await front.start()
    yield front
    await front.close()


async def watching(gateway: Gateway) -> BlockClient:
    client = BlockClient()
    client.attach(gateway.followers.watch(SLUG, BLOCKS))
    await client.next()
    return client


def pushed(url: str, ws_url: str) -> list[dict[str, Any]]:
    return [{"label": "a", "url": url, "ws_url": ws_url}]


async def test_an_announced_block_is_read_at_once_and_once(front: FaultyNode, node: Anvil) -> None:
    endpoints = pushed(front.url, node.url.replace("http", "ws"))
    async with open_gateway(endpoints=endpoints) as gateway:
        client = await watching(gateway)
        pushes = gateway.chains.get(SLUG).driver.pools["jsonrpc"].pushes
        await until(lambda: pushes.is_healthy)
        front.asked.clear()
        # The poll is twelve seconds away, and the test would end by its limit.
        async with asyncio.timeout(6):
            for _ in range(5):
                await node.call("anvil_mine", "0x1")
                assert (await client.next()).kind == ADDED
        assert front.methods.count(HEADER) == 5
        await client.close()


async def test_untrue_repeated_and_reordered_announcements_change_nothing(front: FaultyNode, node: Anvil) -> None:
    liar = PushNode()
    await liar.start()
    async with open_gateway(endpoints=pushed(front.url, liar.url)) as gateway:
        client = await watching(gateway)
        await liar.subscribed()
        top = await node.block("latest")
        front.asked.clear()
        number = int(top["number"], 16)
        for _ in range(3):
            await liar.announce(number, top["hash"])
            await liar.announce(number - 7, (await node.block(hex(number - 7)))["hash"])
        await asyncio.sleep(0.3)
        assert front.methods.count(HEADER) == 0
        for lie in range(40):
            await liar.announce(number + 1000 + lie, f"0x{lie:064x}")
            await asyncio.sleep(0.06)
        # Three looks, each with another one soon after; then nothing is listened to for one pause.
        assert front.methods.count(HEADER) <= 6
        assert client.kinds == client.kinds[:1]
        await node.call("anvil_mine", "0x1")
        gateway.followers.wake(SLUG)
        event = await client.next()
        assert (event.kind, event.block_number) == (ADDED, number + 1)
        await client.close()
    await liar.runner.cleanup()


async def test_a_socket_is_open_only_while_somebody_watches(front: FaultyNode) -> None:
    pusher = PushNode()
    await pusher.start()
    async with open_gateway(endpoints=pushed(front.url, pusher.url)) as gateway:
        first, second = await watching(gateway), await watching(gateway)
        await pusher.subscribed()
        await first.close()
        assert len(pusher.sockets) == 1
        await second.close()
        await until(lambda: not pusher.sockets)
        assert len(pusher.handshakes) == 1
    await pusher.runner.cleanup()


async def test_what_an_endpoint_pushes_is_read_of_it(node: Anvil, front: FaultyNode) -> None:
    """The other endpoint is behind: it would answer with the block before."""
    behind = FaultyNode(node.url)
    await behind.start()
    stale = json.dumps(await node.block("latest"))
    pusher = PushNode()
    await pusher.start()

    behind.fault = spoil(HEADER, lambda answer: answer.update(result=json.loads(stale)))
    endpoints = [
        {"label": "behind", "url": behind.url, "weight": 1000},
        {"label": "fresh", "url": front.url, "ws_url": pusher.url},
    ]
    async with open_gateway(endpoints=endpoints) as gateway:
        client = await watching(gateway)
        await pusher.subscribed()
        await node.call("anvil_mine", "0x1")
        top = await node.block("latest")
        async with asyncio.timeout(6):
            await pusher.announce(int(top["number"], 16), top["hash"])
            assert (await client.next()).block_hash == top["hash"]
        await client.close()
    await pusher.runner.cleanup()
    await behind.close()
