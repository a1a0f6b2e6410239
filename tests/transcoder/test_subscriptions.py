"""Subscriptions over a socket: their answers, notifications, ends, and what they cost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.each import each
from tests.transcoder.events import Blocks, receipt, until
from tests.transcoder.frames import Wire
from tests.transcoder.scripted import KEY, Face, Options, Server, serving

pytestmark = pytest.mark.slow

BLOCKS = ["watchBlocks", {"chain": "ethereum"}]


def request(params: Any, method: str = "subscribe", identity: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": identity}


async def subscribed(wire: Wire, params: Any = BLOCKS) -> str:
    """Return the text of a new subscription, whose answer comes before its events."""
    wire.say(request(params))
    answer = await wire.message()
    assert isinstance(answer["result"], str)
    return str(answer["result"])


async def test_events_are_notifications_with_their_cursor(face: Face) -> None:
    blocks = face.server.streams["watchBlocks"] = Blocks()
    wire = await Wire.upgraded(face)
    name = await subscribed(wire)
    for number in range(3):
        note = await wire.message()
        assert (note["jsonrpc"], note["method"], "id" in note) == ("2.0", "subscription", False)
        params = note["params"]
        assert (params["subscription"], params["cursor"]) == (name, f"c{number}")
        assert (params["event"]["kind"], params["event"]["blockNumber"]) == ("ADDED", number)
    blocks.release.set()
    last = (await wire.message())["params"]
    assert last["subscription"] == name
    assert (last["error"]["code"], last["error"]["data"]["reason"]) == (429, "SLOW_CONSUMER")
    assert last["error"]["data"]["cursor"] == "c2"
    # The call carried the key, once.
    ((asked, _, metadata),) = face.server.asked
    assert (asked, metadata["x-api-key"], metadata["x-waypost-client"]) == ("watchBlocks", KEY, "127.0.0.1")
    assert not face.server.admits


@each([["watchBlocks", {"chain": "ethereum", "cursor": "c6"}], {"watch": "watchBlocks", "params": ["ethereum", "c6"]}])
async def test_parameters_are_those_of_operations(params: Any, face: Face) -> None:
    face.server.streams["watchBlocks"] = Blocks()
    wire = await Wire.upgraded(face)
    await subscribed(wire, params)
    assert (await wire.message())["params"]["cursor"] == "c7"


async def test_a_stream_that_is_over_says_so(face: Face) -> None:
    face.server.streams["watchReceipt"] = receipt
    wire = await Wire.upgraded(face)
    name = await subscribed(wire, ["watchReceipt", {"chain": "ethereum", "hash": "0x1", "confirmations": 2}])
    event = (await wire.message())["params"]
    assert (event["event"]["transaction"]["state"], "cursor" in event) == ("CONFIRMED", False)
    assert (await wire.message())["params"] == {"subscription": name, "end": True}


async def test_several_subscriptions_and_calls_share_a_socket(face: Face) -> None:
    blocks = face.server.streams["watchBlocks"] = Blocks(count=1)
    wire = await Wire.upgraded(face)
    names = [await subscribed(wire)]
    await wire.message()
    names.append(await subscribed(wire))
    assert (await wire.message())["params"]["subscription"] == names[1]
    wire.say({"jsonrpc": "2.0", "method": "getHealth", "id": 9})
    assert (await wire.message())["id"] == 9
    for name, answer in ((names[0], True), (names[0], False), ("nothing", False)):
        wire.say(request([name], "unsubscribe"))
        assert (await wire.message())["result"] is answer
    await until(lambda: blocks.open == 1)
    wire.say(request({"subscription": names[1]}, "unsubscribe"))
    assert (await wire.message())["result"] is True
    await until(lambda: blocks.open == 0)


async def test_streams_end_with_their_socket(face: Face) -> None:
    blocks = face.server.streams["watchBlocks"] = Blocks()
    wire = await Wire.upgraded(face)
    for _ in range(3):
        wire.say(request(BLOCKS))
    await until(lambda: blocks.open == 3)
    wire.writer.close()
    await until(lambda: blocks.open == 0)


@each(
    [
        (None, "INVALID_ARGUMENT", "params"),
        ([], "INVALID_ARGUMENT", "params"),
        ("watchBlocks", "INVALID_ARGUMENT", "params"),
        ([*BLOCKS, 1], "INVALID_ARGUMENT", "params"),
        ([7], "INVALID_ARGUMENT", "watch"),
        ({}, "INVALID_ARGUMENT", "watch"),
        ({"watch": "watchBlocks", "param": {}}, "UNKNOWN_PARAMETER", "param"),
        (["watchBlock"], "METHOD_UNKNOWN", None),
        (["getHealth"], "METHOD_UNKNOWN", None),
        (["watchBlocks", {"chian": "x"}], "UNKNOWN_PARAMETER", "chian"),
        (["watchBlocks", {"chain": 7}], "INVALID_ARGUMENT", "chain"),
        (["watchBlocks", 7], "INVALID_ARGUMENT", None),
        (["watchBlocks", {"chain": 1 << 70}], "INVALID_ARGUMENT", "chain"),
        (["watchReceipt", {"chain": "e", "hash": "0x", "confirmations": 1.5}], "INVALID_ARGUMENT", "confirmations"),
        (["watchBalances", {"items": ["a"]}], "INVALID_ARGUMENT", "params[0]"),
        (["watchBalances", {"items": [{}] * 51}], "INVALID_ARGUMENT", "params"),
    ]
)
async def test_what_is_no_subscription_is_refused_and_charged(
    params: Any, reason: str, field: str | None, face: Face
) -> None:
    face.server.reset()
    wire = await Wire.upgraded(face)
    wire.say(request(params, identity="mine"))
    answer = await wire.message()
    assert (answer["id"], answer["error"]["data"]["reason"]) == ("mine", reason)
    assert answer["error"]["data"].get("field") == field
    assert [(admit.api_key, admit.items) for admit in face.server.admits] == [(KEY, 1)]
    assert [name for name, _, _ in face.server.asked] == ["Admit"]


@each([[], [1], ["a", "b"], {"id": "a"}])
async def test_what_unsubscribes_names_a_subscription(params: Any, face: Face) -> None:
    wire = await Wire.upgraded(face)
    wire.say(request(params, "unsubscribe"))
    assert (await wire.message())["error"]["data"]["reason"] == "INVALID_ARGUMENT"


async def test_subscribing_needs_an_id_and_no_company(face: Face) -> None:
    wire = await Wire.upgraded(face)
    wire.say({"jsonrpc": "2.0", "method": "subscribe", "params": BLOCKS})
    answer = await wire.message()
    assert (answer["id"], answer["error"]["data"]["reason"]) == (None, "INVALID_REQUEST")
    wire.say([request(BLOCKS)])
    ((answer),) = await wire.message()
    assert answer["error"]["data"]["reason"] == "METHOD_UNKNOWN"
    assert "/v1/ws" in answer["error"]["message"]
    assert answer == (await face.post([request(BLOCKS)]))[1][0] | {"error": answer["error"]}


async def test_a_stream_that_is_refused_is_the_answer(face: Face) -> None:
    face.server.keys.clear()
    wire = await Wire.with_face(face)
    wire.upgrade(f"/{KEY}/v1/ws")
    assert (await wire.answer())[0] == 101  # the key was known a moment ago
    wire.say(request(BLOCKS))
    assert (await wire.message())["error"]["data"]["reason"] == "KEY_INVALID"


async def test_the_demo_is_charged_before_its_stream(face: Face) -> None:
    face.server.streams["watchBlocks"] = Blocks(count=1)
    wire = await Wire.upgraded(face, "/demo/v1/ws")
    await subscribed(wire)
    await wire.message()
    assert [(admit.demo, admit.items) for admit in face.server.admits] == [(True, 1)]
    _, _, metadata = face.server.asked[-1]
    assert (metadata["x-waypost-principal"], metadata["x-waypost-client"]) == ("key:1", "127.0.0.1")
    face.server.admitted = 0
    wire.say(request(BLOCKS))
    assert (await wire.message())["error"]["data"]["reason"] == "RATE_LIMITED"


async def test_a_quiet_stream_is_open_all_the_same(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transcoder.watches.OPENING_SECONDS", 0.1)
    blocks = face.server.streams["watchBlocks"] = Blocks(count=0)
    wire = await Wire.upgraded(face)
    name = await subscribed(wire)
    blocks.release.set()
    assert (await wire.message())["params"]["subscription"] == name


async def test_a_reader_that_stops_holds_its_stream_back(face: Face) -> None:
    blocks = face.server.streams["watchBlocks"] = Blocks(count=10_000, extra=20_000)
    wire = await Wire.upgraded(face)
    await subscribed(wire)
    await until(lambda: blocks.sent > 10)
    await asyncio.sleep(1.0)
    count = blocks.sent
    assert count < 5000
    await asyncio.sleep(0.5)
    assert blocks.sent <= count + 50
    # It goes on where it was.
    for number in range(count + 20):
        assert (await wire.message())["params"]["cursor"] == f"c{number}"
    wire.writer.transport.abort()
    await until(lambda: blocks.open == 0)


async def test_the_end_of_the_face_says_where_to_go_on() -> None:
    server = Server()
    blocks = server.streams["watchBlocks"] = Blocks(count=2)
    async with serving(Options(), server) as face:
        wire = await Wire.upgraded(face)
        name = await subscribed(wire)
        for _ in range(2):
            await wire.message()
        face.runner.leave()
        ending = asyncio.create_task(face.runner.close(5.0))
        last = (await wire.message())["params"]
        assert (last["subscription"], last["error"]["code"]) == (name, 503)
        assert (last["error"]["data"]["cursor"], last["error"]["data"]["retryAfterMs"]) == ("c1", 500)
        assert (await wire.closed())[0] == 1001
        await asyncio.wait_for(ending, 5)
        await until(lambda: blocks.open == 0)
