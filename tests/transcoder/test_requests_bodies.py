"""Bodies that take their time: a deadline, a least rate, and only so many at once."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.transcoder.conversation import Conversation
from tests.transcoder.scripted import KEY, Face, Options, Server, serving
from transcoder import app, requests

pytestmark = pytest.mark.slow

BODY = json.dumps({"jsonrpc": "2.0", "method": "getHealth", "id": 7}).encode()


async def test_a_body_has_a_deadline() -> None:
    server = Server()
    async with serving(Options(body_timeout=0.4), server) as face:
        talk = await Conversation.with_face(face)
        talk.head(f"/{KEY}/v1", len(BODY))
        for byte in BODY[:5]:
            talk.writer.write(bytes([byte]))
            await asyncio.sleep(0.05)
        status, headers, answer = await talk.answer()
        assert (status, headers["connection"], answer["id"]) == (408, "close", None)
        assert (answer["error"]["code"], answer["error"]["data"]["reason"]) == (400, "INVALID_REQUEST")
        await talk.closes()
        # It was asked for, so it is charged.
        assert [admit.items for admit in server.admits] == [1]


async def test_a_body_has_a_least_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "GRACE", 0.3)
    async with serving(Options(min_transfer_rate=20_000), Server()) as face:
        slow = await Conversation.with_face(face)
        slow.head(f"/{KEY}/v1", 60_000)
        began = asyncio.get_running_loop().time()
        slow.writer.write(b" " * 4000)  # a fifth of a second's worth
        assert (await slow.answer())[0] == 408
        assert asyncio.get_running_loop().time() - began >= 0.45
        slow.writer.close()
        steady = await Conversation.with_face(face)
        steady.head(f"/{KEY}/v1", 60_000)
        for _ in range(10):
            steady.writer.write(b" " * 5000)
            await asyncio.sleep(0.05)
        steady.writer.write(b" " * (10_000 - len(BODY)) + BODY)
        assert (await steady.answer())[2]["id"] == 7
        steady.writer.close()


async def test_the_demo_takes_64_kib(face: Face) -> None:
    async with serving(Options(), Server()) as large:
        for size, status in ((64 * 1024, 200), (64 * 1024 + 1, 413)):
            body = BODY + b" " * (size - len(BODY))
            assert (await large.post(body, "/demo/v1"))[0] == status
            assert (await large.post(body))[0] == 200


async def test_a_used_up_demo_is_refused_before_its_body() -> None:
    server = Server(admitted=0, limit=1, retry_after_ms=800)
    async with serving(Options(), server) as face:
        talk = await Conversation.with_face(face)
        talk.head("/demo/v1", len(BODY))
        status, headers, _ = await talk.answer()
        assert (status, headers["retry-after"]) == (429, "1")
        assert headers["ratelimit"].startswith('"default";r=0')
        assert [(look.demo, look.client_address, look.items) for look in server.looks] == [(True, "127.0.0.1", 0)]
        assert server.admits == []
        talk.writer.close()


async def opened(face: Face, path: str, *lines: str) -> Conversation:
    talk = await Conversation.with_face(face)
    talk.head(path, len(BODY), *lines)
    await asyncio.sleep(0.05)
    return talk


async def test_one_client_of_the_demo_has_few_open_bodies() -> None:
    async with serving(Options(trusted_proxies=("127.0.0.1",)), Server()) as face:

        async def demo(client: str) -> Conversation:
            return await opened(face, "/demo/v1", f"X-Forwarded-For: {client}")

        held = [await demo(f"2001:db8::{number}") for number in range(app.MOST_OPEN_PER_DEMO_CLIENT)]
        status, _, answer = await (await demo("2001:db8::ffff")).answer()
        assert (status, answer["error"]["data"]["reason"]) == (429, "RATE_LIMITED")
        # Others may, and so may what comes with its headers.
        other = await demo("2001:db8:0:1::1")
        whole = await Conversation.with_face(face)
        whole.head("/demo/v1", len(BODY), "X-Forwarded-For: 2001:db8::1")
        whole.writer.write(BODY)
        assert (await whole.answer())[0] == 200
        for talk in (other, *held):
            talk.writer.write(BODY)
            assert (await talk.answer())[0] == 200
        assert not (await demo("2001:db8::ffff")).reader.at_eof()


async def test_the_demo_has_few_open_bodies_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MOST_OPEN_ON_DEMO", 3)
    async with serving(Options(trusted_proxies=("127.0.0.1",)), Server()) as face:
        held = [await opened(face, "/demo/v1", f"X-Forwarded-For: 192.0.2.{number}") for number in range(3)]
        late = await opened(face, "/demo/v1", "X-Forwarded-For: 192.0.2.9")
        status, headers, _ = await late.answer()
        assert (status, headers["retry-after"]) == (503, "1")
        for talk in held:
            talk.writer.write(BODY)
            assert (await talk.answer())[0] == 200


async def test_one_key_has_only_so_many_open_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MOST_OPEN_PER_KEY", 2)
    holders = {KEY: "key:1", "wt_one": "key:1", "wt_other": "key:1", "wp_another": "key:2"}
    async with serving(Options(), Server(keys=set(holders), holders=holders)) as face:
        held = [await opened(face, f"/{KEY}/v1") for _ in range(2)]
        # Nor more by another name: its tickets, and its text before it was rotated.
        for name in (KEY, "wt_one", "wt_other"):
            assert (await (await opened(face, f"/{name}/v1")).answer())[0] == 429
        another = await opened(face, "/wp_another/v1")
        another.writer.write(BODY)
        assert (await another.answer())[0] == 200
        assert (await face.post(BODY))[0] == 200
        for talk in held:
            talk.writer.close()
