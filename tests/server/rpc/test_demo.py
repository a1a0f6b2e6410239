"""The demo's key over gRPC: the quota, bounds and account of the demo route, of one client address on both faces."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from waypost.v1 import batch_pb2, batch_pb2_grpc
from waypost.v1.account_pb2 import GetBalanceRequest
from waypost.v1.account_pb2_grpc import AccountServiceStub

from runtime.settings import HttpSettings, QuotaSettings, Settings
from server.rpc.demo import MOST_BYTES
from tests.server.accounts import Accounts, stub_of
from tests.serving import serve_face

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from server.app import Gateway

pytestmark = pytest.mark.slow

DEMO = (("x-api-key", "demo"),)
REQUEST = GetBalanceRequest(chain="ethereum", address="0x" + "ab" * 20)
JSON = {"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": {"chain": "ethereum", "address": REQUEST.address}}
# No unit comes back during a test.
SLOW = 0.001


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """A demo of three units, behind proxies on this machine."""
    quotas = QuotaSettings(demo_rate=SLOW, demo_burst=3)
    return settings.model_copy(update={"quotas": quotas, "http": HttpSettings(trusted_proxies=("127.0.0.0/8",))})


@pytest.fixture
async def channel(gateway: Gateway) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await gateway.start()}") as channel:
        yield channel


def of(address: str) -> tuple[tuple[str, str], ...]:
    """Return the metadata of a demo call that a proxy forwards for an address."""
    return (*DEMO, ("x-forwarded-for", address))


async def reason_of(call: Any) -> tuple[StatusCode, str, dict[str, Any]]:
    """Return status and reason of a call that fails, and its trailing metadata."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    trailing = dict(caught.value.trailing_metadata() or ())
    info = error_details_pb2.ErrorInfo()
    status_pb2.Status.FromString(trailing["grpc-status-details-bin"]).details[0].Unpack(info)
    return caught.value.code(), info.reason, trailing


@pytest.mark.parametrize("metadata", [DEMO, (("authorization", "Bearer demo"),)])
async def test_the_word_demo_opens_with_the_quota_of_the_demo(channel: Any, metadata: Any, gateway: Gateway) -> None:
    stub = stub_of(AccountServiceStub, channel)
    for left in (2, 1, 0):
        call = stub.GetBalance(REQUEST, metadata=metadata, timeout=5)
        assert (await call).address == REQUEST.address
        trailing = dict(await call.trailing_metadata())
        assert trailing["ratelimit"].startswith(f'"demo";r={left};')
        assert trailing["x-waypost-cost"] == "1"
    code, reason, trailing = await reason_of(stub.GetBalance(REQUEST, metadata=metadata, timeout=5))
    assert (code, reason) == (StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
    assert trailing["grpc-retry-pushback-ms"] == "-1"
    assert trailing["ratelimit-policy"] == '"demo";q=3;w=3000'
    assert trailing["x-waypost-cost"] == "0"
    assert Accounts.principals == ["demo:127.0.0.1"] * 3
    counted = gateway.usage.take()
    assert {account for account, *_ in counted} == {"demo"}
    assert sum(tally.requests for tally in counted.values()) == 4
    assert sum(tally.units for tally in counted.values()) == 3


async def test_both_faces_share_the_quota_of_an_address(gateway: Gateway, channel: Any, settings: Settings) -> None:
    stub = stub_of(AccountServiceStub, channel)

    async def over_http(address: str) -> int:
        async with session.post(f"{url}/demo/v1", json=JSON, headers={"X-Forwarded-For": address}) as response:
            return response.status

    async with serve_face(gateway.channel(), settings.http) as url, aiohttp.ClientSession() as session:
        await stub.GetBalance(REQUEST, metadata=of("2001:db8::1"), timeout=5)
        assert await over_http("2001:db8::2") == 200
        # What a client writes itself stands before what the proxy saw.
        await stub.GetBalance(REQUEST, metadata=of("198.51.100.1, 2001:db8:0:0:f::1, 127.0.0.9"), timeout=5)
        assert await over_http("2001:db8::3") == 429
        call = stub.GetBalance(REQUEST, metadata=of("2001:db8::4"), timeout=5)
        assert (await reason_of(call))[:2] == (StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
        assert await over_http("2001:db8:0:1::1") == 200
    assert Accounts.principals == ["demo:2001:db8::/64"] * 3 + ["demo:2001:db8:0:1::/64"]


async def test_a_long_request_is_refused_and_charged(channel: Any) -> None:
    stub = stub_of(AccountServiceStub, channel)
    long = GetBalanceRequest(chain="ethereum", address="a" * MOST_BYTES)
    code, reason, trailing = await reason_of(stub.GetBalance(long, metadata=DEMO, timeout=5))
    assert (code, reason) == (StatusCode.INVALID_ARGUMENT, "BODY_TOO_LARGE")
    assert trailing["ratelimit"].startswith('"demo";r=2;')
    assert trailing["x-waypost-cost"] == "1"
    assert Accounts.principals == []


async def test_nothing_is_read_of_who_has_used_up_the_quota(channel: Any) -> None:
    stub = stub_of(AccountServiceStub, channel)
    for _ in range(3):
        await stub.GetBalance(REQUEST, metadata=DEMO, timeout=5)
    unsent = channel.stream_unary("/waypost.v1.AccountService/GetBalance")

    async def never() -> AsyncIterator[bytes]:
        await asyncio.sleep(30)
        yield b""

    calls = [unsent(never(), metadata=DEMO, timeout=20) for _ in range(40)]
    for call in calls:
        assert (await reason_of(call))[:2] == (StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")


async def test_a_batch_gets_what_the_quota_admits(channel: Any) -> None:
    batch = batch_pb2.ExecuteRequest()
    for _ in range(5):
        batch.requests.add().Pack(REQUEST)
    answer = await stub_of(batch_pb2_grpc.BatchServiceStub, channel).Execute(batch, metadata=DEMO, timeout=5)
    outcomes = [result.WhichOneof("outcome") for result in answer.results]
    assert outcomes == ["response"] * 3 + ["error"] * 2
    assert Accounts.principals == ["demo:127.0.0.1"] * 3


async def test_the_word_opens_nothing_beside_the_public_face(gateway: Gateway) -> None:
    call = stub_of(AccountServiceStub, gateway.channel()).GetBalance(REQUEST, metadata=DEMO)
    assert (await reason_of(call))[:2] == (StatusCode.UNAUTHENTICATED, "KEY_INVALID")
