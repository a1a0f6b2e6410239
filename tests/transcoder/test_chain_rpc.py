"""A chain's own JSON-RPC: how requests are read, and how answers and the gateway's own errors are written."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from waypost.v1 import common_pb2, raw_pb2

from tests.transcoder.scripted import KEY, Options, Server, refuse, serving
from transcoder.chain_rpc import MOST_ITEMS

if TYPE_CHECKING:
    from tests.transcoder.scripted import Face

PATH = f"/{KEY}/rpc/ethereum"


async def echo(request: Any, _: Any) -> raw_pb2.ChainRpcResponse:
    """Answer the method and the parameters as they came, a failure to `fail`."""
    if request.method == "fail":
        failure = raw_pb2.NodeFailure(code=3, message="execution reverted")
        failure.data.json = '"0x08c379a0"'
        return raw_pb2.ChainRpcResponse(failure=failure)
    if request.method == "odd":
        return raw_pb2.ChainRpcResponse(failure=raw_pb2.NodeFailure(message="no code"))
    text = f'["{request.chain}","{request.method}",{request.params.json or "null"}]'
    return raw_pb2.ChainRpcResponse(result=common_pb2.NativeJson(json=text))


@pytest.fixture
def chain(face: Face) -> Face:
    face.server.scripts["chainRpc"] = echo
    return face


def item(method: Any = "eth_x", identity: Any = 1, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, **more}


async def text(face: Face, body: str, path: str = PATH) -> tuple[int, str]:
    async with face.session.post(face.base + path, data=body.encode()) as response:
        return response.status, (await response.read()).decode()


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ('{"jsonrpc":"2.0","id":1,"method":"m"}', '{"jsonrpc":"2.0","id":1,"result":["ethereum","m",null]}'),
        (
            '{"jsonrpc":"2.0","id":"a","method":"m","params":[1e400, {"a":1}]}',
            '{"jsonrpc":"2.0","id":"a","result":["ethereum","m",[1e400, {"a":1}]]}',
        ),
        (
            '{"jsonrpc":"2.0","id":2,"method":"m","params":{"block_id":"latest"}}',
            '{"jsonrpc":"2.0","id":2,"result":["ethereum","m",{"block_id":"latest"}]}',
        ),
        (
            '{"jsonrpc":"2.0","id":3,"method":"m","params":null}',
            '{"jsonrpc":"2.0","id":3,"result":["ethereum","m",null]}',
        ),
        (
            '{"jsonrpc":"2.0","id":4,"method":"fail"}',
            '{"jsonrpc":"2.0","id":4,"error":{"code":3,"message":"execution reverted","data":"0x08c379a0"}}',
        ),
        (
            '{"jsonrpc":"2.0","id":5,"method":"odd"}',
            '{"jsonrpc":"2.0","id":5,"error":{"code":-32000,"message":"no code"}}',
        ),
        # As clients of Bitcoin write it: JSON-RPC 1, in whose answers both members stand.
        ('{"jsonrpc":"1.0","id":"c","method":"m"}', '{"result":["ethereum","m",null],"error":null,"id":"c"}'),
        ('{"version":"1.1","id":7,"method":"m"}', '{"result":["ethereum","m",null],"error":null,"id":7}'),
        ('{"method":"m"}', '{"result":["ethereum","m",null],"error":null,"id":null}'),
        (
            '{"id":8,"method":"fail"}',
            '{"result":null,"error":{"code":3,"message":"execution reverted","data":"0x08c379a0"},"id":8}',
        ),
        ('[{"jsonrpc":"2.0","method":"m"},{"jsonrpc":"2.0","id":9,"method":"odd"}]', None),
    ],
)
async def test_answers_are_written_as_nodes_write_them(body: str, answer: str | None, chain: Face) -> None:
    if answer is None:
        answer = '[{"jsonrpc":"2.0","id":9,"error":{"code":-32000,"message":"no code"}}]'
    assert await text(chain, body) == (200, answer)


async def test_every_call_asks_for_the_nodes_errors(chain: Face) -> None:
    await chain.post([item(identity=number) for number in range(MOST_ITEMS)], PATH)
    asked = [request for name, request, _ in chain.server.asked if name == "chainRpc"]
    assert len(asked) == MOST_ITEMS
    assert all(request.node_errors and request.chain == "ethereum" for request in asked)
    assert chain.server.admits[-1].items == MOST_ITEMS


async def test_a_method_that_is_not_passed_on_is_named_as_nodes_name_it(chain: Face) -> None:
    async def fail(_: Any, context: Any) -> Any:
        message = "method: it is not passed on; only reads are"
        await refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", message, field="method")

    chain.server.scripts["chainRpc"] = fail
    _, answer, _ = await chain.post(item("eth_newFilter"), PATH)
    # As ethers looks for it.
    assert re.search("the method eth_newFilter does not exist", answer["error"]["message"])


async def test_a_notification_is_executed_and_not_answered(chain: Face) -> None:
    for method in ("m", "fail"):
        assert await text(chain, f'{{"jsonrpc":"2.0","method":"{method}"}}') == (204, "")
    assert [name for name, _, _ in chain.server.asked] == ["chainRpc"] * 2


@pytest.mark.parametrize(
    ("body", "code", "reason"),
    [
        (b"", -32700, "PARSE_ERROR"),
        (b"{", -32700, "PARSE_ERROR"),
        (b"\xff", -32700, "PARSE_ERROR"),
        (b"[" * 300, -32700, "PARSE_ERROR"),
        (b"[]", -32600, "INVALID_REQUEST"),
        (b"3", -32600, "INVALID_REQUEST"),
        (b'{"jsonrpc":"3.0","id":1,"method":"m"}', -32600, "INVALID_REQUEST"),
        (b'{"jsonrpc":2.0,"id":1,"method":"m"}', -32600, "INVALID_REQUEST"),
        (b'{"jsonrpc":"2.0","id":1}', -32600, "INVALID_REQUEST"),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600, "INVALID_REQUEST"),
        (b'{"jsonrpc":"2.0","id":{},"method":"m"}', -32600, "INVALID_REQUEST"),
        (json.dumps([item()] * (MOST_ITEMS + 1)).encode(), -32600, "BATCH_TOO_LARGE"),
    ],
)
async def test_what_is_no_request_is_refused(body: bytes, code: int, reason: str, chain: Face) -> None:
    status, answer, _ = await chain.post(body, PATH)
    assert (status, answer["error"]["code"], answer["error"]["data"]["reason"]) == (200, code, reason)
    assert answer["error"]["data"]["requestId"]
    assert chain.server.asked[-1][0] != "chainRpc"


async def test_a_body_that_is_too_long_is_refused() -> None:
    async with serving(Options(max_body_bytes=1000), Server()) as face:
        status, answer, _ = await face.post(b" " * 1001, PATH)
        assert (status, answer["error"]["code"]) == (413, -32600)


@pytest.mark.parametrize(
    ("status", "reason", "field", "expected"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "method", (200, -32601)),
        (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "params", (200, -32602)),
        (grpc.StatusCode.OUT_OF_RANGE, "RANGE_TOO_LARGE", "params", (200, -32602)),
        (grpc.StatusCode.NOT_FOUND, "CHAIN_UNKNOWN", "chain", (404, -32602)),
        (grpc.StatusCode.OUT_OF_RANGE, "RESPONSE_TOO_LARGE", None, (200, -32000)),
        (grpc.StatusCode.FAILED_PRECONDITION, "NOT_SUPPORTED", None, (200, -32000)),
        (grpc.StatusCode.UNAUTHENTICATED, "KEY_INVALID", None, (401, -32001)),
        (grpc.StatusCode.PERMISSION_DENIED, "KEY_NOT_ALLOWED", "chain", (401, -32001)),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED", None, (429, -32005)),
        (grpc.StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE", None, (503, -32603)),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED", None, (503, -32603)),
        (grpc.StatusCode.INTERNAL, "INTERNAL", None, (200, -32603)),
    ],
)
async def test_errors_of_the_gateway_have_the_numbers_of_nodes(
    status: grpc.StatusCode, reason: str, field: str | None, expected: tuple[int, int], chain: Face
) -> None:
    async def fail(_: Any, context: Any) -> Any:
        await refuse(context, status, reason, "why", field=field, retry_after_ms=1500)

    chain.server.scripts["chainRpc"] = fail
    answered, answer, headers = await chain.post(item(identity="x"), PATH)
    error = answer["error"]
    assert (answered, error["code"], answer["id"]) == (*expected, "x")
    assert (error["data"]["reason"], error["data"].get("field")) == (reason, field)
    assert headers.get("Retry-After") == ("2" if answered in (401, 429, 503) else None)
    _, old, _ = await chain.post({"id": "x", "method": "m"}, PATH)
    assert (old["error"]["code"], old["id"]) == (expected[1], "x")


@pytest.mark.parametrize(
    ("path", "code", "reason"),
    [("//rpc/ethereum", -32001, "KEY_MISSING"), ("/a.b/rpc/ethereum", -32001, "KEY_INVALID")],
)
async def test_a_key_that_is_none_is_a_401(path: str, code: int, reason: str, chain: Face) -> None:
    status, answer, _ = await chain.post(item(identity=5), path)
    assert (status, answer["error"]["code"], answer["error"]["data"]["reason"]) == (401, code, reason)
    assert answer["id"] == 5


async def test_items_over_the_quota_are_429_each_in_its_place(chain: Face) -> None:
    chain.server.admitted, chain.server.limit, chain.server.retry_after_ms = 1, 9, 700
    batch = [item(), item(identity="two"), {"id": 3.5, "method": "m"}]
    status, answers, headers = await chain.post(batch, PATH)
    assert (status, headers["Retry-After"]) == (200, "1")
    assert [answer["id"] for answer in answers] == [1, "two", 3.5]
    assert [answer.get("error", {}).get("code") for answer in answers] == [None, -32005, -32005]
    chain.server.admitted = 0
    status, answer, headers = await chain.post(item(), PATH)
    assert (status, answer["error"]["code"], answer["id"], headers["Retry-After"]) == (429, -32005, 1, "1")


async def test_the_demo_is_served(chain: Face) -> None:
    status, answer, _ = await chain.post(item(), "/demo/rpc/ethereum")
    assert (status, answer["result"][0]) == (200, "ethereum")
    assert chain.server.admits[-1].demo


async def test_other_methods_name_post_and_the_socket(chain: Face) -> None:
    for method in ("GET", "PUT", "DELETE", "HEAD"):
        async with chain.session.request(method, chain.base + PATH) as response:
            assert (response.status, response.headers["Allow"]) == (405, "POST")
            answer = await response.read()
            if method != "HEAD":
                error = json.loads(answer)["error"]
                assert error["code"] == -32600
                assert "POST" in error["message"]
                assert "WebSocket" in error["message"]


async def test_browsers_of_allowed_origins_may_call() -> None:
    server = Server()
    server.scripts["chainRpc"] = echo
    async with serving(Options(cors_origins=("https://app.example",)), server) as face:
        async with face.session.options(face.base + PATH, headers={"Origin": "https://app.example"}) as response:
            assert (response.status, response.headers["Access-Control-Allow-Methods"]) == (204, "POST")
        _, _, headers = await face.post(item(), PATH, {"Origin": "https://app.example"})
        assert headers["Access-Control-Allow-Origin"] == "https://app.example"
