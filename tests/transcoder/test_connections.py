"""Which connections make room for others, and which never do."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest

from tests.transcoder.conversation import Conversation
from tests.transcoder.scripted import KEY, Face, Options, Server, serving
from transcoder import connections

pytestmark = pytest.mark.slow

ATTACKER = "127.0.0.2"
BODY = json.dumps({"jsonrpc": "2.0", "method": "getHealth", "id": 7}).encode()


async def open_from(face: Face, address: str) -> Conversation:
    host, _, port = face.base.removeprefix("http://").partition(":")
    return Conversation(*await asyncio.open_connection(host, int(port), local_addr=(address, 0)))


def ask(talk: Conversation) -> None:
    talk.head(f"/{KEY}/v1", len(BODY))
    talk.writer.write(BODY)


async def answered(talk: Conversation) -> bool:
    """Whether a request over the connection is answered with a result."""
    ask(talk)
    try:
        status, _, _ = await talk.answer()
    except (asyncio.IncompleteReadError, OSError):
        return False
    return status == 200


async def send(talk: Conversation, size: int) -> None:
    async with asyncio.timeout(20):
        for _ in range(size >> 16):
            talk.writer.write(bytes(1 << 16))
            await talk.writer.drain()


async def test_the_client_with_the_most_connections_makes_room_by_its_longest_idle() -> None:
    async with serving(Options(max_connections=6), Server()) as face:
        kept = await open_from(face, "127.0.0.1")
        assert await answered(kept)
        crowd = [await open_from(face, ATTACKER) for _ in range(5)]
        for talk in reversed(crowd):
            assert await answered(talk)
        fresh = await open_from(face, "127.0.0.1")
        assert await answered(fresh)
        # Of the crowd the last one asked first.
        assert [await answered(talk) for talk in crowd] == [True, True, True, True, False]
        assert await answered(kept)


async def test_a_request_that_is_not_admitted_goes_before_one_that_is() -> None:
    server = Server()
    release = asyncio.Event()

    async def wait(_: Any, __: Any) -> Any:
        await release.wait()
        raise AssertionError

    async with serving(Options(max_connections=3), server) as face:
        server.scripts["getHealth"] = wait
        executed = [await open_from(face, ATTACKER) for _ in range(2)]
        for talk in executed:
            ask(talk)
        sending = await open_from(face, ATTACKER)
        sending.head(f"/{KEY}/v1", len(BODY))
        async with asyncio.timeout(5):
            while len(server.asked) < 2:  # noqa: ASYNC110  # the server is asked on its own
                await asyncio.sleep(0.01)
        ask(await open_from(face, "127.0.0.1"))
        await sending.closes()
        async with asyncio.timeout(5):
            while len(server.asked) < 3:  # noqa: ASYNC110  # the server is asked on its own
                await asyncio.sleep(0.01)
        # All of them are being executed: new ones have to come again.
        status, headers, answer = await (await open_from(face, "127.0.0.1")).answer()
        assert (status, headers["connection"], answer["error"]["code"]) == (503, "close", 503)
        release.set()
        for talk in executed:
            assert (await talk.answer())[2]["id"] == 7


async def test_trusted_proxies_make_room_last() -> None:
    async with serving(Options(max_connections=6, trusted_proxies=(ATTACKER,)), Server()) as face:
        proxied = [await open_from(face, ATTACKER) for _ in range(4)]
        own = [await open_from(face, "127.0.0.1") for _ in range(2)]
        for talk in (*proxied, *own):
            assert await answered(talk)
        assert await answered(await open_from(face, "127.0.0.3"))
        assert [await answered(talk) for talk in (*proxied, *own)] == [True] * 4 + [False, True]


async def test_headers_are_bounded_together(face: Face) -> None:
    talk = await Conversation.with_face(face)
    talk.writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n")
    for number in range(5):
        talk.writer.write(b"H%d: %s\r\n" % (number, b"x" * 7000))
        await asyncio.sleep(0.01)
    status, headers, answer = await talk.answer()
    assert (status, headers["connection"], answer["error"]["code"]) == (431, "close", 400)
    await talk.closes()
    # Large headers that come whole within the bound are none the worse, nor are many bodies on one connection.
    talk = await Conversation.with_face(face)
    talk.head(f"/{KEY}/v1", len(BODY), *(f"H{number}: {'x' * 7000}" for number in range(4)))
    talk.writer.write(BODY)
    assert (await talk.answer())[0] == 200
    for _ in range(3):
        talk.head(f"/{KEY}/v1", 60_000)
        for _ in range(6):
            talk.writer.write(b" " * 9000)
            await asyncio.sleep(0.01)
        talk.writer.write(b" " * (6000 - len(BODY)) + BODY)
        assert (await talk.answer())[0] == 200


async def test_the_rest_of_a_refused_body_is_dropped_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(Options(), Server()) as face:
        talk = await Conversation.with_face(face)
        talk.head("/v1", 1 << 20)
        talk.writer.write(bytes(1 << 20))
        status, headers, answer = await talk.answer()
        assert (status, headers["connection"], answer["id"]) == (401, "close", None)
        await talk.closes()
        monkeypatch.setattr(connections, "MOST_DROPPED", 1 << 20)
        talk = await Conversation.with_face(face)
        talk.head("/v1", 1 << 30)
        assert (await talk.answer())[0] == 401
        # What sockets hold besides depends on the machine.
        with pytest.raises(ConnectionError):
            await send(talk, 1 << 29)


async def test_a_client_that_takes_an_answer_too_slowly_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "GRACE", 0.5)
    batch = json.dumps([{"jsonrpc": "2.0", "method": "rpc.discover", "id": 7}] * 50).encode()
    async with serving(Options(), Server()) as face:
        talk = await Conversation.with_face(face)
        talk.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a socket's transport
        talk.head(f"/{KEY}/v1", len(batch))
        talk.writer.write(batch)
        await asyncio.sleep(0.2)
        runner_sees = face.open_connections
        assert runner_sees() == 1
        async with asyncio.timeout(15):
            while runner_sees():  # noqa: ASYNC110  # the face closes it on its own
                await asyncio.sleep(0.05)


async def test_headers_that_are_too_large_are_not_held_together() -> None:
    """What many clients have sent before one turn of the loop is let go of client by client."""
    head = b"POST /local/v1 HTTP/1.1\r\n" + b"".join(b"H%d: %s\r\n" % (number, bytes(8000)) for number in range(30))
    head = head.replace(b"\0", b"x")
    async with serving(Options(), Server()) as face:
        talks = [await open_from(face, "127.0.0.1") for _ in range(100)]
        await asyncio.sleep(0.2)
        sent = 0
        for talk in talks:
            with suppress(BlockingIOError):
                sent += talk.writer.get_extra_info("socket")._sock.send(head)
        assert sent > 100 * connections.LARGEST_HEAD
        tracemalloc.start()
        try:
            answers = [await talk.reader.readline() for talk in talks]
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        for talk in talks:
            talk.writer.close()
    assert [answer.split(b" ")[1:2] for answer in answers] == [[b"431"]] * len(talks)
    assert most < sent // 8
