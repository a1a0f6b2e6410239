"""What a follower believes where its nodes differ, lie, lag or fail, and what its readers learn of it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from server.streams.blocks import BLOCKS
from tests.faults.simulator import FaultyNode, Request, honest, spoil, write_answer
from tests.server.chains.evm.nodes import Anvil
from tests.server.streams.clients import ADDED, PROGRESS, REMOVED, RESUMED, STALLED, BlockClient
from tests.server.streams.conftest import BEGIN, SLUG, chain_of, open_gateway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp

    from tests.server.streams.conftest import Gateway

pytestmark = pytest.mark.devnet

# Its blocks are so quick that ten seconds count as silence, and two as overdue.
QUICK = "arbitrum"
GENESIS = ("--chain-id", "42161", "--timestamp", "1700000000")
LOOKS = 5


@pytest_asyncio.fixture(loop_scope="session")
async def twins(plain_session: aiohttp.ClientSession) -> AsyncIterator[list[Anvil]]:
    """Three nodes of one chain, block for block."""
    nodes = [await Anvil.start(plain_session, *GENESIS) for _ in range(3)]
    for node in nodes:
        await grow(node, BEGIN)
    yield nodes
    for node in nodes:
        node.stop()


async def grow(node: Anvil, blocks: int, step: int = 12) -> None:
    """Make blocks whose hashes depend on nothing but those below and the step between their times."""
    made_at = int((await node.call("eth_getBlockByNumber", "latest", False))["timestamp"], 16)
    for later in range(1, blocks + 1):
        await node.call("evm_setNextBlockTimestamp", made_at + later * step)
        await node.call("evm_mine")


async def watch(gateway: Gateway, slug: str = QUICK) -> BlockClient:
    client = BlockClient()
    client.attach(gateway.followers.watch(slug, BLOCKS))
    await client.next()
    return client


async def look(gateway: Gateway, times: int = LOOKS, slug: str = QUICK) -> None:
    """Have the chain looked at again and again."""
    for _ in range(times):
        gateway.followers.wake(slug)
        await asyncio.sleep(0.05)


async def reach(client: BlockClient, gateway: Gateway, wanted: dict[int, str], slug: str = QUICK) -> None:
    """Read until the client holds these blocks, while the chain is looked at."""
    reading = asyncio.ensure_future(client.until(lambda client: client.blocks == wanted))
    while not reading.done():
        await look(gateway, 1, slug)
    await reading


async def test_a_fork_of_two_nodes_is_not_followed_to_and_fro(twins: list[Anvil]) -> None:
    one, other = twins[:2]
    async with open_gateway(one.url, other.url, slug=QUICK) as gateway:
        client = await watch(gateway)
        await grow(one, 2)
        await grow(other, 2, step=13)
        branches = [await chain_of(node, BEGIN) for node in (one, other)]
        reading = asyncio.ensure_future(client.until(lambda client: client.blocks in branches))
        while not reading.done():
            await look(gateway, 1)
        followed = branches.index(client.blocks)
        await look(gateway)
        # Both go on, each on its own: the stream stays where it is.
        await grow(one, 1)
        await grow(other, 1, step=13)
        branches = [await chain_of(node, BEGIN) for node in (one, other)]
        await reach(client, gateway, branches[followed])
        await look(gateway)
        assert client.kinds == [PROGRESS] + [ADDED] * 3
        await client.close()


async def test_a_branch_that_most_nodes_leave_is_left(twins: list[Anvil]) -> None:
    async with open_gateway(*(node.url for node in twins), slug=QUICK) as gateway:
        client = await watch(gateway)
        for node in twins:
            await grow(node, 3)
        await reach(client, gateway, await chain_of(twins[0], BEGIN))
        for node in twins[1:]:
            await node.call("anvil_rollback", 2)
            await grow(node, 3, step=13)
        await reach(client, gateway, await chain_of(twins[1], BEGIN))
        assert client.kinds.count(REMOVED) == 2
        await look(gateway)
        assert client.kinds.count(REMOVED) == 2
        await client.close()


async def test_a_node_that_invents_headers_is_not_believed(twins: list[Anvil]) -> None:
    liar = FaultyNode(twins[0].url)
    await liar.start()

    def invent(answer: dict[str, Any]) -> None:
        block = answer.get("result")
        if isinstance(block, dict) and int(block["number"], 16) > BEGIN:
            block["hash"] = "0x" + "11" * 32
            block["parentHash"] = "0x" + "22" * 32

    async with open_gateway(liar.url, twins[1].url, twins[2].url, slug=QUICK) as gateway:
        client = await watch(gateway)
        liar.fault = spoil("eth_getBlockByNumber", invent)
        for _ in range(3):
            for node in twins:
                await grow(node, 2)
            await reach(client, gateway, await chain_of(twins[1], BEGIN))
        assert REMOVED not in client.kinds
        await client.close()
    await liar.close()


async def test_a_node_that_lags_takes_nothing_back(twins: list[Anvil]) -> None:
    async with open_gateway(twins[0].url, twins[1].url, slug=QUICK) as gateway:
        client = await watch(gateway)
        for node in twins[:2]:
            await grow(node, 2)
        # From now on the second one stands still.
        await grow(twins[0], 2)
        await reach(client, gateway, await chain_of(twins[0], BEGIN))
        await look(gateway, 30)
        assert client.kinds == [PROGRESS] + [ADDED] * 4
        await client.close()


async def test_answers_of_several_moments_come_to_one_chain(node: Anvil) -> None:
    """The chain is replaced between the read of its newest block and that of those below."""
    front = FaultyNode(node.url)
    await front.start()
    async with open_gateway(front.url) as gateway:
        client = await watch(gateway, SLUG)
        changes = 2

        async def replace(request: Request) -> None:
            nonlocal changes
            answer = await request.node_answer()
            if changes and b'"latest"' in request.body:
                changes -= 1
                await node.call("anvil_reorg", 4, [])
                await node.call("anvil_mine", "0x1")
            write_answer(request, json.dumps(answer).encode())

        await node.call("anvil_mine", "0x6")
        gateway.followers.wake(SLUG)
        await client.until(lambda client: len(client.blocks) == 6)
        front.fault = replace
        await node.call("anvil_mine", "0x4")
        reading = asyncio.ensure_future(client.until(lambda client: len(client.blocks) == 12))
        while not reading.done():
            await look(gateway, 1, SLUG)
        await reading
        front.fault = honest
        await reach(client, gateway, await chain_of(node, BEGIN), SLUG)
        await client.close()
    await front.close()


async def test_silence_is_said_and_ends_when_blocks_come_again(plain_session: aiohttp.ClientSession) -> None:
    node = await Anvil.start(plain_session, "--chain-id", "42161")
    await node.call("anvil_mine", hex(BEGIN))
    front = FaultyNode(node.url)
    await front.start()
    async with open_gateway(front.url, slug=QUICK) as gateway:
        client = await watch(gateway)
        # The node does not answer at all: that ends no stream.
        await front.stop()
        assert (await client.next()).kind == STALLED
        late = await watch(gateway)
        assert (await late.next()).kind == STALLED
        await front.start()
        await node.call("anvil_mine", "0x1")
        for reader in (client, late):
            await reader.until(lambda reader: len(reader.blocks) == 1)
            assert reader.kinds == [PROGRESS, STALLED, RESUMED, ADDED]
            await reader.close()
    await front.close()
    node.stop()
