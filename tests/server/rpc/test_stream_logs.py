"""Streams of logs and transfers of a whole gateway: what they send over the socket, and what they refuse."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from waypost.v1 import stream_pb2, stream_pb2_grpc

from runtime.settings import load_settings
from server.access.usage import GATEWAY
from server.app import Gateway
from tests.server.accounts import stub_of
from tests.server.chains.evm.log_nodes import LOGGER, TRANSFER, place_loggers, write_logs
from tests.server.chains.evm.nodes import ALICE, Anvil

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.devnet

# Its newest block is looked at once a second.
SLUG = "arbitrum"
LOCAL = (("x-api-key", "local"),)
TOPIC, ONE, TWO = (f"0x{number:064x}" for number in (7, 1, 2))
Logs, Transfers = stream_pb2.WatchLogsRequest, stream_pb2.WatchTransfersRequest


@pytest.fixture
async def node() -> AsyncIterator[Anvil]:
    async with aiohttp.ClientSession() as session:
        node = await Anvil.start(session, "--chain-id", "42161")
        await place_loggers(node)
        await node.call("anvil_mine", "0x2")
        yield node
        node.stop()


@pytest.fixture
async def gateway(tmp_path: Path, node: Anvil) -> AsyncIterator[Gateway]:
    overrides = {
        "profile": "devnet",
        "chains": {
            SLUG: {"endpoints": [{"label": "local", "url": node.url, "ws_url": node.url.replace("http", "ws")}]}
        },
        "storage": {"url": f"sqlite+aiosqlite:///{tmp_path / 'keys.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
    }
    gateway = await Gateway.create(load_settings(environ={}, overrides=overrides))
    yield gateway
    await gateway.drain(0)


@pytest.fixture
async def stub(gateway: Gateway) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await gateway.start()}") as channel:
        yield stub_of(stream_pb2_grpc.StreamServiceStub, channel)


async def read(call: Any) -> Any:
    return await asyncio.wait_for(call.read(), 30)


async def test_logs_and_transfers_come_with_cursors(stub: Any, node: Anvil) -> None:
    logs = stub.WatchLogs(Logs(chain=SLUG, addresses=[LOGGER.lower()], topic1=[ONE]), metadata=LOCAL)
    transfers = stub.WatchTransfers(Transfers(chain=SLUG, addresses=[f"0x{2:040x}"]), metadata=LOCAL)
    first = [await read(logs), await read(transfers)]
    assert [event.kind for event in first] == [stream_pb2.EVENT_KIND_PROGRESS] * 2
    number = await write_logs(node, 1, TRANSFER, ONE, TWO)
    log, transfer = await read(logs), await read(transfers)
    assert (log.block_number, log.log.topics[0], log.chain) == (number, TRANSFER, SLUG)
    assert (transfer.transfer.from_address, transfer.transfer.value) == (f"0x{1:040x}", "0")
    again = stub.WatchLogs(Logs(chain=SLUG, addresses=[LOGGER], topic1=[ONE], cursor=first[0].cursor), metadata=LOCAL)
    assert (await read(again)).kind == stream_pb2.EVENT_KIND_PROGRESS
    assert (await read(again)).log == log.log
    for call in (logs, transfers, again):
        call.cancel()


async def test_what_everyone_shares_is_asked_for_the_gateway_itself(stub: Any, gateway: Gateway, node: Anvil) -> None:
    call = stub.WatchLogs(Logs(chain=SLUG, addresses=[LOGGER]), metadata=LOCAL)
    await read(call)
    await write_logs(node, 1, TOPIC, ONE, TWO)
    await read(call)
    asked = [(label, tally.upstream_requests) for (label, _, _), tally in gateway.usage.tallies.items()]
    assert [label for label, requests in asked if requests] == [GATEWAY]
    call.cancel()


ADDRESS = "0x" + "12" * 20


@pytest.mark.parametrize(
    ("asked", "status", "reason", "field"),
    [
        (Logs(), StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "chain"),
        (Logs(chain="arbtrum"), StatusCode.NOT_FOUND, "CHAIN_UNKNOWN", "chain"),
        (Logs(chain="solana"), StatusCode.INVALID_ARGUMENT, "CHAIN_UNSUPPORTED", "chain"),
        (Logs(chain=SLUG, addresses=["0x12"]), StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "address"),
        (Logs(chain=SLUG, addresses=[""]), StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "address"),
        (Logs(chain=SLUG, addresses=[ADDRESS] * 101), StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "address"),
        (Logs(chain=SLUG, topic0=["0x12"]), StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "topic0"),
        (Logs(chain=SLUG, topic3=["Transfer"]), StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "topic3"),
        (Logs(chain=SLUG, topic2=[TOPIC] * 21), StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "topic2"),
        (Logs(chain=SLUG, cursor="garbage"), StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "cursor"),
        (Logs(chain=SLUG, cursor="a" * 2049), StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "cursor"),
        (Transfers(chain=SLUG), StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "address"),
        (Transfers(chain=SLUG, addresses=["a.eth"]), StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "address"),
        (Transfers(chain=SLUG, tokens=["0x12"]), StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "token"),
        (Transfers(chain=SLUG, tokens=[ADDRESS] * 101), StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "token"),
        (Transfers(chain="bitcoin", addresses=[ALICE]), StatusCode.INVALID_ARGUMENT, "CHAIN_UNSUPPORTED", "chain"),
    ],
    ids=str,
)
async def test_bad_input_names_its_parameter(
    stub: Any, asked: Any, status: StatusCode, reason: str, field: str
) -> None:
    method = stub.WatchLogs if isinstance(asked, Logs) else stub.WatchTransfers
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await read(method(asked, metadata=LOCAL))
    details = status_pb2.Status.FromString(dict(caught.value.trailing_metadata() or ())["grpc-status-details-bin"])
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for detail in details.details:
        detail.Unpack(info)
        detail.Unpack(bad)
    assert (caught.value.code(), info.reason) == (status, reason)
    assert field in bad.field_violations[0].field
    assert field in (caught.value.details() or "")
