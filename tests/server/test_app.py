"""The gateway as gRPC callers meet it: keys, quotas, limits, health, the private listener, draining."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from grpc_health.v1 import health_pb2, health_pb2_grpc
from waypost.v1.account_pb2 import GetBalanceRequest, GetBalanceResponse
from waypost.v1.account_pb2_grpc import AccountServiceStub
from waypost_internal.v1 import access_pb2, access_pb2_grpc

from runtime.operations import load_operations
from server.app import Gateway, ListenError
from tests.server.accounts import CREDENTIAL, Accounts, stub_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from runtime.settings import Settings

pytestmark = pytest.mark.slow

REQUEST = GetBalanceRequest(chain="ethereum", address="0x" + "ab" * 20)
LOCAL = (("x-api-key", "local"),)
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVING = health_pb2.HealthCheckResponse.SERVING


@pytest.fixture
async def channel(gateway: Gateway) -> AsyncIterator[grpc.aio.Channel]:
    port = await gateway.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel


@pytest.fixture
async def private(channel: grpc.aio.Channel, settings: Settings) -> AsyncIterator[grpc.aio.Channel]:
    assert settings.grpc.private_listen
    # gRPC would send the path as :authority, which HTTP/2 does not allow.
    options = (("grpc.default_authority", "localhost"),)
    async with grpc.aio.insecure_channel(settings.grpc.private_listen, options=options) as private:
        yield private


async def refusal(call: Any) -> tuple[StatusCode, str]:
    """Return status and reason of a call that fails."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    packed = dict(caught.value.trailing_metadata() or ()).get("grpc-status-details-bin")
    if packed is None:
        return caught.value.code(), ""
    info = error_details_pb2.ErrorInfo()
    status_pb2.Status.FromString(packed).details[0].Unpack(info)
    return caught.value.code(), info.reason


async def arrived(calls: int) -> None:
    """Wait until that many calls have reached the servicer."""
    async with asyncio.timeout(10):
        while len(Accounts.principals) < calls:  # noqa: ASYNC110  # the servicer knows nothing of the test's loop
            await asyncio.sleep(0.01)


async def until_refused(stub: Any, key: str) -> None:
    """Ask until the key is refused, which is to happen within five seconds."""
    started = asyncio.get_running_loop().time()
    while True:
        await stub.GetBalance(REQUEST, metadata=(("x-api-key", key),), timeout=5)
        await asyncio.sleep(0.05)
        assert asyncio.get_running_loop().time() - started < 5


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ((), "KEY_MISSING"),
        ((("x-api-key", ""),), "KEY_MISSING"),
        ((("authorization", "Basic abc"),), "KEY_MISSING"),
        ((("authorization", "Bearer "),), "KEY_MISSING"),
        ((("x-api-key", "Demo"),), "KEY_INVALID"),
        ((("x-api-key", "wp_" + "a" * 43),), "KEY_INVALID"),
        ((("authorization", "Bearer nonsense"),), "KEY_INVALID"),
        # What only a trusted caller may send is not believed.
        ((("x-waypost-principal", "unlimited/0/0/-/-/local"),), "KEY_MISSING"),
        ((("x-waypost-credential", CREDENTIAL), ("x-waypost-principal", "unlimited/0/0/-/-/local")), "KEY_MISSING"),
    ],
)
async def test_without_a_good_key_nothing_is_looked_at(channel: Any, metadata: Any, reason: str) -> None:
    stub = stub_of(AccountServiceStub, channel)
    for request in (REQUEST, GetBalanceRequest()):
        got = await refusal(stub.GetBalance(request, metadata=metadata, timeout=5))
        assert got == (StatusCode.UNAUTHENTICATED, reason)
    assert Accounts.principals == []


@pytest.mark.parametrize("header", ["x-api-key", "authorization"])
async def test_a_key_opens_by_either_header(channel: Any, gateway: Gateway, header: str) -> None:
    number, key = await gateway.keys.create_key("a")
    value = key if header == "x-api-key" else f"bearer {key}"
    call = stub_of(AccountServiceStub, channel).GetBalance(REQUEST, metadata=((header, value),), timeout=5)
    assert (await call).address == REQUEST.address
    assert Accounts.principals == [f"key:{number}"]
    assert dict(await call.trailing_metadata())["ratelimit-policy"] == '"default";q=100;w=2'


async def test_a_used_up_quota_says_when_to_come_back(channel: Any, gateway: Gateway) -> None:
    _, key = await gateway.keys.create_key("a", 0.01, 2)
    stub = stub_of(AccountServiceStub, channel)
    for remaining in (1, 0):
        call = stub.GetBalance(REQUEST, metadata=(("x-api-key", key),), timeout=5)
        await call
        assert dict(await call.trailing_metadata())["ratelimit"].startswith(f'"key";r={remaining};')
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        # The caller's other mistakes do not matter any more.
        await stub.GetBalance(GetBalanceRequest(), metadata=(("x-api-key", key),), timeout=5)
    trailing = dict(caught.value.trailing_metadata())
    assert caught.value.code() is StatusCode.RESOURCE_EXHAUSTED
    assert trailing["ratelimit-policy"] == '"key";q=2;w=200'
    retry = error_details_pb2.RetryInfo()
    assert status_pb2.Status.FromString(trailing["grpc-status-details-bin"]).details[1].Unpack(retry)
    assert 90_000 < retry.retry_delay.ToMilliseconds() <= 100_000


async def test_revocation_is_seen_within_five_seconds(channel: Any, gateway: Gateway) -> None:
    number, key = await gateway.keys.create_key("a", 1000, 1000)
    stub = stub_of(AccountServiceStub, channel)
    await stub.GetBalance(REQUEST, metadata=(("x-api-key", key),), timeout=5)
    await gateway.keys.revoke_key(number)
    assert await refusal(until_refused(stub, key)) == (StatusCode.UNAUTHENTICATED, "KEY_INVALID")


async def test_the_caller_s_mistakes_are_named(channel: Any) -> None:
    stub = stub_of(AccountServiceStub, channel)
    cases = {
        "CHAIN_UNKNOWN": GetBalanceRequest(chain="etherum", address="x"),
        "CHAIN_UNSUPPORTED": GetBalanceRequest(chain="noble", address="x"),
        "INVALID_ARGUMENT": GetBalanceRequest(chain="ethereum"),
    }
    got = {
        reason: (await refusal(stub.GetBalance(request, metadata=LOCAL, timeout=5)))[1]
        for reason, request in cases.items()
    }
    assert got == {reason: reason for reason in cases}


async def test_every_rpc_of_the_contract_answers(channel: Any) -> None:
    for operation in load_operations():
        call = channel.unary_unary(
            operation.path,
            request_serializer=operation.request.SerializeToString,
            response_deserializer=operation.response.FromString,
        )
        made = call(operation.request(), metadata=LOCAL, timeout=20)
        assert await made.code() is not StatusCode.UNIMPLEMENTED, operation.name


@pytest.mark.parametrize(
    ("key", "limit", "reason"), [("own", 20, "RATE_LIMITED"), ("local", 40, "UPSTREAM_UNAVAILABLE")]
)
async def test_calls_beyond_the_limits_are_refused_at_once(
    channel: Any, gateway: Gateway, key: str, limit: int, reason: str
) -> None:
    if key == "own":
        _, key = await gateway.keys.create_key("a", 1000, 1000)
    release = asyncio.Event()

    async def wait(request: Any, context: Any) -> Any:
        await release.wait()
        return GetBalanceResponse()

    Accounts.answer = wait
    stub = stub_of(AccountServiceStub, channel)
    calls = [stub.GetBalance(REQUEST, metadata=(("x-api-key", key),), timeout=10) for _ in range(limit)]
    await arrived(limit)
    assert (await refusal(stub.GetBalance(REQUEST, metadata=(("x-api-key", key),), timeout=10)))[1] == reason
    release.set()
    await asyncio.gather(*calls)
    await stub.GetBalance(REQUEST, metadata=(("x-api-key", key),), timeout=5)


async def test_the_transcoder_in_process_is_trusted(gateway: Gateway) -> None:
    access = stub_of(access_pb2_grpc.AccessServiceStub, gateway.channel())
    admitted = await access.Admit(access_pb2.AdmitRequest(api_key="local", items=3))
    assert (admitted.admitted, admitted.limit) == (3, 0)
    demo = await access.Admit(access_pb2.AdmitRequest(demo=True, client_address="192.0.2.7", items=2))
    metadata = (("x-waypost-principal", demo.principal), ("x-request-id", "r-1"))
    call = stub_of(AccountServiceStub, gateway.channel()).GetBalance(REQUEST, metadata=metadata)
    await call
    # Admitted already: not charged again, and no quota is reported.
    trailing = await call.trailing_metadata()
    assert [key for key, _ in trailing] == ["x-request-id", "x-waypost-cost"]
    assert Accounts.principals == ["demo:192.0.2.7"]
    ready = await access.GetReadiness(access_pb2.GetReadinessRequest())
    assert ready.ready
    assert set(ready.chains.values()) == {"unknown"}
    assert len(ready.chains) == 24


async def test_in_process_too_a_key_is_needed_without_a_principal(gateway: Gateway) -> None:
    stub = stub_of(AccountServiceStub, gateway.channel())
    assert (await refusal(stub.GetBalance(REQUEST)))[1] == "KEY_MISSING"
    assert (await refusal(stub.GetBalance(REQUEST, metadata=(("x-waypost-principal", "nonsense"),))))[
        1
    ] == "KEY_MISSING"
    await stub.GetBalance(REQUEST, metadata=LOCAL)


async def test_items_beyond_the_first_become_a_debt(gateway: Gateway) -> None:
    from waypost.v1 import block_pb2, block_pb2_grpc

    access = stub_of(access_pb2_grpc.AccessServiceStub, gateway.channel())
    _, key = await gateway.keys.create_key("a", 0.01, 10)
    principal = (await access.Admit(access_pb2.AdmitRequest(api_key=key, items=1))).principal
    item = block_pb2.GetBlockByNumberItem(chain="ethereum", block=1)
    blocks = stub_of(block_pb2_grpc.BlockServiceStub, gateway.channel())
    # No servicer of ours answers blocks here; the call is charged before it fails.
    with pytest.raises(grpc.aio.AioRpcError):
        await blocks.GetBlockByNumber(
            block_pb2.GetBlockByNumberRequest(items=[item] * 5), metadata=(("x-waypost-principal", principal),)
        )
    assert (await access.Admit(access_pb2.AdmitRequest(api_key=key, items=50))).admitted == 5


async def test_access_is_not_there_for_the_public(channel: Any) -> None:
    access = stub_of(access_pb2_grpc.AccessServiceStub, channel)
    for metadata in ((), LOCAL, (("x-waypost-credential", CREDENTIAL),)):
        got = await refusal(access.Admit(access_pb2.AdmitRequest(api_key="local", items=1), metadata=metadata))
        assert got == (StatusCode.UNIMPLEMENTED, "")


async def test_the_private_listener_believes_its_credential_alone(private: Any) -> None:
    access = stub_of(access_pb2_grpc.AccessServiceStub, private)
    request = access_pb2.AdmitRequest(api_key="local", items=1)
    for metadata in ((), LOCAL, (("x-waypost-credential", CREDENTIAL + "."),), (("x-waypost-credential", ""),)):
        got = await refusal(access.Admit(request, metadata=metadata, timeout=5))
        assert got == (StatusCode.UNAUTHENTICATED, "KEY_INVALID")
    proof = ("x-waypost-credential", CREDENTIAL)
    admitted = await access.Admit(request, metadata=(proof,), timeout=5)
    stub = stub_of(AccountServiceStub, private)
    principal = ("x-waypost-principal", admitted.principal)
    await stub.GetBalance(REQUEST, metadata=(proof, principal), timeout=5)
    assert Accounts.principals == ["local"]
    assert (await refusal(stub.GetBalance(REQUEST, metadata=(principal,), timeout=5)))[1] == "KEY_MISSING"


async def test_health_needs_no_key(channel: Any) -> None:
    health = stub_of(health_pb2_grpc.HealthStub, channel)
    for service in ("", "waypost.v1.AccountService", "waypost.v1.BatchService"):
        assert (await health.Check(health_pb2.HealthCheckRequest(service=service), timeout=5)).status == SERVING
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await health.Check(health_pb2.HealthCheckRequest(service="waypost.v1.NoService"), timeout=5)
    assert caught.value.code() is StatusCode.NOT_FOUND


async def test_watchers_are_reported_and_let_the_server_go(channel: Any, gateway: Gateway) -> None:
    health = stub_of(health_pb2_grpc.HealthStub, channel)
    request = health_pb2.HealthCheckRequest(service="")
    watches = [health.Watch(request) for _ in range(3)]
    assert [(await watch.read()).status for watch in watches] == [SERVING] * 3
    watches[0].cancel()
    async with asyncio.timeout(5):
        await gateway.drain(60)
        assert [(await watch.read()).status for watch in watches[1:]] == [NOT_SERVING] * 2
        assert [await watch.read() for watch in watches[1:]] == [grpc.aio.EOF] * 2


async def test_draining_lets_calls_finish_and_takes_no_more(channel: Any, gateway: Gateway) -> None:
    release, started = asyncio.Event(), asyncio.Event()

    async def wait(request: Any, context: Any) -> Any:
        started.set()
        await release.wait()
        return GetBalanceResponse(token="finished")

    Accounts.answer = wait
    over_socket = stub_of(AccountServiceStub, channel).GetBalance(REQUEST, metadata=LOCAL, timeout=10)
    await started.wait()
    started.clear()
    inside = stub_of(AccountServiceStub, gateway.channel()).GetBalance(REQUEST, metadata=LOCAL, timeout=10)
    await started.wait()
    draining = [asyncio.create_task(gateway.drain(10)) for _ in range(2)]
    await asyncio.sleep(0.05)
    # In process the channel is closed; on the socket connections are refused.
    with pytest.raises(grpc.aio.UsageError):
        stub_of(AccountServiceStub, gateway.channel()).GetBalance(REQUEST, metadata=LOCAL)
    assert not draining[0].done()
    release.set()
    assert ((await over_socket).token, (await inside).token) == ("finished", "finished")
    await asyncio.gather(*draining)


async def test_draining_ends_at_the_grace(channel: Any, gateway: Gateway) -> None:
    async def wait(request: Any, context: Any) -> Any:
        await asyncio.sleep(60)

    Accounts.answer = wait
    calls = [
        stub_of(AccountServiceStub, face).GetBalance(REQUEST, metadata=LOCAL, timeout=30)
        for face in (channel, gateway.channel())
    ]
    await arrived(2)
    async with asyncio.timeout(5):
        await gateway.drain(0.1)
        for call in calls:
            assert await call.code() in (StatusCode.UNAVAILABLE, StatusCode.CANCELLED)


async def test_a_port_in_use_is_refused_by_name(channel: Any, gateway: Gateway, settings: Settings) -> None:
    port = gateway.port
    taken = settings.model_copy(
        update={"grpc": settings.grpc.model_copy(update={"port": port, "private_listen": None})}
    )
    second = await Gateway.create(taken, servicers=(Accounts(),))
    with pytest.raises(ListenError, match=rf"grpc\.port.*127\.0\.0\.1:{port}"):
        await second.start()
    await second.drain(0)
