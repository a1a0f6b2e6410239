"""How much callers may send, in process and over a socket, with a key and without."""

from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import orjson
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from waypost.v1.account_pb2 import GetBalanceRequest, GetBalanceResponse
from waypost.v1.account_pb2_grpc import AccountServiceStub

from runtime.settings import HttpSettings
from server.rpc.registration import HandlerCollector, PathHandlers
from server.rpc.unauthenticated import Bounds, HealthServicer, Unauthenticated, client_of
from tests.server.accounts import Accounts, stub_of, with_unknown
from tests.serving import serve_face

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from server.app import Gateway

pytestmark = pytest.mark.slow

KEY = (("x-api-key", "local"),)
REQUEST_BYTES = 4 << 20
WALLET = "0x" + "ab" * 20


def request_of(size: int) -> GetBalanceRequest:
    """Return a request of as many bytes, in a field that validation would refuse."""
    request = GetBalanceRequest(chain="ethereum", address="a" * (size - 64))
    request.address += "a" * (size - request.ByteSize())
    assert request.ByteSize() == size
    return request


@pytest.fixture(params=["in process", "socket"])
async def stub(request: pytest.FixtureRequest, gateway: Gateway) -> AsyncIterator[Any]:
    if request.param == "in process":
        yield stub_of(AccountServiceStub, gateway.channel())
        return
    options = (("grpc.max_receive_message_length", 64 << 20),)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await gateway.start()}", options=options) as channel:
        yield stub_of(AccountServiceStub, channel)


async def ended(call: Any) -> tuple[StatusCode, str, str]:
    """Return status, reason and text of a call that fails."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    info = error_details_pb2.ErrorInfo()
    packed = dict(caught.value.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    for detail in status_pb2.Status.FromString(packed).details:
        detail.Unpack(info)
    return caught.value.code(), info.reason, caught.value.details() or ""


async def test_a_request_has_four_mebibytes_and_no_more(stub: Any) -> None:
    longest = request_of(REQUEST_BYTES)
    code, reason, text = await ended(stub.GetBalance(longest, metadata=KEY, timeout=20))
    assert (code, reason) == (StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT")
    assert text == f"address has {len(longest.address)} characters; write at most 4096"
    unknown = with_unknown(GetBalanceRequest(chain="ethereum", address=WALLET), REQUEST_BYTES)
    code, reason, text = await ended(stub.GetBalance(unknown, metadata=KEY, timeout=20))
    assert (code, reason) == (StatusCode.INVALID_ARGUMENT, "BODY_TOO_LARGE")
    assert f"has {REQUEST_BYTES} bytes as a message" in text
    code, reason, text = await ended(stub.GetBalance(request_of(REQUEST_BYTES + 1), metadata=KEY, timeout=20))
    assert (code, reason) == (StatusCode.RESOURCE_EXHAUSTED, "")
    assert text == f"SERVER: Received message larger than max ({REQUEST_BYTES + 1} vs. {REQUEST_BYTES})"
    assert Accounts.principals == []


async def test_an_answer_may_be_longer_than_a_request(stub: Any) -> None:
    async def answer(request: Any, context: Any) -> Any:
        return GetBalanceResponse(token="t" * (2 * REQUEST_BYTES))

    Accounts.answer = answer
    got = await stub.GetBalance(GetBalanceRequest(chain="ethereum", address=WALLET), metadata=KEY, timeout=20)
    assert len(got.token) == 2 * REQUEST_BYTES


async def test_json_too_is_reported_that_the_request_is_too_large(gateway: Gateway) -> None:
    settings = HttpSettings(max_body_bytes=16 << 20)
    params = {"chain": "ethereum", "address": "a" * REQUEST_BYTES}
    body = io.BytesIO(orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": params}))
    async with (
        serve_face(gateway.channel(), settings) as url,
        aiohttp.ClientSession() as session,
        session.post(f"{url}/local/v1", data=body) as response,
    ):
        error = (await response.json())["error"]
    assert (error["code"], error["data"]["reason"]) == (400, "BODY_TOO_LARGE")


@pytest.fixture
async def health(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """A health service within the bounds that the test gives."""
    servicer = HealthServicer(())
    servicer.open()
    collector, bounds = HandlerCollector(), Unauthenticated(request.param)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, collector)
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(_Echo(), collector)
    handlers = {path: bounds.bound(path, handler) for path, handler in collector.handlers.items()}
    server = grpc.aio.server(handlers=(PathHandlers(handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel
    await server.stop(0)


class _Echo(reflection_pb2_grpc.ServerReflectionServicer):
    async def ServerReflectionInfo(self, requests: Any, context: Any) -> Any:
        async for request in requests:
            yield reflection_pb2.ServerReflectionResponse(valid_host=request.host)


@pytest.mark.parametrize("health", [Bounds(calls_per_client=3)], indirect=True)
async def test_open_calls_without_a_key_are_bounded(health: Any) -> None:
    stub = stub_of(health_pb2_grpc.HealthStub, health)
    request = health_pb2.HealthCheckRequest()
    watchers = [stub.Watch(request) for _ in range(3)]
    for watcher in watchers:
        await watcher.read()
    assert (await ended(stub.Check(request, timeout=5)))[:2] == (StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE")
    watchers[0].cancel()
    async with asyncio.timeout(10):
        while True:
            try:
                await stub.Check(request, timeout=5)
                break
            except grpc.aio.AioRpcError:
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("health", [Bounds(message_bytes=100)], indirect=True)
async def test_a_long_message_without_a_key_is_refused(health: Any) -> None:
    stub = stub_of(health_pb2_grpc.HealthStub, health)
    for call in (stub.Check, lambda request, timeout: stub.Watch(request, timeout=timeout).read()):
        got = await ended(call(health_pb2.HealthCheckRequest(service="s" * 200), timeout=5))
        assert got[:2] == (StatusCode.INVALID_ARGUMENT, "BODY_TOO_LARGE")
    assert (await stub.Check(health_pb2.HealthCheckRequest(), timeout=5)).status == 1
    nonsense = health.unary_unary("/grpc.health.v1.Health/Check")
    assert (await ended(nonsense(b"\xff\xff", timeout=5)))[:2] == (StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT")


@pytest.mark.parametrize("health", [Bounds(read_seconds=0.3, reads_per_client=1)], indirect=True)
async def test_who_says_nothing_without_a_key_is_not_waited_for(health: Any) -> None:
    stub = stub_of(health_pb2_grpc.HealthStub, health)
    silent = health.stream_unary("/grpc.health.v1.Health/Check")

    async def never() -> AsyncIterator[bytes]:
        await asyncio.sleep(30)
        yield b""

    for _ in range(2):
        # The second one gets the turn of the first.
        got = await ended(silent(never(), timeout=20))
        assert got[:2] == (StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED")
    reflection = stub_of(reflection_pb2_grpc.ServerReflectionStub, health).ServerReflectionInfo(timeout=20)
    await reflection.write(reflection_pb2.ServerReflectionRequest(host="h"))
    assert (await reflection.read()).valid_host == "h"
    assert (await ended(reflection.read()))[:2] == (StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED")
    assert (await stub.Check(health_pb2.HealthCheckRequest(), timeout=5)).status == 1


@pytest.mark.parametrize(
    ("peer", "client"),
    [
        ("ipv4:192.0.2.1:5000", "192.0.2.1"),
        ("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:5000", "2001:db8:1:2::/64"),
        ("ipv6:[::ffff:192.0.2.1]:5000", "192.0.2.1"),
        ("ipv6:[fe80::1%25eth0]:1", "fe80::/64"),
        ("unix:", ""),
    ],
)
def test_a_client_is_its_address_without_the_port(peer: str, client: str) -> None:
    assert client_of(peer) == client
