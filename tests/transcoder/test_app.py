"""Paths, methods, statuses, CORS, limits: a JSON error object whatever happens (decisions 1.5)."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from waypost.v1 import system_pb2

from runtime.metrics import REGISTRY
from tests.transcoder.scripted import KEY, Face, Options, Server, refuse, serving

if TYPE_CHECKING:
    from google.protobuf.message import Message

pytestmark = pytest.mark.slow

HEALTH = {"jsonrpc": "2.0", "method": "getHealth", "id": 1}
CHAIN_HEALTH = {"jsonrpc": "2.0", "method": "getChainHealth", "params": {"chain": "ethereum"}, "id": 1}


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


async def test_what_a_balancer_routes_by_changes_no_answer(face: Face) -> None:
    plain_status, plain, _ = await face.post(HEALTH)
    routed = await face.post(HEALTH, f"/{KEY}/v1?route=ethereum", {"x-waypost-route": "nowhere"})
    assert plain_status == 200
    assert routed[:2] == (plain_status, plain)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_only_post_reaches_the_api(face: Face, method: str) -> None:
    async with face.session.request(method, f"{face.base}/{KEY}/v1") as response:
        assert response.status == 405
        assert response.headers["Allow"] == "POST"
        assert "Access-Control-Allow-Origin" not in response.headers
        answer = await response.json()
    assert answer["error"]["data"]["reason"] == "INVALID_REQUEST"


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
            assert "Access-Control-Allow-Private-Network" not in response.headers
        other = {**asked, "Origin": "https://other.example", "Access-Control-Request-Private-Network": "true"}
        async with face.session.options(f"{face.base}/{KEY}/v1", headers=other) as response:
            assert not any(name.startswith("Access-Control") for name in response.headers)


async def test_cors_for_everybody() -> None:
    async with serving(Options(cors_origins=("*",)), Server()) as face:
        _, _, headers = await face.post(HEALTH, "/v1", headers={"Origin": "https://any.example"})
        assert headers["Access-Control-Allow-Origin"] == "*"
        # As a page asks that shows the document and tries its methods.
        asked = {"Origin": "https://playground.example", "Access-Control-Request-Private-Network": "true"}
        for path, methods in ((f"/{KEY}/v1", "POST"), ("/openrpc.json", "GET, HEAD"), ("/llms.txt", "GET, HEAD")):
            async with face.session.options(face.base + path, headers=asked) as response:
                assert response.status == 204
                assert response.headers["Access-Control-Allow-Origin"] == "*"
                assert response.headers["Access-Control-Allow-Methods"] == methods
                assert "Content-Type" in response.headers["Access-Control-Allow-Headers"]
                assert response.headers["Access-Control-Allow-Private-Network"] == "true"
        async with face.session.get(f"{face.base}/openrpc.json", headers=asked) as response:
            assert response.headers["Access-Control-Allow-Origin"] == "*"


async def test_pages(face: Face) -> None:
    async with face.session.get(face.base + "/") as response:
        text = await response.text()
        assert response.status == 200
    for part in ("Waypost", "/v1", "/openrpc.json", "/llms.txt", "/livez", "/readyz", face.base):
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
