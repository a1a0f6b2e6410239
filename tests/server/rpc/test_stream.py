"""Streams of a whole gateway on a real node, over the socket and in process: what they send, and what they refuse."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from waypost.v1 import stream_pb2

from runtime.settings import load_settings
from server.app import Gateway
from tests.server.chains.evm.nodes import Anvil

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.devnet

WATCH_BLOCKS = "/waypost.v1.StreamService/WatchBlocks"
# Its newest block is looked at once a second.
SLUG = "arbitrum"
TRANSPORTS = ("socket", "in process")


class Watcher:
    """Opens streams of blocks over one of the transports."""

    def __init__(self, channel: Any, node: Anvil) -> None:
        self.node = node
        self._open = channel.unary_stream(
            WATCH_BLOCKS,
            request_serializer=stream_pb2.WatchBlocksRequest.SerializeToString,
            response_deserializer=stream_pb2.WatchBlocksResponse.FromString,
        )

    def watch(self, **request: str) -> Any:
        return self._open(stream_pb2.WatchBlocksRequest(**request), metadata=(("x-api-key", "local"),))

    async def refused(self, **request: str) -> tuple[StatusCode, error_details_pb2.ErrorInfo, str]:
        """Return status, reason and field of a stream that ends before its first event."""
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await _read(self.watch(**request))
        return _described(caught.value)


@pytest.fixture(params=TRANSPORTS)
async def watcher(
    request: pytest.FixtureRequest, tmp_path: Path, plain_session: aiohttp.ClientSession
) -> AsyncIterator[Watcher]:
    node = await Anvil.start(plain_session, "--chain-id", "42161")
    await node.call("anvil_mine", hex(80))
    overrides = {
        "profile": "devnet",
        "chains": {SLUG: {"endpoints": [{"label": "local", "url": node.url}]}},
        "storage": {"url": f"sqlite+aiosqlite:///{tmp_path / 'keys.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
    }
    gateway = await Gateway.create(load_settings(environ={}, overrides=overrides))
    try:
        if request.param == "socket":
            async with grpc.aio.insecure_channel(f"127.0.0.1:{await gateway.start()}") as channel:
                yield Watcher(channel, node)
        else:
            yield Watcher(gateway.channel(), node)
    finally:
        await gateway.drain(0)
        node.stop()


@pytest.fixture
async def plain_session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def _read(call: Any) -> stream_pb2.WatchBlocksResponse:
    message: stream_pb2.WatchBlocksResponse = await asyncio.wait_for(call.read(), 30)
    return message


def _described(error: grpc.aio.AioRpcError) -> tuple[StatusCode, error_details_pb2.ErrorInfo, str]:
    details = dict(error.trailing_metadata() or ())
    status = status_pb2.Status.FromString(details["grpc-status-details-bin"])
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for detail in status.details:
        detail.Unpack(info)
        detail.Unpack(bad)
    return error.code(), info, bad.field_violations[0].field if bad.field_violations else ""


async def test_blocks_come_and_a_cursor_goes_on(watcher: Watcher) -> None:
    call = watcher.watch(chain=SLUG)
    first = await _read(call)
    assert (first.kind, first.block_number) == (stream_pb2.EVENT_KIND_PROGRESS, 80)
    await watcher.node.call("anvil_mine", hex(2))
    again = watcher.watch(chain=SLUG, cursor=first.cursor)
    for each in (call, again):
        events = [await _read(each) for _ in range(2 if each is call else 3)]
        assert [event.block_number for event in events[-2:]] == [81, 82]
        assert events[-1].block.parent_hash == events[-2].block.hash
        each.cancel()


@pytest.mark.parametrize(
    ("asked", "status", "reason", "field"),
    [
        ({}, StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "chain"),
        ({"chain": "arbtrum"}, StatusCode.NOT_FOUND, "CHAIN_UNKNOWN", "chain"),
        ({"chain": "e" * 5000}, StatusCode.NOT_FOUND, "CHAIN_UNKNOWN", "chain"),
        ({"chain": SLUG, "cursor": "garbage"}, StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "cursor"),
        ({"chain": SLUG, "cursor": "a" * 2049}, StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "cursor"),
        ({"chain": "polygon"}, StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE", ""),
    ],
)
async def test_bad_input_is_refused_by_name(
    asked: dict[str, str], status: StatusCode, reason: str, field: str, watcher: Watcher
) -> None:
    code, info, named = await watcher.refused(**asked)
    assert (code, info.reason, named) == (status, reason, field)


async def test_a_cursor_of_another_chain_is_refused(watcher: Watcher) -> None:
    call = watcher.watch(chain=SLUG)
    cursor = (await _read(call)).cursor
    call.cancel()
    code, info, field = await watcher.refused(chain="polygon", cursor=cursor)
    assert (code, info.reason, field) == (StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "cursor")


async def test_an_error_that_ends_a_stream_brings_its_cursor(watcher: Watcher) -> None:
    call = watcher.watch(chain=SLUG)
    cursor = (await _read(call)).cursor
    await watcher.node.call("anvil_reorg", 70, [])
    other = watcher.watch(chain=SLUG)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await _read(call)
    code, info, _ = _described(caught.value)
    assert (code, info.reason) == (StatusCode.UNAVAILABLE, "UPSTREAM_DISAGREES")
    assert info.metadata["cursor"] == cursor
    other.cancel()
