"""BatchService without nodes: what each request comes to, what it costs, and what a batch as a whole may be."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from waypost.v1 import batch_pb2, block_pb2, cosmos_pb2, usage_pb2
from waypost.v1.account_pb2 import GetBalanceRequest, GetBalanceResponse
from waypost.v1.account_pb2_grpc import AccountServiceStub
from waypost.v1.batch_pb2_grpc import BatchServiceStub
from waypost.v1.system_pb2 import GetHealthRequest
from waypost_internal.v1 import access_pb2

from runtime.operations import load_operations
from server.rpc import batch as module
from tests.server.accounts import CREDENTIAL, Accounts, stub_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from google.protobuf.message import Message

    from runtime.settings import Settings
    from server.app import Gateway

pytestmark = pytest.mark.slow

LOCAL = (("x-api-key", "local"),)


def balance(number: int = 0, chain: str = "ethereum") -> GetBalanceRequest:
    return GetBalanceRequest(chain=chain, address=f"0x{number:040x}")


def packed(*requests: Message) -> batch_pb2.ExecuteRequest:
    batch = batch_pb2.ExecuteRequest()
    for request in requests:
        batch.requests.add().Pack(request)
    return batch


def reason_of(status: status_pb2.Status) -> str:
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    return info.reason


def field_of(status: status_pb2.Status) -> str:
    bad = error_details_pb2.BadRequest()
    return next((bad.field_violations[0].field for detail in status.details if detail.Unpack(bad)), "")


def addresses(response: batch_pb2.ExecuteResponse) -> list[str]:
    """Return whose balances the results are; of failures the reason."""
    found = []
    for result in response.results:
        answer = GetBalanceResponse()
        if result.WhichOneof("outcome") == "error":
            found.append(reason_of(result.error))
        else:
            assert result.response.Unpack(answer)
            found.append(answer.address)
    return found


async def refused(call: Any) -> tuple[StatusCode, str, str, dict[str, Any]]:
    """Return code, reason and field of a batch that fails as a whole, and its trailing metadata."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    trailing = dict(caught.value.trailing_metadata())
    status = status_pb2.Status.FromString(trailing["grpc-status-details-bin"])
    return caught.value.code(), reason_of(status), field_of(status), trailing


def used(gateway: Gateway, account: str) -> dict[str, tuple[int, int, dict[str, int]]]:
    """Return requests, units and errors by operation, over all chains."""
    found: dict[str, tuple[int, int, dict[str, int]]] = {}
    for (of, operation, _), tally in gateway.usage.tallies.items():
        if of == account:
            requests, units, errors = found.get(operation, (0, 0, {}))
            errors = dict(Counter(errors) + Counter(tally.errors or {}))
            found[operation] = requests + tally.requests, units + tally.units, errors
    return found


@pytest.fixture(params=["in process", "socket"])
async def channel(request: pytest.FixtureRequest, gateway: Gateway) -> AsyncIterator[Any]:
    if request.param == "in process":
        yield gateway.channel()
        return
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await gateway.start()}") as channel:
        yield channel


@pytest.fixture
def stub(channel: Any) -> Any:
    return stub_of(BatchServiceStub, channel)


def test_a_request_type_names_one_operation() -> None:
    names = [operation.request.DESCRIPTOR.full_name for operation in load_operations()]
    assert len(names) == len(set(names))
    assert "execute" not in {operation.name.lower() for operation in load_operations()}


async def test_answers_come_in_the_order_of_the_requests(stub: Any) -> None:
    async def answer(request: Any, context: Any) -> Any:
        # The later ones are there first.
        await asyncio.sleep((5 - int(request.address, 16)) * 0.01)
        return GetBalanceResponse(address=request.address)

    Accounts.answer = answer
    wanted = [balance(number) for number in range(5)]
    call = stub.Execute(packed(*wanted), metadata=(*LOCAL, ("x-request-id", "r-7")), timeout=10)
    assert addresses(await call) == [request.address for request in wanted]
    trailing = dict(await call.trailing_metadata())
    assert (trailing["x-waypost-cost"], trailing["x-request-id"]) == ("5", "r-7")
    assert "ratelimit" not in trailing


async def test_a_request_fails_as_its_own_call_does_and_leaves_the_others_alone(stub: Any, channel: Any) -> None:
    wrong = [balance(chain="etherum"), balance(chain="noble"), GetBalanceRequest(chain="ethereum")]
    asked = packed(balance(1), *wrong, balance(2))
    response = await stub.Execute(asked, metadata=(*LOCAL, ("x-request-id", "same")), timeout=10)
    single = stub_of(AccountServiceStub, channel)
    for request, result in zip(wrong, response.results[1:4], strict=True):
        *_, trailing = await refused(single.GetBalance(request, metadata=(*LOCAL, ("x-request-id", "same")), timeout=5))
        assert result.error == status_pb2.Status.FromString(trailing["grpc-status-details-bin"])
    assert addresses(response)[::4] == [balance(1).address, balance(2).address]


@pytest.mark.parametrize("count", [0, 201])
async def test_a_batch_has_1_to_200_requests(stub: Any, gateway: Gateway, count: int) -> None:
    number, key = await gateway.keys.create_key("a", 0.01, 3)
    metadata = (("x-api-key", key),)
    asked = packed(*[balance(1)] * count)
    code, reason, field, trailing = await refused(stub.Execute(asked, metadata=metadata, timeout=10))
    assert (code, reason, field) == (StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", "requests")
    # As any request that is refused behind the quota.
    assert trailing["x-waypost-cost"] == "1"
    assert trailing["ratelimit"].startswith('"key";r=2;')
    assert used(gateway, f"key:{number}") == {"": (1, 1, {"INVALID_ARGUMENT": 1})}
    for _ in range(2):
        await refused(stub.Execute(asked, metadata=metadata, timeout=10))
    code, reason, _, trailing = await refused(stub.Execute(asked, metadata=metadata, timeout=10))
    assert (code, reason) == (StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
    assert trailing["x-waypost-cost"] == "0"
    assert used(gateway, f"key:{number}")[""] == (4, 3, {"INVALID_ARGUMENT": 3, "RATE_LIMITED": 1})


async def test_200_requests_are_answered(stub: Any) -> None:
    wanted = [balance(number) for number in range(200)]
    response = await stub.Execute(packed(*wanted), metadata=LOCAL, timeout=20)
    assert addresses(response) == [request.address for request in wanted]


async def test_bytes_that_are_no_batch_are_refused(channel: Any) -> None:
    call = channel.unary_unary("/waypost.v1.BatchService/Execute")
    code, reason, _, trailing = await refused(call(b"\xff\xff", metadata=LOCAL, timeout=5))
    assert (code, reason) == (StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT")
    assert trailing["x-waypost-cost"] == "1"


async def test_what_is_no_operation_s_request_is_named_by_its_place(stub: Any, gateway: Gateway) -> None:
    batch = packed(
        batch_pb2.ExecuteRequest(),
        health_pb2.HealthCheckRequest(),
        access_pb2.AdmitRequest(api_key="local", items=1),
        reflection_pb2.ServerReflectionRequest(list_services=""),
        GetBalanceResponse(),
    )
    batch.requests.add(type_url="waypost.v1.GetBalanceRequest", value=balance(1).SerializeToString())
    batch.requests.add()
    batch.requests.add(type_url="type.googleapis.com/waypost.v1.GetBalancRequest")
    batch.requests.add(type_url="x/" + "\n" * 10_000)
    batch.requests.add(type_url="type.googleapis.com/waypost.v1.GetBalanceRequest", value=b"\xff\xff")
    batch.requests.add().Pack(balance(1))
    number, key = await gateway.keys.create_key("a", 100, 100)
    call = stub.Execute(batch, metadata=(("x-api-key", key),), timeout=10)
    response = await call
    *failed, last = response.results
    for index, result in enumerate(failed):
        assert result.error.code == StatusCode.INVALID_ARGUMENT.value[0]
        assert (reason_of(result.error), field_of(result.error)) == ("INVALID_ARGUMENT", f"requests[{index}]")
        assert f"requests[{index}]" in result.error.message
        assert len(result.error.message) < 400
    assert "is a batch itself" in failed[0].error.message
    assert "did you mean waypost.v1.GetBalanceRequest?" in failed[7].error.message
    assert "GetBalanceRequest" in failed[9].error.message
    assert last.HasField("response")
    assert Accounts.principals == [f"key:{number}"]
    assert dict(await call.trailing_metadata())["x-waypost-cost"] == "11"
    assert used(gateway, f"key:{number}") == {
        "": (9, 9, {"INVALID_ARGUMENT": 9}),
        "getBalance": (2, 2, {"INVALID_ARGUMENT": 1}),
    }


async def test_what_the_quota_does_not_admit_is_refused_from_there_on(stub: Any, gateway: Gateway) -> None:
    number, key = await gateway.keys.create_key("a", 0.01, 3)
    call = stub.Execute(packed(*map(balance, range(5))), metadata=(("x-api-key", key),), timeout=10)
    response = await call
    assert addresses(response) == [balance(0).address, balance(1).address, balance(2).address, *["RATE_LIMITED"] * 2]
    trailing = dict(await call.trailing_metadata())
    assert trailing["x-waypost-cost"] == "3"
    assert trailing["ratelimit"].startswith('"key";r=0;')
    assert response.results[3].error.code == StatusCode.RESOURCE_EXHAUSTED.value[0]
    retry = error_details_pb2.RetryInfo()
    assert response.results[3].error.details[1].Unpack(retry)
    assert 90_000 < retry.retry_delay.ToMilliseconds() <= 100_000
    assert Accounts.principals == [f"key:{number}"] * 3
    assert used(gateway, f"key:{number}") == {"": (2, 0, {"RATE_LIMITED": 2}), "getBalance": (3, 3, {})}
    # With nothing left the batch is answered all the same, and costs nothing.
    call = stub.Execute(packed(balance(1)), metadata=(("x-api-key", key),), timeout=10)
    assert addresses(await call) == ["RATE_LIMITED"]
    assert dict(await call.trailing_metadata())["x-waypost-cost"] == "0"


async def test_a_batch_is_charged_as_over_json(stub: Any, gateway: Gateway) -> None:
    number, key = await gateway.keys.create_key("a", 0.01, 100)
    blocks = block_pb2.GetBlockByNumberRequest(items=[block_pb2.GetBlockByNumberItem(chain="ethereum", block=1)] * 4)
    usage = usage_pb2.GetUsageRequest()
    call = stub.Execute(packed(balance(1), blocks, usage, balance(2)), metadata=(("x-api-key", key),), timeout=10)
    response = await call
    # No servicer of ours answers blocks and usage here: they are charged before they fail.
    assert [result.WhichOneof("outcome") for result in response.results] == ["response", "error", "error", "response"]
    assert dict(await call.trailing_metadata())["x-waypost-cost"] == str(1 + 4 + 5 + 1)
    charged = {name: figures[:2] for name, figures in used(gateway, f"key:{number}").items()}
    assert charged == {"getBalance": (2, 2), "getBlockByNumber": (1, 4), "getUsage": (1, 5)}
    owner = await gateway._admission.identify(key)
    left = gateway._admission.quotas.charge(owner, 100)
    assert left.admitted == 100 - 11  # type: ignore[union-attr]


async def test_a_key_s_rights_hold_for_each_request(stub: Any, gateway: Gateway) -> None:
    _, key = await gateway.keys.create_key("a", 100, 100, operations={"getBalance"}, chains={"ethereum"})
    validator = cosmos_pb2.GetAccountRequest(chain="noble", address="noble1x")
    asked = packed(balance(1), balance(2, "base"), validator, GetHealthRequest())
    response = await stub.Execute(asked, metadata=(("x-api-key", key),), timeout=10)
    assert addresses(response) == [balance(1).address, *["KEY_NOT_ALLOWED"] * 3]


@pytest.mark.parametrize(
    "metadata",
    [
        (),
        (("x-api-key", "wp_" + "a" * 43),),
        (("x-waypost-credential", CREDENTIAL), ("x-waypost-principal", "unlimited/0/0/-/-/local")),
    ],
)
async def test_a_batch_needs_a_key(stub: Any, metadata: Any) -> None:
    code, reason, *_ = await refused(stub.Execute(packed(balance(1)), metadata=metadata, timeout=5))
    assert (code, reason) == (
        StatusCode.UNAUTHENTICATED,
        "KEY_INVALID" if "x-api-key" in dict(metadata) else "KEY_MISSING",
    )
    assert Accounts.principals == []


async def test_no_more_fly_at_once_than_the_key_may(stub: Any, gateway: Gateway, settings: Settings) -> None:
    flying = most = 0

    async def answer(request: Any, context: Any) -> Any:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.01)
        flying -= 1
        return GetBalanceResponse(address=request.address)

    Accounts.answer = answer
    _, key = await gateway.keys.create_key("a", 1000, 1000)
    wanted = [balance(number) for number in range(90)]
    response = await stub.Execute(packed(*wanted), metadata=(("x-api-key", key),), timeout=20)
    assert addresses(response) == [request.address for request in wanted]
    assert most == settings.server_limits.max_in_flight_per_key
    # Batches of one moment share what there is.
    batches = [packed(*wanted[first : first + 15]) for first in (0, 15)]
    both = await asyncio.gather(*(stub.Execute(batch, metadata=(("x-api-key", key),), timeout=20) for batch in batches))
    assert [address for one in both for address in addresses(one)] == [request.address for request in wanted[:30]]
    assert most == settings.server_limits.max_in_flight_per_key


async def test_what_is_late_fails_before_the_batch_does(stub: Any, gateway: Gateway) -> None:
    async def answer(request: Any, context: Any) -> Any:
        if request.address == balance(1).address:
            await asyncio.sleep(30)
        return GetBalanceResponse(address=request.address)

    Accounts.answer = answer
    number, key = await gateway.keys.create_key("a", 100, 100)
    call = stub.Execute(packed(*map(balance, range(3))), metadata=(("x-api-key", key),), timeout=2)
    assert addresses(await call) == [balance(0).address, "DEADLINE_EXCEEDED", balance(2).address]
    assert used(gateway, f"key:{number}") == {"getBalance": (3, 3, {"DEADLINE_EXCEEDED": 1})}


async def test_a_batch_that_is_cancelled_is_counted_by_its_requests(stub: Any, gateway: Gateway) -> None:
    async def answer(request: Any, context: Any) -> Any:
        await asyncio.sleep(30)

    Accounts.answer = answer
    number, key = await gateway.keys.create_key("a", 100, 100)
    call = stub.Execute(packed(*map(balance, range(30))), metadata=(("x-api-key", key),), timeout=20)
    async with asyncio.timeout(10):
        while len(Accounts.principals) < 20:  # noqa: ASYNC110  # the servicer knows nothing of the test's loop
            await asyncio.sleep(0.01)
        call.cancel()
        while sum(figures[0] for figures in used(gateway, f"key:{number}").values()) < 30:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert used(gateway, f"key:{number}") == {
        "getBalance": (20, 20, {"CANCELLED": 20}),
        "": (10, 10, {"CANCELLED": 10}),
    }
    assert gateway._admission.limiter.total == 0


async def test_answers_that_leave_no_room_are_named(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(request: Any, context: Any) -> Any:
        return GetBalanceResponse(address=request.address, token="t" * 6000)

    Accounts.answer = answer
    monkeypatch.setattr(module, "_ROOM", 13_000)
    stub = stub_of(BatchServiceStub, gateway.channel())
    response = await stub.Execute(packed(*map(balance, range(4))), metadata=LOCAL, timeout=10)
    assert addresses(response) == [balance(0).address, balance(1).address, *["RESPONSE_TOO_LARGE"] * 2]
    assert field_of(response.results[3].error) == "requests[3]"


async def test_a_stopping_gateway_names_what_it_did_not_call(gateway: Gateway) -> None:
    inner = gateway.channel()
    began = asyncio.Event()

    async def answer(request: Any, context: Any) -> Any:
        began.set()
        await asyncio.sleep(30)

    Accounts.answer = answer
    _, key = await gateway.keys.create_key("a", 100, 100)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await gateway.start()}") as channel:
        stub = stub_of(BatchServiceStub, channel)
        call = stub.Execute(packed(*map(balance, range(25))), metadata=(("x-api-key", key),), timeout=20)
        await began.wait()
        await inner.close(0)
        response = await call
    assert addresses(response) == ["UPSTREAM_UNAVAILABLE"] * 25


async def test_a_typed_answer_unpacks(stub: Any) -> None:
    response = await stub.Execute(packed(balance(7)), metadata=LOCAL, timeout=5)
    [result] = response.results
    assert result.response.type_url == "type.googleapis.com/waypost.v1.GetBalanceResponse"
    assert isinstance(result.response, AnyMessage)
    assert result.response.Is(GetBalanceResponse.DESCRIPTOR)


async def test_each_request_in_progress_has_one_task(gateway: Gateway) -> None:
    began, release = 0, asyncio.Event()
    reached = asyncio.Event()

    async def answer(request: Any, context: Any) -> Any:
        nonlocal began
        began += 1
        if began == 5:
            reached.set()
        await release.wait()
        return GetBalanceResponse(address=request.address)

    Accounts.answer = answer
    before = asyncio.all_tasks()
    call = stub_of(BatchServiceStub, gateway.channel()).Execute(packed(*map(balance, range(5))), metadata=LOCAL)
    async with asyncio.timeout(10):
        await reached.wait()
    # One more is the batch's own.
    assert len(asyncio.all_tasks() - before) == 6
    release.set()
    assert addresses(await call) == [balance(number).address for number in range(5)]
