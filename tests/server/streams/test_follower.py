"""One chain followed on a real node: reorganisations, readers that come and go, and what all of it costs the node."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from runtime.metrics import REGISTRY
from server.errors import UpstreamDisagrees, UpstreamUnavailable
from server.streams.blocks import BLOCKS
from tests.server.streams.clients import ADDED, PROGRESS, REMOVED, ROLLED_BACK, BlockClient
from tests.server.streams.conftest import BEGIN, SLUG, chain_of, open_gateway

if TYPE_CHECKING:
    from server.chains.capabilities.following import Link
    from tests.server.chains.evm.nodes import Anvil
    from tests.server.streams.conftest import Gateway

pytestmark = pytest.mark.devnet


async def watch(gateway: Gateway, cursor: str = "") -> BlockClient:
    """Return a client whose stream has begun."""
    client = BlockClient()
    client.attach(gateway.followers.watch(SLUG, BLOCKS, cursor))
    await client.next()
    return client


async def mine(gateway: Gateway, node: Anvil, blocks: int, interval: int = 12) -> None:
    await node.call("anvil_mine", hex(blocks), hex(interval))
    gateway.followers.wake(SLUG)


async def reach(client: BlockClient, wanted: dict[int, str]) -> None:
    """Read until the client holds these blocks; what it holds on the way is checked by itself."""
    await client.until(lambda client: client.blocks == wanted)


async def test_a_stream_begins_where_the_chain_is_and_sends_what_comes(gateway: Gateway, node: Anvil) -> None:
    client = await watch(gateway)
    assert client.kinds == [PROGRESS]
    assert client.events[0].block_number == BEGIN
    await mine(gateway, node, 3)
    await reach(client, await chain_of(node, BEGIN))
    assert client.kinds == [PROGRESS] + [ADDED] * 3
    block = await node.call("eth_getBlockByNumber", hex(BEGIN + 1), False)
    sent = client.events[1].block
    assert (sent.gas_limit, sent.base_fee_per_gas) == (
        str(int(block["gasLimit"], 16)),
        str(int(block["baseFeePerGas"], 16)),
    )
    assert (sent.transaction_count, sent.timestamp.seconds) == (0, int(block["timestamp"], 16))
    await client.close()


@pytest.mark.parametrize("depth", [1, 3, 20])
async def test_a_reorganisation_takes_back_what_was_sent(depth: int, gateway: Gateway, node: Anvil) -> None:
    client = await watch(gateway)
    await mine(gateway, node, 25)
    before = await chain_of(node, BEGIN)
    await reach(client, before)
    await node.call("anvil_reorg", depth, [])
    gateway.followers.wake(SLUG)
    after = await chain_of(node, BEGIN)
    await reach(client, after)
    changes = client.kinds[26:]
    assert changes == [REMOVED] * depth + [ADDED] * depth
    added = {event.block_hash: event.block for event in client.events if event.kind == ADDED}
    removed = [event for event in client.events if event.kind == REMOVED]
    assert [event.block_hash for event in removed] == [*reversed(before.values())][:depth]
    assert all(event.block == added[event.block_hash] for event in removed)
    await client.close()


@pytest.mark.parametrize("depth", [3, 20])
async def test_a_chain_that_is_set_back_is_shorter_for_its_readers(depth: int, gateway: Gateway, node: Anvil) -> None:
    client = await watch(gateway)
    await mine(gateway, node, 2)
    kept = await chain_of(node, BEGIN)
    snapshot = await node.call("evm_snapshot")
    await mine(gateway, node, depth)
    await reach(client, await chain_of(node, BEGIN))
    await node.call("evm_revert", snapshot)
    gateway.followers.wake(SLUG)
    await reach(client, kept)
    assert client.kinds[-depth:] == [REMOVED] * depth
    await mine(gateway, node, 1, interval=99)
    await reach(client, await chain_of(node, BEGIN))
    await client.close()


async def test_what_a_stream_never_sent_is_not_removed_but_rolled_back(gateway: Gateway, node: Anvil) -> None:
    early = await watch(gateway)
    await mine(gateway, node, 5)
    await reach(early, await chain_of(node, BEGIN))
    late = await watch(gateway)
    await mine(gateway, node, 1)
    await reach(late, await chain_of(node, BEGIN + 5))
    await node.call("anvil_reorg", 3, [])
    gateway.followers.wake(SLUG)
    after = await chain_of(node, BEGIN)
    await reach(early, after)
    # The late one was sent the newest block alone: that is removed; of the two below it knows where it began.
    await reach(late, {number: its_hash for number, its_hash in after.items() if number > BEGIN + 3})
    assert late.kinds == [PROGRESS, ADDED, REMOVED, ROLLED_BACK] + [ADDED] * 3
    assert early.kinds[7:] == [REMOVED] * 3 + [ADDED] * 3
    rolled = late.events[3]
    assert (rolled.block_number, rolled.block_hash) == (BEGIN + 3, after[BEGIN + 3])
    await early.close()
    await late.close()


async def test_a_thousand_streams_cost_the_node_what_one_costs(gateway: Gateway, node: Anvil) -> None:
    async def cost(readers: int) -> list[int]:
        clients = await asyncio.gather(*(watch(gateway) for _ in range(readers)))
        gateway.tally.requests.clear()
        height = int(await node.call("eth_blockNumber"), 16)
        await mine(gateway, node, 2)
        wanted = await chain_of(node, height)
        await asyncio.gather(*(reach(client, wanted) for client in clients))
        payloads = [client.payloads for client in clients]
        assert {id(payload) for row in payloads for payload in row} == {id(payload) for payload in payloads[0]}
        requests = list(gateway.tally.requests)
        await asyncio.gather(*(client.close() for client in clients))
        return requests

    assert await cost(1) == await cost(1000) == [1, 1]


async def test_a_chain_is_followed_only_while_it_is_watched(gateway: Gateway, node: Anvil) -> None:
    client = await watch(gateway)
    await client.close()
    before = len(gateway.tally.requests)
    await mine(gateway, node, 1)
    await asyncio.sleep(0.3)
    assert len(gateway.tally.requests) == before
    again = await watch(gateway)
    assert again.events[0].block_number == BEGIN + 1
    await again.close()


async def test_a_final_block_that_is_replaced_ends_the_streams(gateway: Gateway, node: Anvil) -> None:
    labels = {"chain": SLUG, "reason": "UPSTREAM_DISAGREES"}
    before = REGISTRY.get_sample_value("waypost_stream_failures_total", labels) or 0.0
    client = await watch(gateway)
    other = await watch(gateway)
    await node.call("anvil_reorg", 70, [])
    gateway.followers.wake(SLUG)
    for reader in (client, other):
        with pytest.raises(UpstreamDisagrees, match="final"):
            await reader.next()
    assert REGISTRY.get_sample_value("waypost_stream_failures_total", labels) == before + 1
    again = await watch(gateway)
    assert again.events[0].block_hash == (await chain_of(node, BEGIN - 1))[BEGIN]
    await again.close()


async def test_a_chain_without_a_working_node_is_an_error_at_once(node: Anvil) -> None:
    async with open_gateway(node.url) as gateway:
        node.stop()
        with pytest.raises(UpstreamUnavailable):
            await watch(gateway)


async def test_heads_are_the_newest_blocks_and_skip_what_came_meanwhile(gateway: Gateway, node: Anvil) -> None:
    heads = gateway.followers.heads(SLUG)

    async def take() -> Link:
        return await asyncio.wait_for(anext(heads), 30)

    assert (await take()).number == BEGIN
    assert gateway.tally.requests == [1]
    await mine(gateway, node, 5)
    five = await take()
    while five.number < BEGIN + 5:
        five = await take()
    await node.call("anvil_reorg", 2, [])
    gateway.followers.wake(SLUG)
    replaced = await take()
    assert (replaced.number, replaced.hash) == (BEGIN + 5, (await chain_of(node, BEGIN + 4))[BEGIN + 5])
    await heads.aclose()


async def test_readers_in_every_state_hold_the_nodes_chain_after_many_changes(gateway: Gateway, node: Anvil) -> None:
    clients: list[BlockClient] = [await watch(gateway)]
    had: set[str] = set(await _hashes(node))
    steps: list[tuple[str, Any]] = [
        ("mine", 4), ("reorg", 2), ("mine", 30), ("reorg", 20), ("mine", 1), ("reorg", 1), ("reorg", 3), ("mine", 2),
    ]  # fmt: skip
    for step, count in steps:
        if step == "mine":
            await mine(gateway, node, count)
        else:
            await node.call("anvil_reorg", count, [])
            gateway.followers.wake(SLUG)
        had |= set(await _hashes(node))
        clients.append(await watch(gateway))
        for client in clients:
            top = await node.call("eth_getBlockByNumber", "latest", False)
            while _newest(client) != top["hash"]:
                await client.next()
    chain = await chain_of(node, 0)
    for client in clients:
        assert all(chain[number] == its_hash for number, its_hash in client.blocks.items())
        assert {event.block_hash for event in client.events} <= had
        await client.close()


async def _hashes(node: Anvil) -> list[str]:
    return list((await chain_of(node, BEGIN - 40)).values())


def _newest(client: BlockClient) -> str:
    """Return the newest block that a client knows, be it by a block or by where its stream stands."""
    for event in reversed(client.events):
        if event.kind in (PROGRESS, ADDED, ROLLED_BACK):
            return event.block_hash
    return ""
