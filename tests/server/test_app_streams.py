"""A whole gateway's streams: the demo, vouched callers, leaving and draining, and watches that it does not have."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from waypost.v1 import stream_pb2_grpc
from waypost.v1.account_pb2 import GetBalanceRequest, GetBalanceResponse
from waypost.v1.account_pb2_grpc import AccountServiceStub
from waypost.v1.batch_pb2 import ExecuteRequest
from waypost.v1.batch_pb2_grpc import BatchServiceStub
from waypost.v1.stream_pb2 import WatchBlocksRequest, WatchBlocksResponse
from waypost_internal.v1 import access_pb2, access_pb2_grpc

from runtime.operations import load_watches
from runtime.settings import QuotaSettings, Settings, StreamSettings
from server import app
from server.access import keys
from server.app import Gateway
from server.streams.events import Event
from tests.server.accounts import CREDENTIAL, Accounts, stub_of
from tests.serving import serve_face

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.slow

REQUEST = WatchBlocksRequest(chain="ethereum")
LOCAL = (("x-api-key", "local"),)
DEMO = (("x-api-key", "demo"),)


class Blocks(stream_pb2_grpc.StreamServiceServicer):
    """Sends one event and goes on watching."""

    async def WatchBlocks(self, request: Any, context: Any) -> AsyncIterator[Event]:
        yield Event(WatchBlocksResponse(block_number=7).SerializeToString(), "after 7")
        await asyncio.sleep(3600)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """A demo of three units, whose streams last two seconds."""
    quotas = QuotaSettings(demo_rate=0.001, demo_burst=3)
    return settings.model_copy(update={"quotas": quotas, "streams": StreamSettings(demo_lifetime=2)})


@pytest.fixture
async def gateway(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[Gateway]:
    """A gateway that has WatchBlocks, or no watch where the test says so."""
    has_blocks = getattr(request, "param", True)
    watches = tuple(
        replace(one, available=one.families if has_blocks and one.name == "watchBlocks" else frozenset())
        for one in load_watches()
    )
    monkeypatch.setattr(app, "load_watches", lambda: watches)
    gateway = await Gateway.create(settings, servicers=(Accounts(), Blocks()))
    yield gateway
    await gateway.drain(0)


@pytest.fixture
async def channel(gateway: Gateway) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await gateway.start()}") as channel:
        yield channel


async def opened(channel: Any, metadata: Any, **options: Any) -> Any:
    """Return a stream that has sent its first event."""
    call = stub_of(stream_pb2_grpc.StreamServiceStub, channel).WatchBlocks(REQUEST, metadata=metadata, **options)
    assert (await call.read()).block_number == 7
    return call


async def end_of(call: Any, seconds: float = 5) -> tuple[StatusCode, str, str, bool]:
    """Return status, reason and cursor of a stream that ends within so many seconds; whether it says when to retry."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asyncio.wait_for(call.read(), seconds)
    status = status_pb2.Status.FromString(dict(caught.value.trailing_metadata() or ())["grpc-status-details-bin"])
    info = error_details_pb2.ErrorInfo()
    status.details[0].Unpack(info)
    retries = any(detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR) for detail in status.details)
    return caught.value.code(), info.reason, info.metadata.get("cursor", ""), retries


async def test_draining_ends_streams_at_once(channel: Any, gateway: Gateway) -> None:
    calls = [await opened(face, LOCAL) for face in (channel, gateway.channel())]
    async with asyncio.timeout(10):
        draining = asyncio.create_task(gateway.drain(600))
        for call in calls:
            assert await end_of(call) == (StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE", "after 7", True)
        await draining


async def test_leaving_ends_streams_and_lets_calls_finish(channel: Any, gateway: Gateway) -> None:
    release, started = asyncio.Event(), asyncio.Event()

    async def wait(request: Any, context: Any) -> Any:
        started.set()
        await release.wait()
        return GetBalanceResponse(token="finished")

    Accounts.answer = wait
    asked = stub_of(AccountServiceStub, channel).GetBalance(
        GetBalanceRequest(chain="ethereum", address="0x" + "ab" * 20), metadata=LOCAL
    )
    await started.wait()
    call = await opened(channel, LOCAL)
    leaving = asyncio.create_task(gateway.leave(0.4))
    assert await end_of(call) == (StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE", "after 7", True)
    assert not asked.done()
    release.set()
    assert (await asked).token == "finished"
    await leaving


async def test_the_demo_has_one_stream_for_an_address_and_not_for_long(channel: Any) -> None:
    call = await opened(channel, DEMO)
    again = stub_of(stream_pb2_grpc.StreamServiceStub, channel).WatchBlocks(REQUEST, metadata=DEMO)
    assert (await end_of(again))[:3] == (StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED", "")
    assert await end_of(call) == (StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED", "after 7", True)
    assert "demo ends after 2 s" in await call.details()


async def test_what_was_opened_with_a_ticket_ends_with_it(
    channel: Any, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "TICKET_LASTS", timedelta(seconds=1))
    _, key = await gateway.keys.create_key("one")
    call = await opened(channel, (("x-api-key", await gateway.keys.issue_ticket(keys.digest(key))),))
    assert await end_of(call) == (StatusCode.UNAUTHENTICATED, "KEY_INVALID", "after 7", False)
    assert "ticket has expired" in await call.details()


@pytest.mark.parametrize("face", ["in process", "private"])
async def test_what_the_transcoder_vouched_for_ends_with_its_key(
    channel: Any, gateway: Gateway, settings: Settings, face: str
) -> None:
    number, key = await gateway.keys.create_key("one")
    proof = (("x-waypost-credential", CREDENTIAL),)
    assert settings.grpc.private_listen
    async with grpc.aio.insecure_channel(
        settings.grpc.private_listen, options=(("grpc.default_authority", "localhost"),)
    ) as private:
        trusted = gateway.channel() if face == "in process" else private
        access = stub_of(access_pb2_grpc.AccessServiceStub, trusted)
        admitted = await access.Admit(access_pb2.AdmitRequest(api_key=key, items=1), metadata=proof)
        by_principal = await opened(trusted, (*proof, ("x-waypost-principal", admitted.principal)))
        by_key = await opened(trusted, (*proof, ("x-api-key", key)))
        await gateway.keys.revoke_key(number)
        for call in (by_principal, by_key):
            assert (await end_of(call))[:3] == (StatusCode.UNAUTHENTICATED, "KEY_INVALID", "after 7")


async def test_a_batch_refuses_a_stream_in_its_place(channel: Any) -> None:
    batch = ExecuteRequest()
    for request in (REQUEST, GetBalanceRequest(chain="ethereum", address="0x" + "ab" * 20)):
        batch.requests.add().Pack(request)
    answer = await stub_of(BatchServiceStub, channel).Execute(batch, metadata=LOCAL)
    stream, balance = answer.results
    assert stream.error.code == StatusCode.UNIMPLEMENTED.value[0]
    assert "waypost.v1.StreamService/WatchBlocks" in stream.error.message
    assert balance.WhichOneof("outcome") == "response"


async def test_a_stream_cannot_be_posted(gateway: Gateway, settings: Settings) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "watchBlocks", "params": {"chain": "ethereum"}}
    async with (
        serve_face(gateway.channel(), settings.http) as url,
        aiohttp.ClientSession() as session,
        session.post(f"{url}/local/v1", json=body) as response,
    ):
        error = (await response.json())["error"]
    assert (error["code"], error["data"]["reason"]) == (404, "NOT_AVAILABLE")
    assert "/v1/ws" in error["message"]
    assert "/v1/stream/watchBlocks" in error["message"]


@pytest.mark.parametrize("gateway", [False], indirect=True, ids=["without watches"])
async def test_watches_that_this_build_lacks_are_not_available(channel: Any, gateway: Gateway) -> None:
    for watch in load_watches():
        for face in (channel, gateway.channel()):
            call = face.unary_stream(watch.path, request_serializer=watch.request.SerializeToString)
            got = await end_of(call(watch.request(), metadata=LOCAL))
            assert got[:2] == (StatusCode.UNIMPLEMENTED, "NOT_AVAILABLE"), watch.name
