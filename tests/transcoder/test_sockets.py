"""WebSockets: the upgrade, operations and batches as over POST, how many are answered at once, and their ends."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
from typing import Any

import pytest
from aiohttp import web
from waypost.v1 import system_pb2

from runtime.metrics import REGISTRY
from tests.each import each
from tests.transcoder.events import until
from tests.transcoder.frames import BINARY, PING, PONG, Wire, frame
from tests.transcoder.scripted import KEY, Face, Options, Server, serving
from transcoder import sockets

pytestmark = pytest.mark.slow

HEALTH = {"jsonrpc": "2.0", "method": "getHealth", "id": 1}
PATH = f"/{KEY}/v1/ws"


def open_sockets() -> float:
    return REGISTRY.get_sample_value("waypost_http_sockets_open", {"kind": "websocket"}) or 0


async def test_requests_and_batches_are_answered_as_over_post(face: Face) -> None:
    wire = await Wire.upgraded(face)
    bodies: list[Any] = [
        HEALTH,
        [HEALTH, {**HEALTH, "id": "b"}, {"jsonrpc": "2.0", "method": "getHealth"}],
        {**HEALTH, "method": "getHealht"},
        {**HEALTH, "params": 7},
        {"jsonrpc": "1", "id": 5},
        [],
        [HEALTH] * 51,
    ]
    for body in bodies:
        _, posted, _ = await face.post(body)
        over_post = list(face.server.asked)
        face.server.asked.clear()
        wire.say(body)
        said = await wire.message()
        for answer in (said if isinstance(said, list) else [said]) + (posted if isinstance(posted, list) else [posted]):
            answer.get("error", {}).get("data", {}).pop("requestId", None)
        assert said == posted
        # The server is asked the same, and charges the same.
        assert [(name, request) for name, request, _ in face.server.asked] == [(n, r) for n, r, _ in over_post]
        face.server.asked.clear()


async def test_what_is_no_json_is_answered_and_the_socket_goes_on(face: Face) -> None:
    wire = await Wire.upgraded(face)
    wire.writer.write(frame(1, b"{nope"))
    answer = await wire.message()
    assert (answer["error"]["data"]["reason"], answer["id"]) == ("PARSE_ERROR", None)
    wire.say({"jsonrpc": "2.0", "method": "getHealth"})
    wire.say(HEALTH)
    # The one before was a notification.
    assert (await wire.message())["id"] == 1


async def test_each_message_has_a_request_id_of_its_own(face: Face) -> None:
    wire = await Wire.with_face(face)
    wire.upgrade(PATH, X_Request_Id="mine.1")
    _, headers, _ = await wire.answer()
    assert headers["x-request-id"] == "mine.1"
    found = []
    for _ in range(2):
        wire.say({**HEALTH, "method": "nothing"})
        found.append((await wire.message())["error"]["data"]["requestId"])
    assert found == ["mine.1-1", "mine.1-2"]
    wire.say(HEALTH)
    await wire.message()
    assert face.server.asked[-1][2]["x-request-id"] == "mine.1-3"


async def test_answers_come_in_any_order(face: Face) -> None:
    release = asyncio.Event()

    async def wait(_: Any, __: Any) -> Any:
        await release.wait()
        return system_pb2.GetHealthResponse()

    face.server.scripts["getHealth"] = wait
    wire = await Wire.upgraded(face)
    wire.say(HEALTH)
    wire.say({**HEALTH, "method": "nothing", "id": 2})
    assert (await wire.message())["id"] == 2
    release.set()
    assert (await wire.message())["id"] == 1


async def test_the_next_message_waits_while_64_are_answered(face: Face) -> None:
    release = asyncio.Semaphore(0)

    async def wait(_: Any, __: Any) -> Any:
        await release.acquire()
        return system_pb2.GetHealthResponse()

    face.server.scripts["getHealth"] = wait
    wire = await Wire.upgraded(face)
    for number in range(sockets.MOST_CALLS + 1):
        wire.say({**HEALTH, "id": number})
    async with asyncio.timeout(10):
        while len(face.server.asked) < sockets.MOST_CALLS:  # noqa: ASYNC110  # the server is asked on its own
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    assert len(face.server.asked) == sockets.MOST_CALLS
    release.release()
    await wire.message()
    async with asyncio.timeout(10):
        while len(face.server.asked) <= sockets.MOST_CALLS:  # noqa: ASYNC110  # the server is asked on its own
            await asyncio.sleep(0.01)
    for _ in range(sockets.MOST_CALLS):
        release.release()
    numbers = {(await wire.message())["id"] for _ in range(sockets.MOST_CALLS)}
    assert len(numbers) == sockets.MOST_CALLS


async def test_calls_end_with_their_client(face: Face) -> None:
    ended = asyncio.Event()

    async def wait(_: Any, __: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    face.server.scripts["getHealth"] = wait
    wire = await Wire.upgraded(face)
    wire.say(HEALTH)
    async with asyncio.timeout(10):
        while not face.server.asked:  # noqa: ASYNC110  # the server is asked on its own
            await asyncio.sleep(0.01)
        wire.writer.close()
        await ended.wait()


async def test_nothing_is_left_of_a_socket_whose_client_has_gone(face: Face) -> None:
    def left() -> int:
        gc.collect()
        return sum(issubclass(type(one), web.WebSocketResponse) for one in gc.get_objects())

    before = left()
    for _ in range(5):
        wire = await Wire.upgraded(face)
        wire.say(HEALTH)
        await wire.message()
        wire.writer.transport.abort()
    await until(lambda: not face.open_connections() or open_sockets() == 0)
    await asyncio.sleep(0.1)
    assert left() <= before


async def test_a_key_that_is_revoked_is_refused_from_then_on(face: Face) -> None:
    wire = await Wire.upgraded(face)
    face.server.keys.clear()
    for body in (HEALTH, [HEALTH]):
        wire.say(body)
        assert (await wire.message())["error"]["data"]["reason"] == "KEY_INVALID"


async def test_the_quota_holds_for_each_message() -> None:
    server = Server(admitted=0, limit=5, retry_after_ms=700)
    async with serving(Options(), server) as face:
        wire = await Wire.upgraded(face)
        wire.say(HEALTH)
        answer = await wire.message()
        assert (answer["error"]["code"], answer["error"]["data"]["retryAfterMs"]) == (429, 700)


@each(
    [
        ({"Upgrade": None}, 426),
        ({"Upgrade": "h2c"}, 426),
        ({"Connection": "keep-alive"}, 426),
        ({"Sec_WebSocket_Version": "12"}, 426),
        ({"Sec_WebSocket_Key": None}, 400),
        ({"Sec_WebSocket_Key": "short"}, 400),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://x"}, 403),
    ]
)
async def test_what_is_no_upgrade_is_refused_in_json(changed: dict[str, str | None], status: int, face: Face) -> None:
    wire = await Wire.with_face(face)
    wire.upgrade(PATH, **changed)
    answered, headers, body = await wire.answer()
    assert (answered, body["error"]["data"]["reason"]) == (status, "INVALID_REQUEST")
    assert headers.get("sec-websocket-version") == ("13" if "Sec_WebSocket_Version" in changed else None)
    # It costs the connection nothing.
    wire.upgrade(PATH, Origin="http://x")
    assert (await wire.answer())[0] == 101
    assert not face.server.asked


@each(
    [
        ("/v1/ws", "KEY_MISSING"),
        ("//v1/ws", "KEY_MISSING"),
        ("/wp_bad/v1/ws", "KEY_INVALID"),
        ("/a%20/v1/ws", "KEY_INVALID"),
    ]
)
async def test_a_caller_without_a_key_is_refused_before_the_upgrade(path: str, reason: str, face: Face) -> None:
    wire = await Wire.with_face(face)
    wire.upgrade(path)
    status, _, body = await wire.answer()
    assert (status, body["error"]["data"]["reason"]) == (401, reason)


async def test_origins_that_may_call_may_open_sockets() -> None:
    for allowed in ("https://page.example", "*"):
        async with serving(Options(cors_origins=(allowed,)), Server()) as face:
            wire = await Wire.with_face(face)
            wire.upgrade(PATH, Origin="https://page.example")
            assert (await wire.answer())[0] == 101


async def test_behind_a_trusted_proxy_the_own_origin_is_the_one_that_it_says() -> None:
    for trusted, status in ((("127.0.0.1",), 101), ((), 403)):
        async with serving(Options(trusted_proxies=trusted), Server()) as face:
            wire = await Wire.with_face(face)
            wire.upgrade(PATH, Origin="https://x", X_Forwarded_Proto="https")
            assert (await wire.answer())[0] == status


async def test_other_methods_are_refused(face: Face) -> None:
    async with face.session.post(face.base + PATH, data=json.dumps(HEALTH)) as response:
        assert (response.status, response.headers["Allow"]) == (405, "GET")
        assert (await response.json())["error"]["data"]["reason"] == "INVALID_REQUEST"


async def test_pings_are_answered_and_sent(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "PING_SECONDS", 0.2)
    wire = await Wire.upgraded(face)
    wire.writer.write(frame(PING, b"are you there"))
    assert await wire.heard() == (PONG, b"are you there")
    assert (await wire.heard())[0] == PING
    wire.writer.write(frame(PONG))
    assert (await wire.heard())[0] == PING
    # Without a pong it ends.
    assert await asyncio.wait_for(wire.reader.read(), 5) == b""


async def test_binary_messages_end_the_socket_with_a_reason(face: Face) -> None:
    wire = await Wire.upgraded(face)
    wire.writer.write(frame(BINARY, b"{}"))
    assert await wire.closed() == (1003, "send JSON-RPC 2.0 in text frames")


async def test_the_end_of_the_face_ends_sockets_when_their_calls_are_answered() -> None:
    server, release = Server(), asyncio.Event()

    async def wait(_: Any, __: Any) -> Any:
        await release.wait()
        return system_pb2.GetHealthResponse()

    async with serving(Options(), server) as face:
        server.scripts["getHealth"] = wait
        idle, busy = await Wire.upgraded(face), await Wire.upgraded(face)
        busy.say(HEALTH)
        async with asyncio.timeout(10):
            while not server.asked:  # noqa: ASYNC110  # the server is asked on its own
                await asyncio.sleep(0.01)
        face.runner.leave()
        ending = asyncio.create_task(face.runner.close(5.0))
        assert await idle.closed() == (1001, "this gateway is stopping; connect again")
        release.set()
        assert (await busy.message())["id"] == 1
        assert (await busy.closed())[0] == 1001
        await asyncio.wait_for(ending, 5)


async def test_sockets_are_counted_apart_from_connections() -> None:
    async with serving(Options(max_connections=2, max_sockets=4), Server()) as face:
        wires = [await Wire.upgraded(face) for _ in range(4)]
        refused = await Wire.with_face(face)
        refused.upgrade(PATH)
        status, headers, body = await refused.answer()
        assert (status, body["error"]["data"]["reason"]) == (503, "UPSTREAM_UNAVAILABLE")
        assert headers["retry-after"] == "1"
        assert open_sockets() == 4
        # Crowds of connections do not push out sockets.
        for _ in range(4):
            assert (await face.post(HEALTH))[0] == 200
            await Wire.with_face(face)
        wires[0].say(HEALTH)
        assert (await wires[0].message())["id"] == 1
        wires.pop().writer.close()
        async with asyncio.timeout(5):
            while open_sockets() > 3:  # noqa: ASYNC110  # it ends on its own
                await asyncio.sleep(0.01)
        await Wire.upgraded(face)


async def test_the_demo_has_few_sockets_for_an_address(face: Face) -> None:
    for _ in range(4):
        wire = await Wire.upgraded(face, "/demo/v1/ws")
    wire.say(HEALTH)
    assert (await wire.message())["id"] == 1
    assert face.server.admits[-1].demo
    refused = await Wire.with_face(face)
    refused.upgrade("/demo/v1/ws")
    status, _, body = await refused.answer()
    assert (status, body["error"]["data"]["reason"]) == (429, "RATE_LIMITED")


async def test_log_lines_hold_no_key(face: Face, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        wire = await Wire.with_face(face)
        wire.upgrade(PATH, Sec_WebSocket_Protocol="graphql-ws")
        assert (await wire.answer())[0] == 101
        wire.say(HEALTH)
        await wire.message()
        wire.writer.write(frame(BINARY, b"x"))
        await wire.closed()
    assert KEY not in caplog.text
    assert "graphql-ws" not in caplog.text
