"""Sockets of clients that mean no good: broken, endless and huge frames, floods, and clients that read nothing."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from waypost.v1 import system_pb2

from tests.each import each
from tests.transcoder.frames import BINARY, CLOSE, PING, PONG, TEXT, Wire, frame
from tests.transcoder.scripted import Face, Options, Server, serving
from transcoder import connections

pytestmark = pytest.mark.slow

HEALTH = {"jsonrpc": "2.0", "method": "getHealth", "id": 1}
REQUEST = json.dumps(HEALTH).encode()
LIMIT = 64 * 1024


async def goes_on(face: Face) -> None:
    """Check that others are served."""
    assert (await face.post(HEALTH))[0] == 200


@each(
    [
        (frame(TEXT, length=LIMIT + 1), 1009),
        (frame(TEXT, length=1 << 40), 1009),
        (frame(TEXT, length=(1 << 64) - 1), 1009),
        (frame(TEXT, b"x" * LIMIT, fin=False) + frame(0, b"x"), 1009),
        (frame(3, b"x"), 1002),
        (frame(11), 1002),
        (frame(0, b"x"), 1002),
        (frame(TEXT | 0x40, b"x"), 1002),
        (frame(TEXT, b"x", fin=False) + frame(TEXT, b"x"), 1002),
        (frame(PING, b"x" * 126), 1002),
        (frame(PING, b"x", fin=False), 1002),
        (frame(CLOSE, b"\x03"), 1002),
        (frame(CLOSE, b"\x00\x07"), 1002),
        (frame(TEXT, b'"\xff"'), 1007),
        (frame(BINARY, REQUEST), 1003),
        (frame(CLOSE, b"\x03\xe8"), 1000),
    ]
)
async def test_what_is_no_message_ends_the_socket_with_its_code(sent: bytes, code: int, face: Face) -> None:
    wire = await Wire.upgraded(face)
    wire.writer.write(sent)
    found, reason = await wire.closed()
    assert found == code
    assert reason or code == 1000
    await wire.closes()
    await goes_on(face)


async def test_a_message_may_be_as_large_as_the_limit(face: Face) -> None:
    wire = await Wire.upgraded(face)
    body = REQUEST.ljust(LIMIT)
    wire.writer.write(frame(TEXT, body[:100], fin=False) + frame(PING, b"p") + frame(0, body[100:]))
    assert await wire.heard() == (PONG, b"p")
    assert (await wire.message())["id"] == 1


async def test_without_a_key_messages_are_small() -> None:
    async with serving(Options(max_body_bytes=1 << 20), Server()) as face:
        wire = await Wire.upgraded(face, "/demo/v1/ws")
        wire.writer.write(frame(TEXT, length=LIMIT + 1))
        assert (await wire.closed())[0] == 1009
        wire = await Wire.upgraded(face)
        wire.writer.write(frame(TEXT, REQUEST.ljust(1 << 20)))
        assert (await wire.message())["id"] == 1


async def test_halves_of_messages_end_with_their_time() -> None:
    async with serving(Options(body_timeout=0.3), Server()) as face:
        wire = await Wire.upgraded(face)
        wire.writer.write(frame(TEXT, REQUEST, fin=False) + frame(0, b" " * 8000, fin=False))
        # Pings between them are no progress.
        for _ in range(3):
            wire.writer.write(frame(PING))
            await asyncio.sleep(0.05)
        async with asyncio.timeout(5):
            while await wire.reader.read(100):
                pass
        await goes_on(face)


async def test_a_client_that_only_pings_stays(face: Face) -> None:
    async with serving(Options(body_timeout=0.3), Server()) as face:
        wire = await Wire.upgraded(face)
        for _ in range(10_000):
            wire.writer.write(frame(PING, b"ping"))
        for _ in range(10_000):
            assert await wire.heard() == (PONG, b"ping")
        await asyncio.sleep(0.5)
        wire.say(HEALTH)
        assert (await wire.message())["id"] == 1


async def test_few_large_messages_may_be_arriving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transcoder.app.MOST_OPEN_PER_KEY", 2)
    async with serving(Options(), Server()) as face:
        wires = [await Wire.upgraded(face) for _ in range(3)]
        for wire in wires[:2]:
            wire.writer.write(frame(TEXT, b" " * 8000, fin=False))
            await wire.writer.drain()
        await asyncio.sleep(0.1)
        wires[2].writer.write(frame(TEXT, b" " * 8000, fin=False))
        assert await wires[2].closed() == (1013, "too many large messages are arriving")
        # Whole ones are none of them, and those that end make room.
        wires[0].writer.write(frame(0, REQUEST))
        assert (await wires[0].message())["id"] == 1
        fresh = await Wire.upgraded(face)
        fresh.writer.write(frame(TEXT, b" " * 8000, fin=False))
        fresh.writer.write(frame(0, REQUEST))
        assert (await fresh.message())["id"] == 1


async def test_a_client_that_sends_without_reading_is_not_read_on(face: Face) -> None:
    async def answer(_: Any, __: Any) -> Any:
        return system_pb2.GetHealthResponse(version="x" * 100_000)

    face.server.scripts["getHealth"] = answer
    wire = await Wire.upgraded(face)
    wire.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for _ in range(2000):
        wire.say(HEALTH)
    counts = [-1, 0]
    # Until nothing more is asked, while answers wait.
    async with asyncio.timeout(20):
        while counts[-1] != counts[-2] or not counts[-1]:
            await asyncio.sleep(0.5)
            counts.append(len(face.server.asked))
    assert counts[-1] < 2000
    wire.writer.transport.abort()
    await goes_on(face)


async def test_a_client_that_takes_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "GRACE_OPEN", 0.5)

    async def answer(_: Any, __: Any) -> Any:
        return system_pb2.GetHealthResponse(version="x" * 4_000_000)

    server = Server(scripts={"getHealth": answer})
    async with serving(Options(), server) as face:
        wire = await Wire.upgraded(face)
        for _ in range(4):
            wire.say(HEALTH)
        async with asyncio.timeout(10):
            while face.open_connections():  # noqa: ASYNC110  # the face closes it on its own
                await asyncio.sleep(0.05)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_bytes_harm_the_face(data: st.DataObject) -> None:
    frames = st.builds(
        frame,
        st.integers(0, 127),
        st.binary(max_size=140) | st.just(REQUEST),
        fin=st.booleans(),
        length=st.none() | st.integers(0, (1 << 64) - 1),
    )
    sent = b"".join(data.draw(st.lists(frames | st.binary(max_size=40), max_size=6)))

    async def run() -> None:
        async with serving(Options(), Server()) as face:
            wire = await Wire.upgraded(face)
            wire.writer.write(sent)
            wire.writer.write_eof()
            async with asyncio.timeout(10):
                with suppress(ConnectionError):
                    await wire.reader.read()
            await goes_on(face)
            await Wire.end_all()

    asyncio.run(run())
