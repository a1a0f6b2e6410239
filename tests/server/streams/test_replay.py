"""Streams that go on at a cursor, also on another replica than the one that sent it: nothing is lost or invented."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from server.errors import CursorTooOld, InvalidArgument
from server.streams.blocks import BLOCKS
from server.streams.cursor import digest_source, encode_cursor, encode_marks, mark_of
from tests.server.chains.evm.nodes import Anvil
from tests.server.streams.clients import ADDED, PROGRESS, ROLLED_BACK, BlockClient
from tests.server.streams.conftest import BEGIN, SLUG, chain_of, open_gateway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiohttp

    from tests.server.streams.conftest import Gateway

pytestmark = pytest.mark.devnet


@pytest.fixture
async def replica(node: Anvil) -> AsyncIterator[Gateway]:
    """Another process of the gateway, as far as it can be one here: it shares the node, and nothing else."""
    async with open_gateway(node.url) as opened:
        yield opened


async def mine(node: Anvil, blocks: int, *gateways: Gateway) -> None:
    await node.call("anvil_mine", hex(blocks))
    for gateway in gateways:
        gateway.followers.wake(SLUG)


async def followed(gateway: Gateway, node: Anvil, blocks: int) -> BlockClient:
    """Return a client that was sent so many blocks, its stream ended."""
    client = BlockClient()
    client.attach(gateway.followers.watch(SLUG, BLOCKS))
    await client.next()
    await mine(node, blocks, gateway)
    wanted = await chain_of(node, BEGIN)
    await client.until(lambda client: client.blocks == wanted)
    await client.close()
    return client


async def test_a_client_that_counts_misses_nothing(gateway: Gateway, replica: Gateway, node: Anvil) -> None:
    client = await followed(gateway, node, 3)
    for turn in range(4):
        await mine(node, 2)
        client.attach((replica, gateway)[turn % 2].followers.watch(SLUG, BLOCKS, client.cursor))
        wanted = await chain_of(node, BEGIN)
        await client.until(lambda client, wanted=wanted: client.blocks == wanted)  # type: ignore[misc]
        await client.close()
    assert [event.block_number for event in client.events if event.kind == ADDED] == list(range(BEGIN + 1, BEGIN + 12))


@pytest.mark.parametrize("depth", [1, 3, 20])
@pytest.mark.parametrize("more", [0, 5])
async def test_what_was_replaced_between_is_rolled_back_once(
    depth: int, more: int, gateway: Gateway, replica: Gateway, node: Anvil
) -> None:
    client = await followed(gateway, node, 25)
    await node.call("anvil_reorg", depth, [])
    if more:
        await node.call("anvil_mine", hex(more))
    seen = len(client.events)
    client.attach(replica.followers.watch(SLUG, BLOCKS, client.cursor))
    wanted = await chain_of(node, BEGIN)
    await client.until(lambda client: client.blocks == wanted)
    assert client.kinds[seen:] == [ROLLED_BACK] + [ADDED] * (depth + more)
    rolled = client.events[seen]
    assert (rolled.block_number, rolled.block_hash) == (BEGIN + 25 - depth, wanted[BEGIN + 25 - depth])
    # From now on what is replaced is removed, as far down as this stream sent it.
    await node.call("anvil_reorg", depth + more + 1, [])
    replica.followers.wake(SLUG)
    wanted = await chain_of(node, BEGIN)
    await client.until(lambda client: client.blocks == wanted)
    await client.close()


@pytest.mark.parametrize("at", range(8))
async def test_every_cursor_of_a_reorganisation_goes_on(
    at: int, gateway: Gateway, replica: Gateway, node: Anvil
) -> None:
    client = BlockClient()
    client.attach(gateway.followers.watch(SLUG, BLOCKS))
    await client.next()
    await mine(node, 4, gateway)
    before = await chain_of(node, BEGIN)
    await client.until(lambda client: client.blocks == before)
    await node.call("anvil_reorg", 3, [])
    await mine(node, 1, gateway)
    for _ in range(at):
        await client.next()
    await client.close()
    client.attach(replica.followers.watch(SLUG, BLOCKS, client.cursor))
    after = await chain_of(node, BEGIN)
    await client.until(lambda client: client.blocks == after)
    await client.close()


async def test_a_cursor_goes_on_after_a_restart_of_everything(node: Anvil) -> None:
    async with open_gateway(node.url) as gateway:
        client = await followed(gateway, node, 5)
    await node.call("anvil_reorg", 2, [])
    async with open_gateway(node.url) as gateway:
        client.attach(gateway.followers.watch(SLUG, BLOCKS, client.cursor))
        wanted = await chain_of(node, BEGIN)
        await client.until(lambda client: client.blocks == wanted)
        await client.close()


async def test_a_chain_that_was_set_back_below_the_cursor_rolls_it_back(
    gateway: Gateway, replica: Gateway, node: Anvil
) -> None:
    snapshot = await node.call("evm_snapshot")
    client = await followed(gateway, node, 3)
    await node.call("evm_revert", snapshot)
    await node.call("anvil_mine", "0x1", "0x63")
    client.attach(replica.followers.watch(SLUG, BLOCKS, client.cursor))
    wanted = await chain_of(node, BEGIN)
    await client.until(lambda client: client.blocks == wanted)
    assert client.kinds[4:] == [ROLLED_BACK, ADDED]
    await client.close()


async def test_a_replica_that_is_behind_the_cursor_waits_for_its_node(
    gateway: Gateway, replica: Gateway, node: Anvil
) -> None:
    reader = BlockClient()
    reader.attach(replica.followers.watch(SLUG, BLOCKS))
    await reader.next()
    client = await followed(gateway, node, 3)
    # The replica does not know of the three blocks yet.
    client.attach(replica.followers.watch(SLUG, BLOCKS, client.cursor))
    waiting = asyncio.ensure_future(client.next())
    await asyncio.sleep(0.1)
    assert not waiting.done()
    await mine(node, 1, replica)
    assert (await waiting).kind == PROGRESS
    wanted = await chain_of(node, BEGIN)
    await client.until(lambda client: client.blocks == wanted)
    assert client.kinds[4:] == [PROGRESS, ADDED]
    await client.close()
    await reader.close()


async def test_each_thousand_blocks_replayed_costs_a_unit(gateway: Gateway, node: Anvil) -> None:
    client = await followed(gateway, node, 1)
    await node.call("anvil_mine", hex(2500))
    charged: list[int] = []

    async def charge(units: int) -> None:
        charged.append(units)

    client.attach(gateway.followers.watch(SLUG, BLOCKS, client.cursor, charge))
    await client.until(lambda client: BEGIN + 2501 in client.blocks)
    assert charged == [1, 1]
    assert sorted(client.blocks) == list(range(BEGIN + 1, BEGIN + 2502))
    await client.close()


async def test_a_replay_reads_each_block_once(gateway: Gateway, replica: Gateway, node: Anvil) -> None:
    client = await followed(gateway, node, 1)
    await node.call("anvil_mine", hex(300))
    client.attach(replica.followers.watch(SLUG, BLOCKS, client.cursor))
    await client.until(lambda client: max(client.blocks) == BEGIN + 301)
    # The newest, the final one, 63 below the newest; that of the cursor; what is between.
    assert sum(replica.tally.requests) == 1 + 1 + 63 + 1 + (300 - 64)
    await client.close()


async def test_a_cursor_of_more_than_ten_thousand_blocks_ago_names_the_oldest_block(
    plain_session: aiohttp.ClientSession,
) -> None:
    node = await Anvil.start(plain_session, "--chain-id", "1", "--number", "30000")
    marks = [encode_marks([mark_of(number, "0x00")]) for number in (19_999, 20_000)]
    async with open_gateway(node.url) as gateway:
        for number, its_marks in zip((19_999, 20_000), marks, strict=True):
            client = BlockClient()
            cursor = encode_cursor(SLUG, number, its_marks, digest_source(BLOCKS.key))
            client.attach(gateway.followers.watch(SLUG, BLOCKS, cursor))
            with pytest.raises(CursorTooOld, match="too old" if number == 19_999 else "replaced") as caught:
                await client.next()
            assert (caught.value.oldest_block, caught.value.field) == (20_000, "cursor")
    node.stop()


async def test_a_cursor_whose_blocks_were_all_replaced_is_too_old(gateway: Gateway, node: Anvil) -> None:
    client = await followed(gateway, node, 1)
    await node.call("anvil_reorg", 70, [])
    client.attach(gateway.followers.watch(SLUG, BLOCKS, client.cursor))
    with pytest.raises(CursorTooOld) as caught:
        await client.next()
    assert caught.value.oldest_block == 0


async def test_a_cursor_within_a_block_sends_the_rest_of_it(gateway: Gateway, node: Anvil) -> None:
    block = await node.call("eth_getBlockByNumber", hex(BEGIN), False)
    marks = encode_marks([mark_of(BEGIN, block["hash"])])
    client = BlockClient()
    # A cursor of another source counts other items: the block comes whole.
    client.attach(gateway.followers.watch(SLUG, BLOCKS, encode_cursor(SLUG, BEGIN, marks, b"else", 3)))
    await client.next()
    assert (await client.next()).block_hash == block["hash"]
    assert client.kinds == [PROGRESS, ADDED]
    await client.close()


async def test_a_cursor_that_is_none_is_refused_before_a_node_is_asked(gateway: Gateway) -> None:
    client = BlockClient()
    client.attach(gateway.followers.watch(SLUG, BLOCKS, "none"))
    with pytest.raises(InvalidArgument):
        await client.next()
    assert gateway.tally.requests == []
