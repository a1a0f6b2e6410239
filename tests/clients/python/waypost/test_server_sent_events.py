"""Streams over HTTP: the client, the real transcoder, and a scripted server behind it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from aiohttp import web
from waypost import AsyncWaypost, CursorTooOld, InvalidArgument, KeyInvalid, TransportError, Waypost
from waypost.server_sent_events import Frames
from waypost.v1 import stream_state_pb2

from tests.clients.python.streaming import UNAVAILABLE, Ending, block, log
from tests.serving import serve_app
from tests.transcoder.scripted import KEY, Options, Server, refuse, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    Read = Callable[..., Awaitable[list[Any]]]


class Scripted:
    """Plays the scripts, the last one for every further call; keeps the requests."""

    def __init__(self, name: str, *scripts: Sequence[Any]) -> None:
        self.scripts, self.requests = scripts, list[Any]()
        self.server = Server(streams={name: self.play})

    async def play(self, request: Any, context: Any) -> AsyncIterator[Any]:
        script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
        self.requests.append(request)
        for step in script:
            if step is None:
                return
            if isinstance(step, Ending):
                await refuse(context, step.code, step.reason, "said so", retry_after_ms=step.retry_ms)
            yield step
        await asyncio.Event().wait()


@asynccontextmanager
async def streaming(scripted: Scripted) -> AsyncIterator[str]:
    async with serving(Options(), scripted.server) as face:
        yield f"{face.base}/{KEY}/v1"


async def read_async(url: str, most: int, name: str = "watch_blocks", **fields: Any) -> list[Any]:
    async with AsyncWaypost(url) as client, getattr(client.streams, name)(**fields) as watch:
        events: list[Any] = []
        async for event in watch:
            events.append(event)
            if len(events) == most:
                break
        return events


async def read_sync(url: str, most: int, name: str = "watch_blocks", **fields: Any) -> list[Any]:
    def read() -> list[Any]:
        with Waypost(url) as client, getattr(client.streams, name)(**fields) as watch:
            return [event for _, event in zip(range(most), watch, strict=False)]

    return await asyncio.to_thread(read)


@pytest.fixture(params=[read_sync, read_async], ids=["sync", "async"])
def read(request: pytest.FixtureRequest) -> Read:
    """Returns so many events of a stream."""
    found: Read = request.param
    return found


@pytest.mark.parametrize(
    "ending", [UNAVAILABLE, Ending(grpc.StatusCode.RESOURCE_EXHAUSTED, "SLOW_CONSUMER")], ids=lambda one: one.reason
)
async def test_a_stream_goes_on_at_its_cursor(read: Read, ending: Ending) -> None:
    scripted = Scripted("watchBlocks", [block(1), block(2), ending], [block(2), block(3)])
    async with streaming(scripted) as url:
        assert await read(url, 3, chain="ethereum") == [block(1), block(2), block(3)]
    assert [request.cursor for request in scripted.requests] == ["", "at-2a"]


async def test_filters_are_query_members(read: Read) -> None:
    scripted = Scripted("watchLogs", [log(1, 0)])
    addresses, topics = ["0x" + digit * 40 for digit in "12"], ["0x" + digit * 64 for digit in "34"]
    async with streaming(scripted) as url:
        fields = {"chain": "ethereum", "addresses": addresses, "topic1": topics, "cursor": "from-here"}
        [event] = await read(url, 1, "watch_logs", **fields)
    assert event == log(1, 0)
    [request] = scripted.requests
    assert (list(request.addresses), list(request.topic1), request.cursor) == (addresses, topics, "from-here")


async def test_items_and_values(read: Read) -> None:
    value = stream_state_pb2.WatchBalancesResponse(chain="cosmos", address="cosmos1", token="uatom")
    value.value.amount, value.value.raw, value.value.block_number = "1.5", "1500000", 9
    lost = stream_state_pb2.WatchBalancesResponse(item=1, chain="cosmos", address="cosmos2", token="uatom")
    lost.error.message = "no node answered"
    items = [{"chain": "ethereum", "address": "0x" + "1" * 40}, {"chain": "base", "address": "0x" + "2" * 40}]
    items[1]["token"] = "0x" + "3" * 40
    scripted = Scripted("watchBalances", [value, lost, UNAVAILABLE], [value, lost, value])
    async with streaming(scripted) as url:
        assert await read(url, 3, "watch_balances", items=items) == [value, lost, value]
    [first, _] = [[(one.chain, one.address, one.token) for one in request.items] for request in scripted.requests]
    assert first == [("ethereum", "0x" + "1" * 40, ""), ("base", "0x" + "2" * 40, "0x" + "3" * 40)]


async def test_a_stream_that_is_over_ends(read: Read) -> None:
    receipt = stream_state_pb2.WatchReceiptResponse(chain="ethereum", hash="0x1")
    receipt.value.state, receipt.value.confirmations = stream_state_pb2.RECEIPT_STATE_CONFIRMED, 2
    async with streaming(Scripted("watchReceipt", [receipt, None])) as url:
        assert await read(url, 9, "watch_receipt", chain="ethereum", hash="0x" + "1" * 64) == [receipt]


async def test_what_is_refused_is_raised_before_the_stream_and_within(read: Read) -> None:
    invalid = Ending(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT")
    old = Ending(grpc.StatusCode.OUT_OF_RANGE, "CURSOR_TOO_OLD")
    scripted = Scripted("watchBlocks", [invalid], [block(1), old])
    async with streaming(scripted) as url:
        with pytest.raises(KeyInvalid):
            await read(url.replace(KEY, "wp_other"), 1, chain="ethereum")
        with pytest.raises(InvalidArgument):
            await read(url, 1, chain="ethereum")
        with pytest.raises(CursorTooOld):
            await read(url, 9, chain="ethereum")
    assert len(scripted.requests) == 2


async def test_what_a_proxy_answers_while_the_gateway_is_away_is_waited_out(read: Read) -> None:
    answers = [web.Response(text="<html>", status=502), web.Response(text="", status=200)]
    asked: list[Any] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.headers.get("Last-Event-ID"))
        if answers:
            return answers.pop(0)
        text = 'event: ADDED\nid: c-1\ndata: {"cursor":"c-1","kind":"ADDED","blockNumber":7,"blockHash":"\u2028"}\n\n'
        return web.Response(text=":\n\n" + text if len(asked) == 3 else text.replace("ADDED", "REMOVED"))

    app = web.Application()
    app.router.add_get("/key/v1/stream/watchBlocks", answer)
    async with serve_app(app) as base:
        events = await read(f"{base}/key/v1", 2, chain="ethereum")
    assert [event.block_number for event in events] == [7, 7]
    assert asked == [None, None, None, "c-1"]


async def test_closing_ends_the_response_and_the_iteration_also_in_another_task() -> None:
    scripted = Scripted("watchBlocks", [block(1)])
    async with streaming(scripted) as url, AsyncWaypost(url) as client:
        watch = client.streams.watch_blocks(chain="ethereum")
        assert await anext(watch) == block(1)
        reading = asyncio.create_task(anext(watch, None))
        await asyncio.sleep(0)
        await watch.aclose()
        assert await reading is None


async def test_who_stops_waiting_for_an_event_gets_it_later() -> None:
    scripted = Scripted("watchBlocks", [block(1)], [block(1), block(2)])
    async with streaming(scripted) as url, AsyncWaypost(url) as client:
        watch = client.streams.watch_blocks(chain="ethereum")
        assert await anext(watch) == block(1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await anext(watch)
        assert await anext(watch) == block(2)


async def test_logs_do_not_hold_the_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "httpx2")
    async with streaming(Scripted("watchBlocks", [block(1)])) as url:
        await read_async(url, 1, chain="ethereum")
    assert "/.../v1/stream/watchBlocks" in caplog.text
    assert KEY not in caplog.text


def test_events_are_cut_out_of_bytes_wherever_these_are_cut() -> None:
    text = b": a comment\r\nretry: 1\r\n\r\nevent: a\r\ndata: 1\r\ndata: 2\r\n\r\nid: 3\n\ndata:4\n\nevent: lost\n"
    for size in range(1, len(text)):
        frames, found = Frames(), []
        for start in range(0, len(text), size):
            frames.feed(text[start : start + size])
            while (frame := frames.pop()) is not None:
                found.append(frame)
        assert found == [("a", b"1\n2"), ("", b"4")]


def test_an_event_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waypost.server_sent_events.MOST_BYTES", 10)
    with pytest.raises(TransportError, match="too long"):
        Frames().feed(b"data: 56789")
