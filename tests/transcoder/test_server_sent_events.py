"""Server-sent events: parameters out of the query, frames, resuming, comments, refusals and ends."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from waypost.v1 import stream_pb2, stream_state_pb2

from runtime.metrics import REGISTRY
from tests.each import each
from tests.transcoder.events import Blocks, receipt, until
from tests.transcoder.scripted import KEY, Face, Options, Server, serving

if TYPE_CHECKING:
    from aiohttp import ClientResponse

pytestmark = pytest.mark.slow

ROUTE = f"/{KEY}/v1/stream/"
BLOCKS = f"{ROUTE}watchBlocks?chain=ethereum"


async def frame(response: ClientResponse) -> dict[str, str]:
    """Return the fields of the next event; of a comment, one without a name."""
    fields: dict[str, str] = {}
    async with asyncio.timeout(10):
        while line := (await response.content.readline()).decode().rstrip("\n"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
    return fields


async def test_events_are_frames_with_their_cursor(face: Face) -> None:
    blocks = face.server.streams["watchBlocks"] = Blocks()
    async with face.session.get(face.base + BLOCKS, headers={"X-Request-Id": "mine"}) as response:
        assert (response.status, response.headers["Content-Type"]) == (200, "text/event-stream")
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["X-Accel-Buffering"] == "no"
        assert response.headers["X-Request-Id"] == "mine"
        assert "Content-Encoding" not in response.headers
        assert await frame(response) == {"retry": "1000"}
        for number in range(3):
            event = await frame(response)
            assert (event["event"], event["id"]) == ("ADDED", f"c{number}")
            assert json.loads(event["data"])["blockNumber"] == number
        blocks.release.set()
        last = await frame(response)
        assert (last["event"], "id" in last) == ("error", False)
        error = json.loads(last["data"])["error"]
        assert (error["data"]["reason"], error["data"]["cursor"]) == ("SLOW_CONSUMER", "c2")
        assert error["data"]["requestId"] == "mine"
        assert await response.content.read() == b""
    ((_, _, metadata),) = face.server.asked
    assert (metadata["x-api-key"], metadata["x-request-id"]) == (KEY, "mine")


@each(
    [
        ("", {}, 0),
        ("&cursor=c4", {}, 5),
        ("&cursor=c4", {"Last-Event-ID": "c7"}, 8),
        ("&cursor=c4", {"Last-Event-ID": ""}, 5),
        ("", {"Last-Event-ID": "c1"}, 2),
    ]
)
async def test_it_goes_on_at_the_cursor(more: str, headers: dict[str, str], first: int, face: Face) -> None:
    face.server.streams["watchBlocks"] = Blocks()
    async with face.session.get(face.base + BLOCKS + more, headers=headers) as response:
        await frame(response)
        assert (await frame(response))["id"] == f"c{first}"


@each(
    [
        (
            "watchLogs?chain=ethereum&address=0xA,0xB&address=0xC&topic0=0x1",
            stream_pb2.WatchLogsRequest(chain="ethereum", addresses=["0xA", "0xB", "0xC"], topic0=["0x1"]),
        ),
        (
            "watchReceipt?chain=ethereum&hash=0x1&confirmations=12",
            stream_state_pb2.WatchReceiptRequest(chain="ethereum", hash="0x1", confirmations=12),
        ),
        (
            "watchPrices?items=ETH,BTC&items=SOL",
            stream_state_pb2.WatchPricesRequest(
                items=[stream_state_pb2.WatchPricesItem(symbol=name) for name in ("ETH", "BTC", "SOL")]
            ),
        ),
        (
            "watchBalances?items=ethereum:0xA:0xB",
            stream_state_pb2.WatchBalancesRequest(
                items=[stream_state_pb2.WatchBalancesItem(chain="ethereum", address="0xA", token="0xB")]
            ),
        ),
        ("watchBlocks?chain=%F0%9F%8C%90%FF", stream_pb2.WatchBlocksRequest(chain="\U0001f310\ufffd")),
    ]
)
async def test_query_members_are_parameters(query: str, request: Any, face: Face) -> None:
    face.server.asked.clear()
    name = query.partition("?")[0]
    face.server.streams[name] = receipt if name == "watchReceipt" else Blocks()
    async with face.session.get(face.base + ROUTE + query) as opening:
        await until(lambda: face.server.asked)
        assert face.server.asked[0][1] == request
        opening.close()


@each(
    [
        ("watchBlocks?chain=a&chain=b", 400, "INVALID_ARGUMENT", "chain"),
        ("watchBlocks?chian=a", 400, "UNKNOWN_PARAMETER", "chian"),
        ("watchReceipt?chain=a&hash=b&cursor=c", 400, "UNKNOWN_PARAMETER", "cursor"),
        ("watchReceipt?chain=a&hash=b&confirmations=two", 400, "INVALID_ARGUMENT", "confirmations"),
        ("watchReceipt?chain=a&hash=b&confirmations=1.5", 400, "INVALID_ARGUMENT", "confirmations"),
        ("watchReceipt?chain=a&hash=b&confirmations=99999999999", 400, "INVALID_ARGUMENT", "confirmations"),
        ("watchBalances?items=ethereum", 400, "INVALID_ARGUMENT", "params[0]"),
        ("watchPrices?items=" + ",".join(["ETH"] * 51), 400, "INVALID_ARGUMENT", "params"),
        ("watchLogs?chain=a&address=" + ",".join(["0x1"] * 101), 400, "INVALID_ARGUMENT", "address"),
        ("watchLogs?chain=a&address=0x1,,0x2", 400, "INVALID_ARGUMENT", "address"),
        ("getHealth", 404, "METHOD_UNKNOWN", None),
        ("", 404, "METHOD_UNKNOWN", None),
    ]
)
async def test_what_is_no_stream_is_refused_with_its_status_and_charged(
    query: str, status: int, reason: str, field: str | None, face: Face
) -> None:
    face.server.reset()
    async with face.session.get(face.base + ROUTE + query) as response:
        assert (response.status, response.headers["Content-Type"]) == (status, "application/json")
        error = (await response.json())["error"]
        assert (error["code"], error["data"]["reason"]) == (status, reason)
        assert error["data"].get("field") == field
    assert [name for name, _, _ in face.server.asked] == ["Admit"]


async def test_an_unknown_watch_names_those_that_there_are(face: Face) -> None:
    async with face.session.get(face.base + ROUTE + "zzz") as response:
        message = (await response.json())["error"]["message"]
    for name in ("watchBlocks", "watchLogs", "watchTransfers", "watchBalances", "watchPrices", "watchReceipt"):
        assert name in message


@each(
    [
        ("/v1/stream/watchBlocks", {}, 401, "KEY_MISSING"),
        ("/wp_bad/v1/stream/watchBlocks", {}, 401, "KEY_INVALID"),
        (BLOCKS, {"Origin": "https://evil.example"}, 403, "INVALID_REQUEST"),
    ]
)
async def test_key_and_origin_come_first(
    path: str, headers: dict[str, str], status: int, reason: str, face: Face
) -> None:
    async with face.session.get(face.base + path, headers=headers) as response:
        assert response.status == status
        assert (await response.json())["error"]["data"]["reason"] == reason
    assert not face.server.asked


@each([("HEAD",), ("POST",), ("DELETE",)])
async def test_other_methods_are_refused(method: str, face: Face) -> None:
    async with face.session.request(method, face.base + BLOCKS) as response:
        assert (response.status, response.headers["Allow"]) == (405, "GET")


async def test_pages_of_allowed_origins_may_read() -> None:
    server = Server()
    server.streams["watchBlocks"] = Blocks()
    async with serving(Options(cors_origins=("https://page.example",)), server) as face:
        given = {"Origin": "https://page.example"}
        async with face.session.get(face.base + BLOCKS, headers=given) as response:
            assert response.headers["Access-Control-Allow-Origin"] == "https://page.example"
        async with face.session.options(face.base + BLOCKS, headers=given) as response:
            assert response.status == 204
            assert response.headers["Access-Control-Allow-Methods"] == "GET"
            assert "Last-Event-ID" in response.headers["Access-Control-Allow-Headers"]


async def test_a_stream_that_is_refused_is_an_answer_with_its_status(face: Face) -> None:
    # The key was known a moment ago.
    async with face.session.get(face.base + ROUTE + "nothing"):
        pass
    face.server.admitted, face.server.retry_after_ms = 0, 1500
    async with face.session.get(face.base + BLOCKS) as response:
        assert (response.status, response.headers["Retry-After"]) == (429, "2")
        assert (await response.json())["error"]["data"]["reason"] == "RATE_LIMITED"
    face.server.reset()
    face.server.keys.clear()
    async with face.session.get(face.base + BLOCKS) as response:
        assert response.status == 401


async def test_a_stream_that_is_over_says_so_and_sends_away_who_comes_again(face: Face) -> None:
    face.server.streams["watchReceipt"] = receipt
    url = f"{face.base}{ROUTE}watchReceipt?chain=ethereum&hash=0x1"
    async with face.session.get(url) as response:
        await frame(response)
        event = await frame(response)
        assert (event["event"], "id" in event) == ("value", False)
        assert await frame(response) == {"event": "end", "id": "end", "data": "{}"}
        assert await response.content.read() == b""
    # An EventSource comes back by itself, and stops at this.
    async with face.session.get(url, headers={"Last-Event-ID": "end"}) as response:
        assert (response.status, await response.read()) == (204, b"")


async def test_silence_is_filled_with_comments(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transcoder.server_sent_events.COMMENT_SECONDS", 0.1)
    face.server.streams["watchBlocks"] = Blocks(count=1)
    async with face.session.get(face.base + BLOCKS) as response:
        await frame(response)
        assert (await frame(response))["id"] == "c0"
        for _ in range(3):
            assert await frame(response) == {"": ""}


async def test_streams_end_with_their_client_and_are_counted(face: Face) -> None:
    def count() -> float:
        return REGISTRY.get_sample_value("waypost_http_sockets_open", {"kind": "sse"}) or 0

    blocks = face.server.streams["watchBlocks"] = Blocks()
    before = count()
    async with face.session.get(face.base + BLOCKS) as response:
        await frame(response)
        assert (count() - before, blocks.open) == (1, 1)
        response.close()
    await until(lambda: not blocks.open and count() == before)


async def test_the_demo_is_charged_before_its_stream(face: Face) -> None:
    face.server.streams["watchBlocks"] = Blocks()
    async with face.session.get(face.base + "/demo/v1/stream/watchBlocks?chain=ethereum") as response:
        assert response.status == 200
    assert [(admit.demo, admit.items, admit.client_address) for admit in face.server.admits] == [(True, 1, "127.0.0.1")]
    face.server.limit, face.server.admitted = 1, 0
    async with face.session.get(face.base + "/demo/v1/stream/watchBlocks?chain=ethereum") as response:
        assert response.status == 429
        assert "RateLimit" in response.headers


async def test_the_end_of_the_face_says_where_to_go_on() -> None:
    server = Server()
    blocks = server.streams["watchBlocks"] = Blocks(count=2)
    async with serving(Options(), server) as face, face.session.get(face.base + BLOCKS) as response:
        for _ in range(3):
            await frame(response)
        face.runner.leave()
        ending = asyncio.create_task(face.runner.close(5.0))
        last = await frame(response)
        error = json.loads(last["data"])["error"]
        assert (last["event"], error["code"], error["data"]["cursor"]) == ("error", 503, "c1")
        assert await response.content.read() == b""
        await asyncio.wait_for(ending, 5)
        await until(lambda: blocks.open == 0)
