"""What streams pass on their way, over both transports: checks, admission, charges, limits, and how they end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from grpc import StatusCode
from waypost.v1.stream_pb2 import WatchBlocksRequest, WatchBlocksResponse

from runtime.metrics import REGISTRY, stream_events
from server.errors import CursorTooOld, SlowConsumer
from server.inprocess.channel import MAX_RESPONSE_BYTES
from server.rpc.pipeline import open_streams
from server.rpc.pipeline.call import current, open_view
from server.rpc.pipeline.stream import charge
from server.streams.events import Event
from tests.server.inprocess.rig import TRANSPORTS
from tests.server.rpc.pipeline.watching import ended, endless, event

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.rpc.pipeline.watching import Watching

pytestmark = pytest.mark.parametrize("transport", TRANSPORTS)


async def numbered(request: Any, context: Any) -> AsyncIterator[Event]:
    for number in range(5):
        yield event(number)


async def trailing(call: Any) -> dict[str, Any]:
    return dict(await call.trailing_metadata())


async def test_a_stream_is_sent_as_its_servicer_yields_it(watching: Watching) -> None:
    watching.rig.serve(numbered)
    call = watching.watch(metadata=(("x-request-id", "mine"),))
    assert await ended(call) == ([0, 1, 2, 3, 4], StatusCode.OK, "", {})
    metadata = await trailing(call)
    assert (metadata["x-request-id"], metadata["x-waypost-cost"]) == ("mine", "1")
    assert len(watching.streams) == 0


@pytest.mark.parametrize(
    ("request_", "reason", "field"),
    [
        (WatchBlocksRequest(), "INVALID_ARGUMENT", "chain is required"),
        (WatchBlocksRequest(chain="atlantis"), "CHAIN_UNKNOWN", "atlantis"),
        (WatchBlocksRequest(chain="ethereum", cursor="a" * 2049), "INVALID_ARGUMENT", "cursor has 2049"),
    ],
    ids=["missing", "unknown", "long"],
)
async def test_a_request_is_checked_before_its_stream_opens(
    watching: Watching, request_: Any, reason: str, field: str
) -> None:
    watching.rig.serve(numbered)
    call = watching.watch(request=request_)
    numbers, _, got, facts = await ended(call)
    assert (numbers, got, facts) == ([], reason, {})
    assert field in await call.details()


async def test_a_stream_needs_a_key(watching: Watching) -> None:
    watching.rig.serve(numbered)
    assert (await ended(watching.rig.watch()))[1:3] == (StatusCode.UNAUTHENTICATED, "KEY_MISSING")
    assert (await ended(watching.watch("wp_" + "a" * 43)))[2] == "KEY_INVALID"


async def test_streams_are_no_items_in_flight(watching: Watching) -> None:
    watching.rig.serve(endless)
    # One call may be in flight here.
    calls = [watching.watch(timeout=None) for _ in range(5)]
    assert [(await call.read()).block_number for call in calls] == [0] * 5
    assert len(watching.streams) == 5
    for call in calls:
        call.cancel()
    await watching.until_open(0)


async def test_an_error_carries_the_cursor_of_the_last_event(watching: Watching) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        yield event(0)
        yield event(1)
        raise SlowConsumer("too slow")

    watching.rig.serve(servicer)
    got = await ended(watching.watch())
    assert got == ([0, 1], StatusCode.RESOURCE_EXHAUSTED, "SLOW_CONSUMER", {"cursor": "after 1"})


async def test_an_error_before_any_event_carries_the_cursor_of_the_request(watching: Watching) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        if request.cursor == "old":
            raise CursorTooOld("too old", field="cursor", oldest_block=7)
        if request.cursor:
            raise ValueError("a defect")
        yield event(0)

    watching.rig.serve(servicer)
    got = await ended(watching.watch(request=WatchBlocksRequest(chain="ethereum", cursor="here")))
    assert got == ([], StatusCode.INTERNAL, "INTERNAL", {"cursor": "here"})
    got = await ended(watching.watch(request=WatchBlocksRequest(chain="ethereum", cursor="old")))
    assert got == ([], StatusCode.OUT_OF_RANGE, "CURSOR_TOO_OLD", {"oldestBlock": "7"})


async def test_a_long_cursor_and_message_fit_into_the_headers(watching: Watching) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        yield Event(b"", "c" * 2048)
        raise SlowConsumer("…" * 2000, field="f")

    watching.rig.serve(servicer)
    call = watching.watch()
    assert (await ended(call))[3] == {"cursor": "c" * 2048}


async def test_a_hundred_events_cost_a_unit(watching: Watching) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        await charge(7)
        for number in range(int(request.cursor)):
            yield event(number)

    watching.rig.serve(servicer)
    number, key = await watching.keys.create_key("one")
    costs = {}
    for events in (1, 100, 101, 201):
        call = watching.watch(key, WatchBlocksRequest(chain="ethereum", cursor=str(events)))
        assert len((await ended(call))[0]) == events
        costs[events] = (await trailing(call))["x-waypost-cost"]
    assert costs == {1: "8", 100: "8", 101: "9", 201: "10"}
    tally = watching.usage.of(f"key:{number}", "watchBlocks", "ethereum")
    assert (tally.requests, tally.items, tally.units, tally.errors) == (4, 4, 35, None)


async def test_without_quota_a_stream_is_refused_at_once(watching: Watching) -> None:
    watching.rig.serve(numbered)
    _, key = await watching.keys.create_key("one", rate=0.01, burst=1)
    assert (await ended(watching.watch(key)))[1] is StatusCode.OK
    assert (await ended(watching.watch(key)))[:3] == ([], StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")


async def test_without_quota_a_stream_pauses_and_ends_with_its_cursor(
    watching: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        yield event(0)
        # At 20 a second these are there within the pause, and the next are not.
        await charge(4)
        yield event(1)
        await charge(1000)
        yield event(2)

    monkeypatch.setattr(open_streams, "LONGEST_PAUSE_SECONDS", 0.5)
    watching.rig.serve(servicer)
    _, key = await watching.keys.create_key("one", rate=20, burst=1)
    got = await ended(watching.watch(key))
    assert got == ([0, 1], StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED", {"cursor": "after 1"})


async def test_a_view_of_a_stream_ends_in_time(watching: Watching) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        watching.rig.seen.append((current().deadline, open_view().deadline is not None))
        yield event(0)

    watching.rig.serve(servicer)
    await ended(watching.watch(timeout=None))
    assert watching.rig.seen == [(None, True)]


async def test_an_event_too_large_ends_the_stream_with_a_reason(watching: Watching) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        yield event(0)
        yield Event(b"a" * (MAX_RESPONSE_BYTES + 1), "after the large one")

    watching.rig.serve(servicer)
    assert await ended(watching.watch()) == ([0], StatusCode.OUT_OF_RANGE, "RESPONSE_TOO_LARGE", {})


@pytest.mark.parametrize("leaves", [True, False], ids=["leaves", "has a deadline"])
async def test_a_stream_that_its_caller_ends_has_not_failed(
    watching: Watching, caplog: pytest.LogCaptureFixture, leaves: bool
) -> None:
    watching.rig.serve(endless)
    number, key = await watching.keys.create_key("one")
    call = watching.watch(key, timeout=None if leaves else 0.5)
    await call.read()
    tally = watching.usage.of(f"key:{number}", "watchBlocks", "ethereum")
    assert (tally.requests, tally.units) == (0, 1)
    if leaves:
        call.cancel()
    await watching.until_open(0)
    async with asyncio.timeout(5):
        while not tally.requests:  # noqa: ASYNC110  # counted after it is closed
            await asyncio.sleep(0.01)
    assert (tally.requests, tally.units, tally.errors) == (1, 1, None)
    assert not [record for record in caplog.records if record.name == "waypost.rpc"]


async def test_streams_are_measured(watching: Watching) -> None:
    def open_now() -> float:
        return REGISTRY.get_sample_value("waypost_streams_open", {"operation": "watchBlocks"}) or 0

    watching.rig.serve(endless)
    before, sent = open_now(), stream_events("watchBlocks", "ethereum").count
    call = watching.watch(timeout=None)
    await call.read()
    await asyncio.sleep(0)
    assert open_now() == before + 1
    call.cancel()
    await watching.until_open(0)
    assert open_now() == before
    assert stream_events("watchBlocks", "ethereum").count == sent + 1


@pytest.mark.parametrize("first", [0, 3])
async def test_a_stream_ended_while_an_event_is_sent_ends_behind_it(watching: Watching, first: int) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        for number in range(int(request.cursor)):
            yield event(number)
        # Runs as soon as sending waits: on a socket before the event has left.
        asyncio.get_running_loop().call_soon(watching.streams.end)
        yield event(int(request.cursor))
        await asyncio.sleep(60)

    watching.rig.serve(servicer)
    got = await ended(watching.watch(request=WatchBlocksRequest(chain="ethereum", cursor=str(first)), timeout=5))
    facts = {"cursor": f"after {first}"}
    assert got == (list(range(first + 1)), StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE", facts)


async def test_a_stream_whose_first_event_is_unread_ends(watching: Watching) -> None:
    wide = Event(WatchBlocksResponse(block_number=0, block_hash="a" * 900_000).SerializeToString(), "after the wide")

    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        while True:
            yield wide

    watching.rig.serve(servicer)
    call = watching.watch(timeout=5)
    await call.initial_metadata()
    await watching.until_open(1)
    await asyncio.sleep(0.05)
    watching.streams.end()
    await watching.until_open(0)
    numbers, status, reason, _ = await ended(call)
    assert (set(numbers), status, reason) == ({0}, StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE")
