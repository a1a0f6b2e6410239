"""Refused requests: the caller's id if the body is there soon, nothing reserved, else the connection closes."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.transcoder.conversation import Conversation
from tests.transcoder.scripted import KEY, Face, Options, Server, serving

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

HEALTH = {"jsonrpc": "2.0", "method": "getHealth", "id": "mine"}
BODY = json.dumps(HEALTH).encode()
UNKNOWN = "/wp_nobody/v1"


def no_key(_: Server) -> str:
    return "/v1"


def empty_key(_: Server) -> str:
    return "//v1"


def malformed_key(_: Server) -> str:
    return "/a.b/v1"


def unknown_key(_: Server) -> str:
    return UNKNOWN


def used_up_demo(server: Server) -> str:
    server.admitted, server.limit, server.retry_after_ms = 0, 1, 700
    return "/demo/v1"


def used_up_key(server: Server) -> str:
    server.admitted, server.limit, server.retry_after_ms = 0, 5, 700
    return f"/{KEY}/v1"


REFUSALS = [
    (no_key, 401, "KEY_MISSING"),
    (empty_key, 401, "KEY_MISSING"),
    (malformed_key, 401, "KEY_INVALID"),
    (unknown_key, 401, "KEY_INVALID"),
    (used_up_demo, 429, "RATE_LIMITED"),
    (used_up_key, 429, "RATE_LIMITED"),
]
BEFORE_THE_BODY = REFUSALS[:-1]


@pytest.mark.parametrize("pause", [0.0, 0.03], ids=["at once", "soon"])
@pytest.mark.parametrize(("arrange", "status", "reason"), REFUSALS)
async def test_the_id_is_echoed_where_the_body_is_there_soon(
    face: Face, arrange: Callable[[Server], str], status: int, reason: str, pause: float
) -> None:
    talk = await Conversation.with_face(face)
    for _ in range(2):  # and the connection is kept
        talk.head(arrange(face.server), len(BODY))
        await asyncio.sleep(pause)
        talk.writer.write(BODY)
        answered, headers, answer = await talk.answer()
        assert (answered, answer["error"]["data"]["reason"], answer["id"]) == (status, reason, "mine")
        assert headers.get("connection") != "close"
        assert ("retry-after" in headers) == (status == 429)
    talk.writer.close()


@pytest.mark.parametrize(("arrange", "status", "reason"), BEFORE_THE_BODY)
async def test_a_body_that_takes_longer_is_not_waited_for(
    face: Face, arrange: Callable[[Server], str], status: int, reason: str
) -> None:
    talk = await Conversation.with_face(face)
    talk.head(arrange(face.server), len(BODY))
    began = asyncio.get_running_loop().time()
    talk.writer.write(BODY[:-1])
    answered, headers, answer = await talk.answer()
    assert asyncio.get_running_loop().time() - began >= 0.09
    assert (answered, answer["error"]["data"]["reason"], answer["id"]) == (status, reason, None)
    assert headers["connection"] == "close"
    await talk.closes()


def revoked_key(server: Server) -> str:
    server.keys.clear()
    return f"/{KEY}/v1"


@pytest.mark.parametrize(
    ("arrange", "status", "reason"), [(used_up_key, 429, "RATE_LIMITED"), (revoked_key, 401, "KEY_INVALID")]
)
@pytest.mark.parametrize("method", ["getHealth", "nothing"], ids=["by its call", "before a call"])
async def test_a_refusal_after_a_body_that_took_longer_has_no_id_either(
    face: Face, arrange: Callable[[Server], str], status: int, reason: str, method: str
) -> None:
    body = json.dumps({**HEALTH, "method": method}).encode()
    for length, pause in (len(body), 0.25), ((1 << 16) + 1, 0.0):
        face.server.reset()
        await face.post(HEALTH)  # the key is known, and its bodies are read
        path = arrange(face.server)
        talk = await Conversation.with_face(face)
        talk.head(path, length)
        await asyncio.sleep(pause)
        talk.writer.write(body.ljust(length))
        answered, headers, answer = await talk.answer()
        assert (answered, answer["error"]["data"]["reason"], answer["id"]) == (status, reason, None)
        assert ("retry-after" in headers) == (status == 429)
        assert headers["connection"] == "close"
        await talk.closes()


async def test_a_request_that_is_admitted_has_its_id_however_slow_its_body(face: Face) -> None:
    for more in ({}, {"method": "nothing"}, {"params": 7}):
        talk = await Conversation.with_face(face)
        body = json.dumps({**HEALTH, **more}).encode()
        talk.head(f"/{KEY}/v1", len(body))
        await asyncio.sleep(0.2)
        talk.writer.write(body)
        answered, headers, answer = await talk.answer()
        assert (answered, answer["id"], headers.get("connection")) == (200, "mine", None)


@pytest.mark.parametrize("size", [64 * 1024, 64 * 1024 + 1])
async def test_no_more_than_64_kib_are_waited_for(size: int) -> None:
    body = json.dumps({**HEALTH, "padding": ""}).encode()
    body = body[:-2] + b"x" * (size - len(body)) + body[-2:]
    assert len(body) == size
    async with serving(Options(max_body_bytes=1 << 20), Server()) as face:
        for path in ("/v1", UNKNOWN):
            talk = await Conversation.with_face(face)
            talk.head(path, size)
            talk.writer.write(body)
            answered, headers, answer = await talk.answer()
            assert answered == 401
            assert (answer["id"], headers.get("connection")) == (("mine", None) if size == 1 << 16 else (None, "close"))
            talk.writer.close()


async def test_a_chunked_body_is_waited_for_and_no_longer(face: Face) -> None:
    for whole in (True, False):
        talk = await Conversation.with_face(face)
        talk.head("/v1", "Transfer-Encoding: chunked")
        talk.writer.write(b"%x\r\n%s\r\n" % (len(BODY), BODY) + (b"0\r\n\r\n" if whole else b""))
        _, headers, answer = await talk.answer()
        assert (answer["id"], headers.get("connection")) == (("mine", None) if whole else (None, "close"))
        talk.writer.close()


async def test_what_is_no_single_request_has_no_id(face: Face) -> None:
    batch = json.dumps([HEALTH, HEALTH]).encode()
    bomb = gzip.compress(b" " * (1 << 20))
    for body, lines in ((batch, ()), (b"", ()), (b"{", ()), (b"\xff", ()), (bomb, ("Content-Encoding: gzip",))):
        talk = await Conversation.with_face(face)
        talk.head("/v1", len(body), *lines)
        talk.writer.write(body)
        answered, _, answer = await talk.answer()
        assert (answered, answer["id"]) == (401, None)
        talk.writer.close()
    talk = await Conversation.with_face(face)
    packed = gzip.compress(BODY)
    talk.head("/v1", len(packed), "Content-Encoding: gzip")
    talk.writer.write(packed)
    assert (await talk.answer())[2]["id"] == "mine"
    talk.writer.close()


async def test_a_refused_body_is_not_invited(face: Face) -> None:
    for path in ("/v1", UNKNOWN):
        talk = await Conversation.with_face(face)
        talk.head(path, len(BODY), "Expect: 100-continue")
        answered, headers, _ = await talk.answer()
        assert (answered, headers["connection"]) == (401, "close")
        await talk.closes()
    talk = await Conversation.with_face(face)
    talk.head(f"/{KEY}/v1", len(BODY), "Expect: 100-continue")
    assert (await talk.answer())[0] == 100
    talk.writer.write(BODY)
    assert (await talk.answer())[2]["id"] == "mine"
    talk.writer.close()


async def test_a_key_is_looked_up_before_its_body_and_known_for_a_while() -> None:
    server = Server()
    async with serving(Options(), server, credential="s" * 20) as face:
        talk = await Conversation.with_face(face)
        talk.head(f"/{KEY}/v1", len(BODY))
        async with asyncio.timeout(5):
            while not server.looks:  # noqa: ASYNC110  # the server is asked on its own
                await asyncio.sleep(0.01)
        assert server.asked == []
        talk.writer.write(BODY)
        assert (await talk.answer())[2]["id"] == "mine"
        for _ in range(5):
            await face.post(HEALTH)
        assert [(look.api_key, look.items) for look in server.looks] == [(KEY, 0)]
        assert [name for name, _, _ in server.asked] == ["getHealth"] * 6
        talk.writer.close()


async def test_wrong_keys_are_asked_about_each_time_and_leave_nothing(face: Face) -> None:
    for _ in range(3):
        await face.post(HEALTH, UNKNOWN)
    assert [look.api_key for look in face.server.looks] == ["wp_nobody"] * 3
    assert face.server.admits == []


async def test_a_key_that_its_call_refuses_is_asked_about_again() -> None:
    server = Server()
    async with serving(Options(), server) as face:
        await face.post(HEALTH)
        server.keys.clear()
        for _ in range(2):
            status, answer, _ = await face.post(HEALTH)
            assert (status, answer["id"]) == (401, "mine")
        assert len(server.looks) == 2


async def test_only_admitted_requests_are_in_flight() -> None:
    server = Server()
    async with serving(Options(max_in_flight=1), server) as face:
        open_bodies = []
        for path in ("/v1", UNKNOWN, "/demo/v1", f"/{KEY}/v1"):
            talk = await Conversation.with_face(face)
            talk.head(path, len(BODY))
            open_bodies.append(talk)
        await asyncio.sleep(0.05)
        assert (await face.post(HEALTH))[0] == 200
        for talk in open_bodies:
            talk.writer.close()


async def test_overload_is_reported_before_the_body_with_the_id() -> None:
    server = Server()
    begun, release = asyncio.Event(), asyncio.Event()

    async def wait(_: Any, __: Any) -> Any:
        begun.set()
        await release.wait()
        raise AssertionError

    async with serving(Options(max_in_flight=1), server) as face:
        server.scripts["getHealth"] = wait
        held = asyncio.ensure_future(face.post(HEALTH))
        await asyncio.wait_for(begun.wait(), 5)
        status, answer, headers = await face.post(HEALTH)
        assert (status, answer["id"], headers["Retry-After"]) == (503, "mine", "1")
        talk = await Conversation.with_face(face)
        talk.head(f"/{KEY}/v1", len(BODY))
        answered, reported, answer = await talk.answer()
        assert (answered, answer["id"], reported["connection"]) == (503, None, "close")
        release.set()
        await held


async def test_http_1_0_has_no_chunks(face: Face) -> None:
    for path in (f"/{KEY}/v1", "/livez"):
        talk = await Conversation.with_face(face)
        talk.writer.write(
            f"POST {path} HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        talk.writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY))
        status, _, answer = await talk.answer()
        assert (status, answer["error"]["data"]["reason"]) == (400, "INVALID_REQUEST")
        await talk.closes()
    assert face.server.asked == []
    talk = await Conversation.with_face(face)
    talk.writer.write(f"POST /{KEY}/v1 HTTP/1.0\r\nContent-Length: {len(BODY)}\r\n\r\n".encode() + BODY)
    assert (await talk.answer())[2]["id"] == "mine"
    talk.writer.close()
