"""Paths, methods, statuses, CORS, limits and malformed HTTP: a JSON error object whatever happens (decisions 1.5)."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import time
import zlib
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from waypost.v1 import system_pb2

from runtime.metrics import REGISTRY
from tests.contract.transcoder.scripted import KEY, Face, Options, Server, refuse, serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

HEALTH = {"jsonrpc": "2.0", "method": "getHealth", "id": 1}
CHAIN_HEALTH = {"jsonrpc": "2.0", "method": "getChainHealth", "params": {"chain": "ethereum"}, "id": 1}


async def raw(face: Face, sent: bytes) -> tuple[bytes, bytes]:
    """Return head and body of the answer to bytes written to the socket."""
    host, _, port = face.base.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(sent)
        received = await asyncio.wait_for(reader.read(), 5)
    finally:
        writer.close()
        await writer.wait_closed()
    head, _, body = received.partition(b"\r\n\r\n")
    return head, body


@pytest.mark.parametrize("path", ["/nothing", "/a/b/v1", "/v2", f"/{KEY}/v1/", f"/{KEY}", "/livez/", "/../x"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_unknown_paths(face: Face, method: str, path: str) -> None:
    async with face.session.request(method, face.base + path) as response:
        assert response.status == 404
        answer = await response.json()
    assert answer["id"] is None
    assert (answer["error"]["code"], answer["error"]["data"]["reason"]) == (404, "NOT_FOUND")
    assert answer["error"]["data"]["requestId"] == response.headers["X-Request-Id"]
    assert response.headers["Server"] == "waypost"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_only_post_reaches_the_api(face: Face, method: str) -> None:
    async with face.session.request(method, f"{face.base}/{KEY}/v1") as response:
        assert response.status == 405
        assert response.headers["Allow"] == "POST"
        assert "Access-Control-Allow-Origin" not in response.headers
        answer = await response.json()
    assert answer["error"]["data"]["reason"] == "INVALID_REQUEST"


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET /secret-key/v1 HTTP/1.1\r\nbroken header\r\n\r\n",
        b"POST /secret-key/v1 HTTP/1.1\r\nHost: x\r\nContent-Length: no\r\n\r\n",
        b"GET /" + b"k" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"BREW /secret-key/v1 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"POST /secret-key/v1 HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    ],
)
async def test_malformed_http_is_answered_in_json(face: Face, sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        head, body = await raw(face, sent)
    assert head.split()[1] in {b"400", b"404", b"405", b"417"}, head
    assert b"application/json" in head
    assert b"\r\nServer: waypost\r\n" in head
    answer = json.loads(body)
    assert answer["jsonrpc"] == "2.0"
    assert answer["error"]["code"] in {400, 404}
    assert "secret-key" not in caplog.text


async def test_a_broken_chunked_body(face: Face) -> None:
    start = f"POST /{KEY}/v1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    head, body = await raw(face, start + b"zz\r\n{}\r\n0\r\n\r\n")
    assert head.split()[1] == b"400"
    assert json.loads(body)["error"]["code"] == 400


async def test_a_broken_content_encoding(face: Face, caplog: pytest.LogCaptureFixture) -> None:
    start = f"POST /{KEY}/v1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Encoding: gzip\r\n".encode()
    head, body = await raw(face, start + b"Content-Length: 8\r\n\r\nnot gzip")
    assert head.split()[1] == b"400"
    assert json.loads(body)["error"]["data"]["reason"] == "PARSE_ERROR"
    # What clients send wrong must not look like a defect of the gateway, nor fill its log with tracebacks.
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("GZIP", lambda body: gzip.compress(body[:9]) + gzip.compress(body[9:])),
        ("deflate", zlib.compress),
        ("identity", bytes),
    ],
)
async def test_compressed_bodies_are_understood(face: Face, coding: str, pack: Callable[[bytes], bytes]) -> None:
    packed, headers = pack(json.dumps(HEALTH).encode()), {"Content-Encoding": coding}
    async with face.session.post(f"{face.base}/{KEY}/v1", data=packed, headers=headers) as response:
        assert "result" in await response.json()


async def test_encodings_that_are_not_understood_are_refused(face: Face) -> None:
    for coding in ("br", "zstd", "gzip, gzip"):
        headers = {"Content-Encoding": coding}
        async with face.session.post(f"{face.base}/{KEY}/v1", data=b"{}", headers=headers) as response:
            assert response.status == 400
            assert (await response.json())["error"]["data"]["reason"] == "PARSE_ERROR"


async def test_a_small_body_that_becomes_a_gigabyte_is_refused_unpacked_no_further_than_the_bound(face: Face) -> None:
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS + 16)
    start = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    segment = packer.compress(bytes(10 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    bomb = start + segment * 90
    head = f"POST /{KEY}/v1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Encoding: gzip\r\n"
    sent = f"{head}Content-Length: {len(bomb)}\r\n\r\n".encode() + bomb
    began = time.process_time()
    for _ in range(20):
        answer, body = await raw(face, sent)
        assert answer.split()[1] == b"413"
        assert json.loads(body)["error"]["data"]["reason"] == "BODY_TOO_LARGE"
    # The library unpacked all of each: that took half a minute.
    assert time.process_time() - began < 3


async def test_expect_continue(face: Face) -> None:
    async with face.session.post(f"{face.base}/{KEY}/v1", json=HEALTH, expect100=True) as response:
        assert response.status == 200
        assert "result" in await response.json()


@pytest.mark.parametrize(
    ("status", "reason", "code", "http"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", 400, 200),
        (grpc.StatusCode.OUT_OF_RANGE, "RANGE_TOO_LARGE", 400, 200),
        (grpc.StatusCode.FAILED_PRECONDITION, "REVERTED", 400, 200),
        (grpc.StatusCode.UNAUTHENTICATED, "KEY_INVALID", 401, 401),
        (grpc.StatusCode.PERMISSION_DENIED, "KEY_INVALID", 401, 401),
        (grpc.StatusCode.NOT_FOUND, "CHAIN_UNKNOWN", 404, 200),
        (grpc.StatusCode.UNIMPLEMENTED, "NOT_AVAILABLE", 404, 200),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED", 429, 429),
        (grpc.StatusCode.UNAVAILABLE, "UPSTREAM_DISAGREES", 503, 503),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED", 503, 503),
        (grpc.StatusCode.INTERNAL, "INTERNAL", 500, 200),
        (grpc.StatusCode.DATA_LOSS, "INTERNAL", 500, 200),
    ],
)
async def test_statuses(face: Face, status: grpc.StatusCode, reason: str, code: int, http: int) -> None:
    async def fail(_: Message, context: Any) -> Any:
        await refuse(context, status, reason, "because", field="chain", retry_after_ms=300)

    face.server.scripts["getHealth"] = fail
    answered, answer, headers = await face.post(HEALTH)
    assert answered == http
    error = answer["error"]
    assert (error["code"], error["message"]) == (code, "because")
    data = error["data"]
    assert (data["reason"], data["field"], data["retryAfterMs"]) == (reason, "chain", 300)
    assert ("Retry-After" in headers) == (http != 200)
    answered, answers, _ = await face.post([HEALTH, HEALTH])
    assert answered == 200
    assert [entry["error"]["code"] for entry in answers] == [code, code]


async def test_statuses_that_grpc_made_hide_their_text(face: Face) -> None:
    async def fail(_: Message, context: Any) -> Any:
        await context.abort(grpc.StatusCode.UNAVAILABLE, "failed to connect to 10.0.0.7:50051")

    face.server.scripts["getHealth"] = fail
    status, answer, _ = await face.post(HEALTH)
    assert status == 503
    assert "10.0.0.7" not in json.dumps(answer)
    assert answer["error"]["data"]["reason"] == "UPSTREAM_UNAVAILABLE"


@pytest.mark.parametrize(
    ("status", "details", "code", "reason"),
    [
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "Received message larger than max (9 vs. 4)", 400, "RESPONSE_TOO_LARGE"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "out of memory", 503, "UPSTREAM_UNAVAILABLE"),
        (grpc.StatusCode.CANCELLED, "", 503, "UPSTREAM_UNAVAILABLE"),
        (grpc.StatusCode.UNKNOWN, "boom", 500, "INTERNAL"),
    ],
)
async def test_statuses_without_details(
    face: Face, status: grpc.StatusCode, details: str, code: int, reason: str
) -> None:
    async def fail(_: Message, context: Any) -> Any:
        await context.abort(status, details)

    face.server.scripts["getHealth"] = fail
    error = (await face.post(HEALTH))[1]["error"]
    assert (error["code"], error["data"]["reason"]) == (code, reason)


@pytest.mark.parametrize(("state", "http"), [("OK", 200), ("DEGRADED", 503), ("DOWN", 503)])
async def test_chain_health_decides_the_http_status(face: Face, state: str, http: int) -> None:
    async def health(_: Message, __: Any) -> Message:
        return system_pb2.GetChainHealthResponse(chain="ethereum", status=f"CHAIN_STATUS_{state}")

    face.server.scripts["getChainHealth"] = health
    status, answer, _ = await face.post(CHAIN_HEALTH)
    assert status == http
    assert answer["result"]["data"]["status"] == state.lower()
    assert answer["result"]["data"]["blockHeight"] is None
    assert (await face.post([CHAIN_HEALTH]))[0] == 200


async def test_an_answer_that_json_cannot_carry_is_internal(face: Face) -> None:
    async def broken(_: Message, __: Any) -> Message:
        return system_pb2.GetChainHealthResponse(latency_ms=float("nan"))

    face.server.scripts["getChainHealth"] = broken
    status, answer, _ = await face.post(CHAIN_HEALTH)
    assert status == 200
    assert (answer["error"]["code"], answer["error"]["data"]["reason"]) == (500, "INTERNAL")
    assert "nan" not in answer["error"]["message"]


async def test_calls_have_the_operations_deadline(face: Face) -> None:
    remaining: list[float] = []

    async def health(_: Message, context: Any) -> Message:
        remaining.append(context.time_remaining())
        return system_pb2.GetHealthResponse()

    face.server.scripts["getHealth"] = health
    await face.post(HEALTH)
    assert 5 < remaining[0] <= 15.6


async def test_a_client_that_goes_away_cancels_its_calls(face: Face) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()
    waiting = 0

    async def slow(_: Message, __: Any) -> Message:
        nonlocal waiting
        waiting += 1
        if waiting == 3:
            begun.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            waiting -= 1
            if not waiting:
                cancelled.set()
            raise
        raise AssertionError

    face.server.scripts["getHealth"] = slow
    task = asyncio.ensure_future(face.post([HEALTH, HEALTH, HEALTH]))
    await asyncio.wait_for(begun.wait(), 5)
    task.cancel()
    await asyncio.wait_for(cancelled.wait(), 5)


async def test_requests_beyond_the_limit_get_503_at_once() -> None:
    server = Server()
    release, full = asyncio.Event(), asyncio.Event()

    async def slow(_: Message, __: Any) -> Message:
        if len(server.asked) == 2:
            full.set()
        await release.wait()
        return system_pb2.GetHealthResponse()

    async with serving(Options(max_in_flight=2), server) as face:
        server.scripts["getHealth"] = slow
        held = [asyncio.ensure_future(face.post(HEALTH)) for _ in range(2)]
        await asyncio.wait_for(full.wait(), 5)
        status, answer, headers = await face.post(HEALTH)
        assert status == 503
        assert headers["Retry-After"] == "1"
        assert answer["error"]["code"] == 503
        release.set()
        assert [status for status, _, _ in await asyncio.gather(*held)] == [200, 200]
        assert (await face.post(HEALTH))[0] == 200


async def test_cors_answers_configured_origins_only() -> None:
    async with serving(Options(cors_origins=("https://app.example",)), Server()) as face:
        _, _, headers = await face.post(HEALTH, headers={"Origin": "https://app.example"})
        assert headers["Access-Control-Allow-Origin"] == "https://app.example"
        assert "X-Request-Id" in headers["Access-Control-Expose-Headers"]
        _, _, headers = await face.post(HEALTH, headers={"Origin": "https://other.example"})
        assert "Access-Control-Allow-Origin" not in headers
        assert headers["Vary"] == "Origin"
        asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
        async with face.session.options(f"{face.base}/{KEY}/v1", headers=asked) as response:
            assert response.status == 204
            assert response.headers["Access-Control-Allow-Methods"] == "POST"


async def test_cors_for_everybody() -> None:
    async with serving(Options(cors_origins=("*",)), Server()) as face:
        _, _, headers = await face.post(HEALTH, "/v1", headers={"Origin": "https://any.example"})
        assert headers["Access-Control-Allow-Origin"] == "*"


async def test_pages(face: Face) -> None:
    async with face.session.get(face.base + "/") as response:
        text = await response.text()
        assert response.status == 200
    for part in ("Waypost", "/v1", "/openrpc.json", "/livez", "/readyz", face.base):
        assert part in text
    async with face.session.get(face.base + "/livez") as response:
        assert (response.status, await response.json()) == (200, {"live": True})
    async with face.session.head(face.base + "/livez") as response:
        assert response.status == 200
    async with face.session.post(face.base + "/livez") as response:
        assert response.status == 405
        assert (await response.json())["error"]["code"] == 400
    assert face.server.asked == []


async def test_a_hostile_host_header_is_not_repeated(face: Face) -> None:
    async with face.session.get(face.base + "/", headers={"Host": "x'; rm -rf"}) as response:
        assert "rm -rf" not in await response.text()


async def test_readiness(face: Face) -> None:
    face.server.chains = {"ethereum": "ok", "base": "down", "bsc": "ok", "osmosis": "unknown"}
    async with face.session.get(face.base + "/readyz") as response:
        assert response.status == 200
        chains = {"ok": ["bsc", "ethereum"], "degraded": [], "down": ["base"], "unknown": ["osmosis"]}
        assert await response.json() == {"ready": True, "chains": chains}
    face.server.ready = False
    async with face.session.get(face.base + "/readyz") as response:
        assert response.status == 503
        assert (await response.json())["ready"] is False


async def test_a_gateway_that_stops_answers_503() -> None:
    begun = asyncio.Event()

    async def slow(_: Message, __: Any) -> Message:
        begun.set()
        await asyncio.sleep(30)
        raise AssertionError

    server = Server(scripts={"getHealth": slow})
    async with serving(Options(), server) as face:
        waiting = asyncio.ensure_future(face.post(HEALTH))
        await asyncio.wait_for(begun.wait(), 5)
        await face.channel.close()
        status, answer, _ = await waiting
        assert (status, answer["error"]["code"], answer["id"]) == (503, 503, 1)
        status, answer, _ = await face.post(HEALTH)
        assert (status, answer["error"]["code"]) == (503, 503)
        async with face.session.get(face.base + "/readyz") as response:
            assert response.status == 503


async def test_requests_are_counted_by_status_and_batches_by_size(face: Face) -> None:
    def counted() -> tuple[float, float, float]:
        names = (
            ("waypost_http_requests_total", {"status": "200"}),
            ("waypost_http_requests_total", {"status": "401"}),
            ("waypost_batch_items_sum", {}),
        )
        return tuple(REGISTRY.get_sample_value(name, labels) or 0 for name, labels in names)  # type: ignore[return-value]

    before = counted()
    await face.post(HEALTH)
    await face.post([HEALTH] * 3)
    await face.post(HEALTH, "/wp_nobody/v1")
    assert [now - then for now, then in zip(counted(), before, strict=True)] == [2, 1, 3]
