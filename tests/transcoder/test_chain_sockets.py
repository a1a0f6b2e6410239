"""Subscriptions of EVM clients over a socket: heads read once, logs taken back, and how they end."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from waypost.v1 import common_pb2, evm_pb2, raw_pb2, stream_pb2

from tests.transcoder.events import ADDED, Blocks
from tests.transcoder.frames import Wire
from tests.transcoder.scripted import KEY, refuse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.transcoder.scripted import Face

PATH = f"/{KEY}/rpc/ethereum"
REMOVED, PROGRESS = stream_pb2.EVENT_KIND_REMOVED, stream_pb2.EVENT_KIND_PROGRESS
HASHES = ["0x" + digit * 64 for digit in "abc"]


class Node:
    """Answers `eth_getBlockByHash` and whatever else; `gone` are blocks that it does not have any more."""

    def __init__(self, gone: tuple[str, ...] = ()) -> None:
        self.heads: list[str] = []
        self.gone = gone

    async def __call__(self, request: Any, _: Any) -> raw_pb2.ChainRpcResponse:
        result: Any = "0x1"
        if request.method == "eth_getBlockByHash":
            [name, _] = json.loads(request.params.json)
            self.heads.append(name)
            head = {"number": "0x1", "hash": name, "extra": 10**30}
            result = None if name in self.gone else head | {"transactions": ["0x2"], "uncles": [], "size": "0x3"}
        return raw_pb2.ChainRpcResponse(result=common_pb2.NativeJson(json=json.dumps(result)))


async def blocks(_: Any, __: Any) -> AsyncIterator[Any]:
    """Send progress, a block, its removal, and two others; then wait."""
    kinds = [(PROGRESS, 0), (ADDED, 0), (REMOVED, 0), (ADDED, 1), (ADDED, 2)]
    for kind, place in kinds:
        yield stream_pb2.WatchBlocksResponse(chain="ethereum", kind=kind, block_number=place, block_hash=HASHES[place])
    await asyncio.Event().wait()


async def logs(request: Any, _: Any) -> AsyncIterator[Any]:
    """Send a log, one of fewer topics, and the removal of the first; then wait."""
    for kind, topics in ((ADDED, 2), (ADDED, 1), (REMOVED, 2)):
        log = evm_pb2.EvmLog(
            address="0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
            topics=["0x" + "1" * 64] * topics,
            data="0x",
            block_number=17,
            transaction_hash="0x" + "2" * 64,
            transaction_index=3,
            log_index=9,
        )
        yield stream_pb2.WatchLogsResponse(chain="ethereum", kind=kind, block_number=17, block_hash=HASHES[0], log=log)
    await asyncio.Event().wait()


async def subscribed(wire: Wire, *params: Any) -> str:
    wire.say({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": list(params)})
    name: str = (await wire.message())["result"]
    return name


async def results(wire: Wire, name: str, count: int) -> list[Any]:
    found = []
    for _ in range(count):
        message = await wire.message()
        assert (message["method"], message["params"]["subscription"]) == ("eth_subscription", name)
        found.append(message["params"]["result"])
    return found


async def test_a_head_is_read_once_for_all_sockets(face: Face) -> None:
    node = face.server.scripts["chainRpc"] = Node(gone=(HASHES[1],))
    face.server.streams["watchBlocks"] = blocks
    wires = [await Wire.upgraded(face, PATH) for _ in range(3)]
    names = [await subscribed(wire, "newHeads") for wire in wires]
    for wire, name in zip(wires, names, strict=True):
        assert await results(wire, name, 2) == [
            {"number": "0x1", "hash": HASHES[place], "extra": 10**30} for place in (0, 2)
        ]
    # A block that was replaced before it could be read is asked for a few times, and left out.
    assert [node.heads.count(one) for one in HASHES] == [1, 4, 1]


async def test_logs_are_taken_back_and_counted_by_their_topics(face: Face) -> None:
    face.server.streams["watchLogs"] = logs
    wire = await Wire.upgraded(face, PATH)
    name = await subscribed(
        wire, "logs", {"address": "0xA0B86991C6218B36C1D19D4A2E9EB0CE3606EB48", "topics": [None, None]}
    )
    added, removed = await results(wire, name, 2)
    assert added == {
        "address": "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
        "topics": ["0x" + "1" * 64] * 2,
        "data": "0x",
        "blockNumber": "0x11",
        "transactionHash": "0x" + "2" * 64,
        "transactionIndex": "0x3",
        "blockHash": HASHES[0],
        "logIndex": "0x9",
        "removed": False,
    }
    assert removed == added | {"removed": True}
    asked = next(request for name, request, _ in face.server.asked if name == "watchLogs")
    assert (list(asked.addresses), list(asked.topic0)) == (["0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"], [])


@pytest.mark.parametrize(
    ("status", "reason", "code"),
    [
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "SLOW_CONSUMER", 1013),
        (grpc.StatusCode.UNAVAILABLE, "UPSTREAM_DISAGREES", 1013),
        (grpc.StatusCode.UNAUTHENTICATED, "KEY_INVALID", 1008),
    ],
)
async def test_a_subscription_that_ends_closes_its_socket(
    status: grpc.StatusCode, reason: str, code: int, face: Face
) -> None:
    async def ends(_: Any, context: Any) -> AsyncIterator[Any]:
        yield stream_pb2.WatchBlocksResponse(chain="ethereum", kind=PROGRESS)
        await asyncio.sleep(0.05)
        await refuse(context, status, reason, "why")

    face.server.scripts["chainRpc"] = Node()
    face.server.streams["watchBlocks"] = ends
    wire = await Wire.upgraded(face, PATH)
    await subscribed(wire, "newHeads")
    assert await wire.closed() == (code, f"{reason}: subscribe again")


async def test_a_subscription_ends_with_its_name_or_its_socket(face: Face) -> None:
    face.server.scripts["chainRpc"] = Node()
    streams = face.server.streams["watchBlocks"] = Blocks(0)
    wire = await Wire.upgraded(face, PATH)
    name = await subscribed(wire, "newHeads")
    assert streams.open == 1
    for expected in (True, False):
        wire.say({"jsonrpc": "2.0", "id": 2, "method": "eth_unsubscribe", "params": [name]})
        assert await wire.message() == {"jsonrpc": "2.0", "id": 2, "result": expected}
    for params in ([], [5], "0x1"):
        wire.say({"jsonrpc": "2.0", "id": 3, "method": "eth_unsubscribe", "params": params})
        assert (await wire.message())["error"]["code"] == -32602
    await subscribed(wire, "newHeads")
    wire.writer.transport.abort()
    async with asyncio.timeout(10):
        while streams.open:  # noqa: ASYNC110  # nothing tells
            await asyncio.sleep(0.01)


async def test_a_refused_stream_is_the_answer(face: Face) -> None:
    async def refused(_: Any, context: Any) -> AsyncIterator[Any]:
        message = "address[0]: a checksum is wrong"
        await refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", message, field="address[0]")
        yield None

    face.server.streams["watchLogs"] = refused
    wire = await Wire.upgraded(face, PATH)
    wire.say({"jsonrpc": "2.0", "id": "x", "method": "eth_subscribe", "params": ["logs"]})
    answer = await wire.message()
    assert (answer["id"], answer["error"]["code"], answer["error"]["data"]["field"]) == ("x", -32602, "params")


async def test_a_socket_is_opened_with_a_key_alone(face: Face) -> None:
    for path, reason in (("//rpc/ethereum", "KEY_MISSING"), ("/wp_bad/rpc/ethereum", "KEY_INVALID")):
        wire = await Wire.with_face(face)
        wire.upgrade(path)
        status, _, answer = await wire.answer()
        assert (status, answer["error"]["code"], answer["error"]["data"]["reason"]) == (401, -32001, reason)
    wire = await Wire.with_face(face)
    wire.upgrade(PATH, Origin="https://elsewhere.example")
    status, _, answer = await wire.answer()
    assert (status, answer["error"]["code"]) == (403, -32600)
