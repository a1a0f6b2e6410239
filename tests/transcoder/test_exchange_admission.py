"""Keys, the demo, quotas and their headers: before anything else, once per HTTP request (decisions 1.1 to 1.5).

A single request is admitted by its own call where it leads to one, else and for batches and the demo by `Admit`.
"""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from tests.transcoder.scripted import KEY, Face, Options, Server, refuse, serving

pytestmark = pytest.mark.slow

HEALTH = {"jsonrpc": "2.0", "method": "getHealth", "id": 1}
BAD_KEY = "/wp_nobody/v1"


async def test_one_admit_per_request_tells_key_client_and_items(face: Face) -> None:
    await face.post([HEALTH, HEALTH, {"jsonrpc": "2.0"}])
    (admit,) = face.server.admits
    assert (admit.api_key, admit.demo, admit.client_address, admit.items) == (KEY, False, "127.0.0.1", 3)
    await face.post(HEALTH, "/demo/v1")
    demo = face.server.admits[1]
    assert (demo.api_key, demo.demo, demo.items) == ("", True, 1)


async def test_a_single_request_is_admitted_by_its_own_call(face: Face) -> None:
    _, _, headers = await face.post(HEALTH, headers={"X-Request-Id": "mine.1"})
    assert headers["X-Request-Id"] == "mine.1"
    ((name, _, metadata),) = face.server.asked
    assert name == "getHealth"
    assert metadata["x-api-key"] == KEY
    assert metadata["x-waypost-client"] == "127.0.0.1"
    assert metadata["x-request-id"] == "mine.1"
    assert "x-waypost-principal" not in metadata
    assert "x-waypost-credential" not in metadata


async def test_a_request_that_leads_to_no_call_is_charged_all_the_same(face: Face) -> None:
    for body in ({**HEALTH, "method": "nothing"}, {**HEALTH, "params": 7}, b"not json", {**HEALTH, "jsonrpc": "1"}):
        await face.post(body)
    await face.post({**HEALTH, "method": "rpc.discover"})
    assert [(admit.api_key, admit.items) for admit in face.server.admits] == [(KEY, 1)] * 5
    assert {name for name, _, _ in face.server.asked} == {"Admit"}


@pytest.mark.parametrize("path", [f"/{KEY}/v1", "/demo/v1"])
async def test_calls_of_a_batch_and_of_the_demo_carry_principal_and_client(face: Face, path: str) -> None:
    await face.post([HEALTH] if path != "/demo/v1" else HEALTH, path)
    _, _, metadata = face.server.asked[-1]
    assert metadata["x-waypost-principal"] == "key:1"
    assert metadata["x-waypost-client"] == "127.0.0.1"
    assert "x-api-key" not in metadata


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "ü"])
async def test_malformed_request_ids_are_replaced(face: Face, given: str) -> None:
    _, _, headers = await face.post(HEALTH, headers={"X-Request-Id": given})
    assert headers["X-Request-Id"] != given
    assert len(headers["X-Request-Id"]) == 20


async def test_the_credential_goes_with_every_call() -> None:
    server = Server()
    async with serving(Options(), server, credential="s" * 20) as face:
        await face.post(HEALTH)
        await face.post([HEALTH])
    assert [metadata["x-waypost-credential"] for _, _, metadata in server.asked] == ["s" * 20] * 3


@pytest.mark.parametrize(
    "body",
    [
        HEALTH,
        {**HEALTH, "method": "nothing"},
        {**HEALTH, "params": 7},
        b"not json",
        b"[]",
        b"\xff",
        b"[" * 100,
        [HEALTH] * 51,
        b"x" * 70_000,
    ],
)
async def test_a_bad_key_outranks_every_other_mistake(face: Face, body: Any) -> None:
    status, answer, _ = await face.post(body, BAD_KEY)
    assert status == 401
    assert answer["error"]["code"] == 401
    assert answer["error"]["data"]["reason"] == "KEY_INVALID"
    assert answer["id"] == (1 if isinstance(body, dict) else None)


@pytest.mark.parametrize("body", [b"not json", b"[]", b"\xff", b"[" * 100, [HEALTH] * 51, b"x" * 70_000, HEALTH])
async def test_the_quota_outranks_every_other_mistake(face: Face, body: Any) -> None:
    face.server.admitted = 0
    face.server.limit = 5
    face.server.retry_after_ms = 1500
    status, answer, headers = await face.post(body)
    assert status == 429
    assert answer["error"]["data"]["reason"] == "RATE_LIMITED"
    assert answer["error"]["data"]["retryAfterMs"] == 1500
    assert headers["Retry-After"] == "2"
    assert headers["RateLimit"] == '"default";r=0;t=2'
    assert headers["RateLimit-Policy"] == '"default";q=5;w=1'


@pytest.mark.parametrize("key", ["a.b", "a%20b", "x" * 129, "ключ", "a$b", "a:b"])
async def test_malformed_keys_never_become_metadata(face: Face, key: str) -> None:
    status, answer, _ = await face.post(HEALTH, f"/{key}/v1")
    assert (status, answer["error"]["data"]["reason"]) == (401, "KEY_INVALID")
    assert face.server.admits == []


@pytest.mark.parametrize("path", ["/v1", "//v1"])
async def test_without_a_key(face: Face, path: str) -> None:
    status, answer, _ = await face.post(HEALTH, path)
    assert (status, answer["error"]["data"]["reason"]) == (401, "KEY_MISSING")
    assert face.server.admits == []


async def test_headers_carry_no_key(face: Face) -> None:
    status, _, _ = await face.post(HEALTH, "/v1", headers={"X-Api-Key": KEY, "Authorization": f"Bearer {KEY}"})
    assert status == 401


async def test_a_batch_with_a_bad_key_is_one_error(face: Face) -> None:
    status, answer, _ = await face.post([HEALTH, HEALTH], BAD_KEY)
    assert status == 401
    assert answer["id"] is None


async def test_a_prefix_of_a_batch_is_admitted(face: Face) -> None:
    face.server.admitted = 2
    face.server.retry_after_ms = 400
    notification = {"jsonrpc": "2.0", "method": "getHealth"}
    batch = [HEALTH, {**HEALTH, "id": 2}, {**HEALTH, "id": "three"}, notification, 5]
    status, answers, headers = await face.post(batch)
    assert status == 200
    assert [answer["id"] for answer in answers] == [1, 2, "three", None, None]
    assert ["result" in answer for answer in answers] == [True, True, False, False, False]
    assert {answer["error"]["data"]["reason"] for answer in answers[2:]} == {"RATE_LIMITED"}
    assert headers["Retry-After"] == "1"
    assert [name for name, _, _ in face.server.asked] == ["Admit", "getHealth", "getHealth"]


async def test_unlimited_keys_get_no_quota_headers(face: Face) -> None:
    _, _, headers = await face.post(HEALTH)
    assert "RateLimit" not in headers
    assert "RateLimit-Policy" not in headers


async def test_a_throttled_notification_is_answered(face: Face) -> None:
    face.server.admitted = 0
    status, answer, _ = await face.post({"jsonrpc": "2.0", "method": "getHealth"})
    assert status == 429
    assert answer["id"] is None


async def test_the_demo_knows_clients_behind_trusted_proxies() -> None:
    server = Server()
    async with serving(Options(trusted_proxies=("127.0.0.0/8", "10.0.0.0/8")), server) as face:
        for forwarded in ("203.0.113.9", "198.51.100.1, 203.0.113.9, 10.1.2.3", "evil, 10.0.0.1"):
            await face.post(HEALTH, "/demo/v1", headers={"X-Forwarded-For": forwarded})
    assert [admit.client_address for admit in server.admits] == ["203.0.113.9", "203.0.113.9", "10.0.0.1"]


async def test_an_untrusted_peer_cannot_choose_its_address(face: Face) -> None:
    await face.post(HEALTH, "/demo/v1", headers={"X-Forwarded-For": "203.0.113.9"})
    assert face.server.admits[0].client_address == "127.0.0.1"


async def test_a_server_that_cannot_be_asked() -> None:
    class Draining(Server):
        async def admit(self, _: Any, context: Any) -> Any:
            await refuse(context, grpc.StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE", "draining", retry_after_ms=900)

        async def _admit_call(self, _: Any, context: Any) -> None:
            await self.admit(None, context)

    async with serving(Options(), Draining()) as face:
        status, answer, headers = await face.post(HEALTH)
        assert status == 503
        assert answer["error"]["code"] == 503
        assert answer["id"] == 1
        assert headers["Retry-After"] == "1"
        status, answer, _ = await face.post([HEALTH])
        assert (status, answer["id"]) == (503, None)
