"""Streams of values of a whole gateway on a real node, over the socket and in process: what they send and refuse."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest
from google.protobuf.json_format import ParseDict
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from waypost.v1 import common_pb2, stream_state_pb2

from runtime.operations import load_watches
from runtime.settings import load_settings
from server.app import Gateway
from tests.each import each
from tests.server.chains.evm.nodes import ALICE, NOBODY, OWNER, Anvil

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.devnet

WATCHES = {operation.name: operation for operation in load_watches()}
# Its newest block is looked at once a second.
SLUG = "arbitrum"
TRANSPORTS = ("socket", "in process")
HASH = "0x" + "ab" * 32


class Watcher:
    """Opens streams over one of the transports."""

    def __init__(self, channel: Any, node: Anvil) -> None:
        self.node = node
        self._channel = channel

    def watch(self, name: str, **fields: Any) -> Any:
        operation = WATCHES[name]
        call = self._channel.unary_stream(
            operation.path,
            request_serializer=operation.request.SerializeToString,
            response_deserializer=operation.response.FromString,
        )
        return call(ParseDict(fields, operation.request()), metadata=(("x-api-key", "local"),))

    async def refused(self, name: str, **fields: Any) -> tuple[StatusCode, str, str]:
        """Return status, reason and field of a stream that ends before its first event."""
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await asyncio.wait_for(anext(aiter(self.watch(name, **fields))), 20)
        status = status_pb2.Status.FromString(dict(caught.value.trailing_metadata() or ())["grpc-status-details-bin"])
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        for detail in status.details:
            detail.Unpack(info)
            detail.Unpack(bad)
        field = bad.field_violations[0].field if bad.field_violations else ""
        return caught.value.code(), info.reason, field


@pytest.fixture(params=TRANSPORTS)
async def watcher(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Watcher]:
    async with aiohttp.ClientSession() as session:
        node = await Anvil.start(session, "--chain-id", "42161")
        overrides = {
            "profile": "devnet",
            "chains": {SLUG: {"endpoints": [{"label": "local", "url": node.url}], "mines_at_will": True}},
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


async def read(call: Any, count: int) -> list[Any]:
    events = aiter(call)
    return [await asyncio.wait_for(anext(events), 30) for _ in range(count)]


async def test_balances_change_with_blocks(watcher: Watcher) -> None:
    items = [{"chain": SLUG, "address": NOBODY}, {"chain": SLUG, "address": ALICE}, {"chain": "base", "address": ALICE}]
    call = watcher.watch("watchBalances", items=items)
    first = {event.item: event for event in await read(call, 3)}
    assert (first[0].value.raw, first[0].value.amount) == ("0", "0")
    assert first[2].error.reason == common_pb2.REASON_UPSTREAM_UNAVAILABLE
    await watcher.node.send(NOBODY, value=5)
    [changed] = await read(call, 1)
    assert (changed.item, changed.value.raw) == (0, "5")
    call.cancel()


async def test_a_receipt_ends_its_stream(watcher: Watcher) -> None:
    sent = await watcher.node.send(NOBODY, value=5)
    call = watcher.watch("watchReceipt", chain=SLUG, hash=sent["transactionHash"])
    events = [event async for event in call]
    assert [event.value.state for event in events] == [stream_state_pb2.RECEIPT_STATE_CONFIRMED]
    assert events[0].value.receipt.evm.transaction_hash == sent["transactionHash"]
    assert await call.code() == StatusCode.OK
    # A unit of the call, and one of the look.
    assert dict(await call.trailing_metadata())["x-waypost-cost"] == "2"
    pending = await watcher.node.call("eth_sendTransaction", {"from": OWNER, "to": ALICE, "value": "0x1"})
    events = [event async for event in watcher.watch("watchReceipt", chain=SLUG, hash=pending)]
    assert events[-1].value.state == stream_state_pb2.RECEIPT_STATE_CONFIRMED


async def test_prices_that_no_source_has_are_errors(watcher: Watcher) -> None:
    call = watcher.watch("watchPrices", items=[{"symbol": "ETH"}, {"symbol": "BTC"}])
    events = await read(call, 2)
    assert [(event.symbol, event.error.reason) for event in events] == [
        ("ETH", common_pb2.REASON_PRICE_UNAVAILABLE),
        ("BTC", common_pb2.REASON_PRICE_UNAVAILABLE),
    ]
    call.cancel()


def item(**fields: str) -> dict[str, Any]:
    return {"items": [{"chain": SLUG, "address": ALICE}, fields]}


BAD = StatusCode.INVALID_ARGUMENT
REFUSALS: list[tuple[str, dict[str, Any], StatusCode, str, str]] = [
    ("watchBalances", {}, BAD, "INVALID_ARGUMENT", "params"),
    ("watchBalances", item(address=ALICE), BAD, "INVALID_ARGUMENT", "params[1].chain"),
    ("watchBalances", item(chain=SLUG), BAD, "INVALID_ARGUMENT", "params[1].address"),
    ("watchBalances", item(chain=SLUG, address="0x1"), BAD, "INVALID_ARGUMENT", "params[1].address"),
    ("watchBalances", item(chain=SLUG, address=ALICE, token="no"), BAD, "INVALID_ARGUMENT", "params[1].token"),
    ("watchBalances", item(chain="cosmoshub", address=ALICE), BAD, "INVALID_ARGUMENT", "params[1].address"),
    ("watchBalances", item(chain="nosuch", address=ALICE), StatusCode.NOT_FOUND, "CHAIN_UNKNOWN", "params[1].chain"),
    ("watchBalances", item(chain=SLUG, address="a" * 10_000), BAD, "INVALID_ARGUMENT", "params[1].address"),
    ("watchBalances", {"items": [{"chain": SLUG, "address": ALICE}] * 51}, BAD, "INVALID_ARGUMENT", "params"),
    ("watchPrices", {}, BAD, "INVALID_ARGUMENT", "params"),
    ("watchPrices", {"items": [{"symbol": "NOSUCH"}]}, BAD, "INVALID_ARGUMENT", "params[0].symbol"),
    ("watchPrices", {"items": [{"symbol": "ETH"}] * 51}, BAD, "INVALID_ARGUMENT", "params"),
    ("watchReceipt", {"hash": HASH}, BAD, "INVALID_ARGUMENT", "chain"),
    ("watchReceipt", {"chain": SLUG}, BAD, "INVALID_ARGUMENT", "hash"),
    ("watchReceipt", {"chain": SLUG, "hash": "0x12"}, BAD, "INVALID_ARGUMENT", "hash"),
    ("watchReceipt", {"chain": SLUG, "hash": HASH, "confirmations": -1}, BAD, "INVALID_ARGUMENT", "confirmations"),
    ("watchReceipt", {"chain": SLUG, "hash": HASH, "confirmations": 1001}, BAD, "INVALID_ARGUMENT", "confirmations"),
    ("watchReceipt", {"chain": "nosuch", "hash": HASH}, StatusCode.NOT_FOUND, "CHAIN_UNKNOWN", "chain"),
    ("watchReceipt", {"chain": "solana", "hash": HASH}, BAD, "CHAIN_UNSUPPORTED", "chain"),
]


@each(REFUSALS, name=lambda case: f"{case[0]} {str(case[1])[:60]}")
async def test_what_is_wrong_refuses_the_stream(
    name: str, fields: dict[str, Any], code: StatusCode, reason: str, field: str, watcher: Watcher
) -> None:
    assert await watcher.refused(name, **fields) == (code, reason, field)
