"""chainRpc hands on what the node itself said, over both faces alike; nothing of the endpoint stands in it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from aiohttp import web
from google.rpc import error_details_pb2, status_pb2
from waypost.v1 import common_pb2, raw_pb2

from cli.__main__ import main
from devnet import known
from devnet.evm.calls import encode_call
from devnet.evm.world import load_world
from runtime.operations import load_operations
from tests.e2e.gateway import RunningGateway, run_gateway_on
from tests.serving import serve_app

if TYPE_CHECKING:
    from pathlib import Path

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

CHAIN_RPC = next(operation for operation in load_operations() if operation.name == "chainRpc")
USDC = load_world()["ethereum"].token("USDC").address


async def refusals(gateway: RunningGateway, chain: str, method: str, params: Any) -> tuple[dict[str, Any], Any]:
    """Return the JSON face's error, and the NodeError that the gRPC face answers the same call."""
    error = (await gateway.ask("chainRpc", {"chain": chain, "method": method, "params": params}))["error"]
    request = raw_pb2.ChainRpcRequest(chain=chain, method=method, params=common_pb2.NativeJson(json=json.dumps(params)))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await gateway.ask_grpc(CHAIN_RPC, request)
    packed = dict(caught.value.trailing_metadata() or ())["grpc-status-details-bin"]
    found = None
    info = error_details_pb2.ErrorInfo()
    for detail in status_pb2.Status.FromString(packed).details:
        if detail.Is(raw_pb2.NodeError.DESCRIPTOR):
            found = raw_pb2.NodeError.FromString(detail.value)
        detail.Unpack(info)
    assert info.reason == error["data"]["reason"]
    return error, found


def same(node: dict[str, Any], typed: raw_pb2.NodeError) -> bool:
    code = typed.code if typed.HasField("code") else None
    data = json.loads(typed.data.json) if typed.HasField("data") else None
    return (node["code"], node["message"], node.get("data")) == (code, typed.message, data)


async def error_of(gateway: RunningGateway, url: str, method: str, params: Any) -> dict[str, Any]:
    async with gateway.session.post(url, json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) as got:
        error: dict[str, Any] = (await got.json())["error"]
    return error


@pytest.mark.parametrize(
    ("method", "params", "reason"),
    [
        ("eth_getBalance", ["nobody", "latest"], "INVALID_ARGUMENT"),
        ("eth_getBalance", [], "INVALID_ARGUMENT"),
        ("eth_getBlockByNumber", ["0x1"], "INVALID_ARGUMENT"),
        ("eth_call", [{"to": USDC, "data": "0x" + encode_call("burn(uint256)", [10**30]).hex()}, "latest"], "REVERTED"),
        ("eth_call", [{"to": USDC, "gas": "0x10"}, "latest"], None),
    ],
)
async def test_the_nodes_own_words_are_handed_on(
    faces: RunningGateway, full_devnet: Devnet, method: str, params: Any, reason: str | None
) -> None:
    truth = await error_of(faces, full_devnet.endpoints["ethereum"], method, params)
    error, typed = await refusals(faces, "ethereum", method, params)
    assert error["code"] in (400, 404, 503)
    assert reason in (None, error["data"]["reason"])
    node = error["data"]["node"]
    assert (node["code"], node["message"], node.get("data")) == (truth["code"], truth["message"], truth.get("data"))
    assert same(node, typed)


@pytest.mark.parametrize(
    ("chain", "method", "params"),
    [
        ("solana", "getAccountInfo", ["nobody"]),
        ("solana", "getBlock", ["x", {"transactionDetails": "none"}]),
        ("cosmoshub", "block", ["-5"]),
        ("bitcoin", "getblockhash", [10**9]),
        ("bitcoin", "getblock", ["xyz"]),
    ],
)
async def test_every_family_hands_them_on(faces: RunningGateway, chain: str, method: str, params: Any) -> None:
    error, typed = await refusals(faces, chain, method, params)
    node = error["data"]["node"]
    assert isinstance(node["code"], int)
    assert node["message"]
    assert same(node, typed)


async def test_the_command_prints_them(faces: RunningGateway, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["call", "chainRpc", "chain=ethereum", "method=eth_call", "--target", faces.grpc_target]
    params = [{"to": USDC, "data": "0x" + encode_call("burn(uint256)", [10**30]).hex()}, "latest"]
    assert await asyncio.to_thread(main, [*words, f"params={json.dumps(params)}"]) == 1
    printed = json.loads(capsys.readouterr().err)["error"]
    error, _ = await refusals(faces, "ethereum", "eth_call", params)
    assert printed["node"] == error["data"]["node"]
    assert (printed["reason"], printed["data"]) == ("REVERTED", error["data"]["data"])


async def test_what_no_node_was_asked_has_no_words_of_one(faces: RunningGateway) -> None:
    for method, params in (("eth_sendRawTransaction", ["0x"]), ("eth_getBalance", {"address": "0x1"})):
        error, typed = await refusals(faces, "ethereum", method, params)
        assert "node" not in error["data"]
        assert typed is None


async def test_the_longest_words_fit_into_the_headers_of_grpc(faces: RunningGateway) -> None:
    """A revert's own data is answered as well; clients read 8 KiB of headers."""
    for reason in ("r" * 2000, "€" * 2000, '"' * 2000):
        data = "0x" + encode_call("Error(string)", [reason]).hex()
        # Reverts with what it is called with.
        call = [{"to": known.UNTOUCHED, "data": data}, "latest", {known.UNTOUCHED: {"code": "0x365f5f37365ffd"}}]
        request = raw_pb2.ChainRpcRequest(
            chain="ethereum", method="eth_call", params=common_pb2.NativeJson(json=json.dumps(call))
        )
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await faces.ask_grpc(CHAIN_RPC, request)
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        sizes = [len(key) + len(value) + 32 for key, value in caught.value.trailing_metadata() or ()]
        packed = dict(caught.value.trailing_metadata() or ())["grpc-status-details-bin"]
        assert sum(sizes) + len(packed) // 3 + len(caught.value.details() or "") < 8192
        error, typed = await refusals(faces, "ethereum", "eth_call", call)
        assert same(error["data"]["node"], typed)
        assert error["data"]["node"]["data"].startswith("0x08c379a0")


async def test_other_operations_do_not_hand_them_on(faces: RunningGateway) -> None:
    call = {"chain": "ethereum", "to": USDC, "data": "0x" + encode_call("burn(uint256)", [10**30]).hex()}
    error = (await faces.ask("simulateCall", call))["error"]
    assert error["data"]["reason"] == "REVERTED"
    assert "node" not in error["data"]


SECRET = "s3cr3tk3ys3cr3tk3y"
ANSWERS = {
    "eth_gasPrice": {"code": -32603, "message": f"upstream https://node.example/{SECRET} at 10.1.2.3:8545 failed"},
    "eth_blobBaseFee": {
        "code": -32000,
        "message": f"key {SECRET} is over its quota of megagas",
        "data": {"key": SECRET},
    },
    "eth_syncing": {"message": "no code at all"},
    "web3_clientVersion": {"code": -32602, "message": "m" * 5000, "data": "d" * 50_000},
    "net_version": "not even an object",
}


async def test_nothing_of_the_endpoint_stands_in_them(tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        call = await request.json()
        items = call if isinstance(call, list) else [call]
        answers = [
            {"jsonrpc": "2.0", "id": item["id"], "error": ANSWERS[item["method"]]}
            if item["method"] in ANSWERS
            else {"jsonrpc": "2.0", "id": item["id"], "result": "0x1"}
            for item in items
        ]
        return web.json_response(answers if isinstance(call, list) else answers[0])

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    async with serve_app(app) as url:
        endpoints = [{"label": "odd", "url": f"{url}/v2/{SECRET}"}]
        async with run_gateway_on({"ethereum": {"endpoints": endpoints}}, tmp_path) as running:
            nodes = {}
            for method in ANSWERS:
                error, typed = await refusals(running, "ethereum", method, [])
                nodes[method] = error["data"]["node"]
                assert same(nodes[method], typed)
                both = json.dumps(error) + str(typed)
                for secret in (SECRET, "10.1.2.3", "127.0.0.1", "8545", "node.example"):
                    assert secret not in both
    assert nodes["eth_gasPrice"]["code"] == -32603
    assert nodes["eth_gasPrice"]["message"].endswith(" failed")
    assert "is over its quota of megagas" in nodes["eth_blobBaseFee"]["message"]
    assert nodes["eth_syncing"] == {"code": None, "message": "no code at all"}
    assert len(nodes["web3_clientVersion"]["message"]) == 500
    assert len(nodes["web3_clientVersion"]["data"]) == 1000
    assert nodes["net_version"] == {"code": None, "message": "not even an object"}
