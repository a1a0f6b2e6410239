"""Sources of several items a block: what of them is sent, taken back and sent again, and what their failures do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

import pytest
from waypost.v1 import stream_pb2

from server.errors import ArchiveRequired, UpstreamUnavailable
from server.streams import feed as feeds
from tests.server.streams.clients import ADDED, PROGRESS, REMOVED, ROLLED_BACK, WAIT_SECONDS
from tests.server.streams.conftest import BEGIN, SLUG

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from server.chains.capabilities.following import Link
    from server.chains.view import ReadView
    from server.streams.events import Event
    from server.streams.source import Stamp
    from tests.server.chains.evm.nodes import Anvil
    from tests.server.streams.conftest import Gateway

pytestmark = pytest.mark.devnet


class Told(NamedTuple):
    """What an event says: its kind, its block, which of the block's items."""

    kind: stream_pb2.EventKind
    block: int
    item: int | None
    cursor: str


class Counted:
    """A source of `count` items in every block whose number `every` divides; `errors` are raised by the next reads."""

    def __init__(self, count: int, every: int = 1, size: int = 0) -> None:
        self.key = f"counted {count} {every} {size}"
        self.errors: list[Exception] = []
        self.reads = 0
        self._count, self._every, self._size = count, every, size

    async def read_items(self, link: Link, view: ReadView) -> list[int]:
        self.reads += 1
        if self.errors:
            raise self.errors.pop(0)
        return list(range(1, self._count + 1)) if link.number % self._every == 0 else []

    def encode(self, stamp: Stamp, item: int | None) -> bytes:
        header = stream_pb2.BlockHeader(transaction_count=item, gas_used="1" * self._size)
        return stream_pb2.WatchBlocksResponse(
            cursor=stamp.cursor, kind=stamp.kind, block_number=stamp.number, block=header
        ).SerializeToString()


async def take(stream: AsyncGenerator[Event], count: int) -> list[Told]:
    told = []
    for _ in range(count):
        event = await asyncio.wait_for(anext(stream), WAIT_SECONDS)
        said = stream_pb2.WatchBlocksResponse.FromString(event.payload)
        item = said.block.transaction_count if said.block.HasField("transaction_count") else None
        told.append(Told(said.kind, said.block_number, item, said.cursor))
    return told


async def mine(gateway: Gateway, node: Anvil, blocks: int) -> None:
    await node.call("anvil_mine", hex(blocks))
    gateway.followers.wake(SLUG)


def places(told: list[Told]) -> list[tuple[stream_pb2.EventKind, int, int | None]]:
    return [one[:3] for one in told]


async def test_items_are_taken_back_in_reverse(gateway: Gateway, node: Anvil) -> None:
    stream = gateway.followers.watch(SLUG, Counted(3))
    await take(stream, 1)
    await mine(gateway, node, 2)
    added = await take(stream, 6)
    await node.call("anvil_reorg", 2, [])
    gateway.followers.wake(SLUG)
    removed = await take(stream, 6)
    assert places(added) == [(ADDED, BEGIN + block, item) for block in (1, 2) for item in (1, 2, 3)]
    assert places(removed) == [(REMOVED, *place[1:]) for place in reversed(places(added))]
    assert places(await take(stream, 6)) == places(added)
    await stream.aclose()


@pytest.mark.parametrize("at", range(1, 7))
async def test_a_cursor_within_a_block_goes_on_within_it(at: int, gateway: Gateway, node: Anvil) -> None:
    stream = gateway.followers.watch(SLUG, Counted(3))
    await take(stream, 1)
    await mine(gateway, node, 2)
    added = await take(stream, 6)
    await stream.aclose()
    again = gateway.followers.watch(SLUG, Counted(3), added[at - 1].cursor)
    rest = await take(again, 7 - at)
    assert rest[0].kind == PROGRESS
    assert places(rest[1:]) == places(added[at:])
    await again.aclose()


@pytest.mark.parametrize("at", range(1, 7))
async def test_a_cursor_of_what_was_taken_back_goes_on_where_it_was(at: int, gateway: Gateway, node: Anvil) -> None:
    stream = gateway.followers.watch(SLUG, Counted(3))
    await take(stream, 1)
    await mine(gateway, node, 2)
    await take(stream, 6)
    await node.call("anvil_reorg", 2, [])
    gateway.followers.wake(SLUG)
    cursor = (await take(stream, at))[-1].cursor
    await stream.aclose()
    again = gateway.followers.watch(SLUG, Counted(3), cursor)
    first, *rest = await take(again, 7)
    # Once everything is taken back there is nothing to roll back.
    assert first[:2] == (PROGRESS if at == 6 else ROLLED_BACK, BEGIN)
    assert places(rest) == [(ADDED, BEGIN + block, item) for block in (1, 2) for item in (1, 2, 3)]
    await again.aclose()


async def test_a_source_is_read_once_for_all_its_readers(gateway: Gateway, node: Anvil) -> None:
    source = Counted(2)
    streams = [gateway.followers.watch(SLUG, source) for _ in range(50)]
    await asyncio.gather(*(take(stream, 1) for stream in streams))
    await mine(gateway, node, 3)
    rows = await asyncio.gather(*(take(stream, 6) for stream in streams))
    assert all(row == rows[0] for row in rows)
    assert source.reads == 3
    for stream in streams:
        await stream.aclose()


async def test_what_may_pass_is_tried_again_and_nothing_is_lost(gateway: Gateway, node: Anvil) -> None:
    source = Counted(1)
    source.errors += [UpstreamUnavailable("down"), UpstreamUnavailable("still down")]
    stream = gateway.followers.watch(SLUG, source)
    await take(stream, 1)
    await mine(gateway, node, 2)
    assert places(await take(stream, 2)) == [(ADDED, BEGIN + 1, 1), (ADDED, BEGIN + 2, 1)]
    await stream.aclose()


async def test_what_does_not_pass_ends_the_readers(gateway: Gateway, node: Anvil) -> None:
    source = Counted(1)
    source.errors.append(ArchiveRequired("gone"))
    stream, other = gateway.followers.watch(SLUG, source), gateway.followers.watch(SLUG, Counted(2))
    await take(stream, 1)
    await take(other, 1)
    await mine(gateway, node, 1)
    with pytest.raises(ArchiveRequired):
        await take(stream, 1)
    assert len(await take(other, 2)) == 2
    await other.aclose()


async def test_where_nothing_matches_a_cursor_comes_every_hundred_blocks(gateway: Gateway, node: Anvil) -> None:
    stream = gateway.followers.watch(SLUG, Counted(1, every=1_000))
    await take(stream, 1)
    await mine(gateway, node, 250)
    told = await take(stream, 2)
    assert places(told) == [(PROGRESS, BEGIN + 100, None), (PROGRESS, BEGIN + 200, None)]
    await stream.aclose()


async def test_a_block_of_more_events_than_the_ring_holds_reaches_who_reads(gateway: Gateway, node: Anvil) -> None:
    stream = gateway.followers.watch(SLUG, Counted(3_000))
    await take(stream, 1)
    await mine(gateway, node, 1)
    told = await take(stream, 3_000)
    assert [one.item for one in told] == list(range(1, 3_001))
    await stream.aclose()


async def test_what_is_not_known_any_more_is_rolled_back_for_all(
    gateway: Gateway, node: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "MOST_SENT_BYTES", 8_000)
    stream = gateway.followers.watch(SLUG, Counted(1, size=2_000))
    await take(stream, 1)
    await mine(gateway, node, 6)
    await take(stream, 6)
    await node.call("anvil_reorg", 5, [])
    gateway.followers.wake(SLUG)
    told = await take(stream, 1)
    while told[-1][:2] != (ADDED, BEGIN + 6):
        told += await take(stream, 1)
    removed = [one for one in told if one.kind == REMOVED]
    assert 0 < len(removed) < 5
    assert places(told)[len(removed)][:2] == (ROLLED_BACK, BEGIN + 1)
    assert places(told)[len(removed) + 1] == (ADDED, BEGIN + 2, 1)
    await stream.aclose()
