from __future__ import annotations

import asyncio

import pytest

from server.errors import SlowConsumer, UpstreamDisagrees
from server.streams.events import Event
from server.streams.ring import MOST_BYTES, MOST_EVENTS, Entry, Ring


def _event(number: int, size: int = 8) -> Event:
    return Event(number.to_bytes(8).ljust(size, b"\0"), str(number))


async def _fill(ring: Ring, count: int, size: int = 8) -> None:
    for _ in range(count):
        await ring.publish(Entry(_event(ring.end, size)))


async def test_all_readers_are_given_the_same_objects_in_order() -> None:
    ring = Ring()
    readers = [ring.join(0, 0) for _ in range(20)]
    await _fill(ring, 50)
    rows = [[(await reader.next()).payload for _ in range(50)] for reader in readers]
    assert [int.from_bytes(payload) for payload in rows[0]] == list(range(50))
    assert all(mine is its for row in rows for mine, its in zip(row, rows[0], strict=True))


async def test_a_reader_waits_for_what_comes() -> None:
    ring = Ring()
    reader = ring.join(0, 0)
    waiting = asyncio.ensure_future(reader.next())
    await asyncio.sleep(0)
    assert not waiting.done()
    await ring.publish(Entry(_event(7)))
    assert (await waiting).cursor == "7"


@pytest.mark.parametrize(("size", "held"), [(8, MOST_EVENTS), (MOST_BYTES // 10, 10)])
async def test_a_reader_that_falls_out_ends_and_the_others_go_on(size: int, held: int) -> None:
    ring = Ring()
    slow, fast = ring.join(0, 0), ring.join(0, 0)

    async def read() -> list[str]:
        return [(await fast.next()).cursor for _ in range(held + 2)]

    reading = asyncio.ensure_future(read())
    await _fill(ring, held, size)
    assert (await slow.next()).cursor == "0"
    await _fill(ring, 2, size)
    assert ring.end - ring.first == held
    seen = await reading
    with pytest.raises(SlowConsumer):
        await slow.next()
    assert seen == [str(number) for number in range(held + 2)]


async def test_more_events_at_once_than_fit_wait_for_readers() -> None:
    ring = Ring()
    reader = ring.join(0, 0)
    filling = asyncio.ensure_future(_fill(ring, 5 * MOST_EVENTS))
    for number in range(5 * MOST_EVENTS):
        assert (await reader.next()).cursor == str(number)
    await filling


async def test_an_event_larger_than_the_ring_is_held_alone() -> None:
    ring = Ring()
    await _fill(ring, 3)
    await ring.publish(Entry(_event(3, 2 * MOST_BYTES)))
    assert (ring.first, ring.end) == (3, 4)


async def test_removed_blocks_are_those_that_the_stream_sent() -> None:
    ring = Ring()
    early, late = ring.join(0, floor=10), ring.join(0, floor=12)
    for number in (13, 12, 11):
        await ring.publish(Entry(_event(number), removes=number))
    await ring.publish(Entry(_event(100), rolls_back=10))
    await ring.publish(Entry(_event(14)))
    assert [(await early.next()).cursor for _ in range(4)] == ["13", "12", "11", "14"]
    assert [(await late.next()).cursor for _ in range(3)] == ["13", "100", "14"]


async def test_after_a_rollback_a_reader_knows_what_came_since() -> None:
    ring = Ring()
    reader = ring.join(0, floor=12)
    await ring.publish(Entry(_event(1), rolls_back=10))
    await ring.publish(Entry(_event(2), removes=11))
    await ring.publish(Entry(_event(3), rolls_back=10))
    await ring.publish(Entry(_event(4), rolls_back=10, is_for_all=True))
    assert [(await reader.next()).cursor for _ in range(3)] == ["1", "2", "4"]


async def test_a_closed_ring_ends_each_reader_after_what_is_there_with_an_error_of_its_own() -> None:
    ring = Ring()
    readers = [ring.join(0, 0), ring.join(0, 0)]
    await ring.publish(Entry(_event(1)))
    ring.close(lambda: UpstreamDisagrees("over"))
    caught = []
    for reader in readers:
        assert (await reader.next()).cursor == "1"
        with pytest.raises(UpstreamDisagrees) as error:
            await reader.next()
        caught.append(error.value)
    assert caught[0] is not caught[1]


async def test_a_reader_that_left_holds_up_nothing() -> None:
    ring = Ring()
    gone = ring.join(0, 0)
    await _fill(ring, MOST_EVENTS)
    gone.close()
    assert ring.readers == 0
    async with asyncio.timeout(0.5):
        await _fill(ring, 2 * MOST_EVENTS)
