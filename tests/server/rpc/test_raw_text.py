"""chainRpc answers the node's text and takes the caller's as they are, over both faces; what is no text is refused."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import grpc
import pytest
from aiohttp import web
from google.protobuf.json_format import MessageToJson
from waypost.v1 import common_pb2, raw_pb2

from runtime.operations import load_operations
from tests.e2e.gateway import RunningGateway, run_gateway_on
from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.devnet

CHAIN_RPC = next(operation for operation in load_operations() if operation.name == "chainRpc")
# NUL and a byte order mark in escapes; a byte order mark and others as they are.
ODD = '{"nul":"\\u0000","mark":"\\ufeff","é":["\ufeff€😀", 1.0 ,1e400,18446744073709551617], "é":1}'


@asynccontextmanager
async def answered_with(folder: Path, *results: bytes) -> AsyncIterator[tuple[RunningGateway, list[bytes]]]:
    """A gateway over endpoints that answer `eth_getBalance` with these bytes; and the bodies that they were sent."""
    sent: list[bytes] = []
    app = web.Application()
    for number, result in enumerate(results):

        async def answer(request: web.Request, result: bytes = result) -> web.Response:
            body = await request.read()
            calls = json.loads(body)
            items = [
                b'{"jsonrpc":"2.0","id":%d,"result":%b}'
                % (one["id"], result if one["method"] == "eth_getBalance" else b'"0x1"')
                for one in (calls if isinstance(calls, list) else [calls])
            ]
            if b"eth_getBalance" in body:
                sent.append(body)
            return web.Response(body=b"[%b]" % b",".join(items) if isinstance(calls, list) else items[0])

        app.router.add_post(f"/{number}", answer)
    async with serve_app(app) as url:
        endpoints = [{"label": f"n{number}", "url": f"{url}/{number}"} for number in range(len(results))]
        async with run_gateway_on({"ethereum": {"endpoints": endpoints}}, folder) as running:
            yield running, sent


def asked(params: str | None = None) -> raw_pb2.ChainRpcRequest:
    native = None if params is None else common_pb2.NativeJson(json=params)
    return raw_pb2.ChainRpcRequest(chain="ethereum", method="eth_getBalance", params=native)


async def posted(gateway: RunningGateway, params: str) -> bytes:
    call = f'{{"chain":"ethereum","method":"eth_getBalance","params":{params}}}'
    body = f'{{"jsonrpc":"2.0","id":1,"method":"chainRpc","params":{call}}}'
    return await (await gateway.post(body.encode())).read()


async def test_the_nodes_text_is_printed_as_it_is_and_readable_over_grpc(tmp_path: Path) -> None:
    async with answered_with(tmp_path, ODD.encode()) as (gateway, _):
        answer = await gateway.ask_grpc(CHAIN_RPC, asked())
        assert answer.result.json == ODD  # type: ignore[attr-defined]
        assert json.loads(MessageToJson(answer))["result"] == {"json": ODD}
        assert f'"result":{ODD}}}'.encode() in await posted(gateway, "[]")


@pytest.mark.parametrize("result", [b'"\xff"', b'"\xed\xa0\x80"', b'"\\ud800"', b"\xef\xbb\xbf1"])
async def test_what_is_not_unicode_or_no_json_is_no_answer(tmp_path: Path, result: bytes) -> None:
    async with answered_with(tmp_path, result, b'"7"') as (gateway, sent):
        assert (await gateway.ask_grpc(CHAIN_RPC, asked())).result.json == '"7"'  # type: ignore[attr-defined]
        assert b'"result":"7"' in await posted(gateway, "[]")
    async with answered_with(tmp_path, result) as (gateway, sent):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await gateway.ask_grpc(CHAIN_RPC, asked())
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        error = json.loads(await posted(gateway, "[]"))["error"]
        assert (error["code"], error["data"]["reason"]) == (503, "UPSTREAM_UNAVAILABLE")
        assert sent


async def test_the_callers_text_reaches_the_node_as_it_is_over_both_faces(tmp_path: Path) -> None:
    params = '[ "\\u0000\\ufeff\ufeff€😀" ]'
    async with answered_with(tmp_path, b'"7"') as (gateway, sent):
        for face in ("grpc", "json"):
            sent.clear()
            if face == "grpc":
                await gateway.ask_grpc(CHAIN_RPC, asked(params))
            else:
                await posted(gateway, params)
            assert [params[2:-2].encode() in body for body in sent] == [True], face


async def test_a_request_that_is_not_utf8_is_no_message(tmp_path: Path) -> None:
    raw = asked("[7]").SerializeToString().replace(b"[7]", b"[\xff]")
    async with answered_with(tmp_path, b'"7"') as (gateway, sent):
        call = gateway.channel.unary_unary(CHAIN_RPC.path)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(raw, metadata=(("x-api-key", "local"),))
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert not sent
