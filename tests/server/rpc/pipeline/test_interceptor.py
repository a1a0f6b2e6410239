"""What the stages answer, over both transports: failures carry rich details and tell nothing of exceptions."""

from __future__ import annotations

import asyncio
import copy
import gc
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from waypost.v1.account_pb2 import GetBalanceRequest, GetBalanceResponse

from runtime.operations import load_operations
from server.errors import ArchiveRequired, NotFound
from server.rpc.pipeline.boundary import CallBoundary
from server.rpc.pipeline.call import REQUEST, Execution, current
from server.rpc.pipeline.errors import MAX_MESSAGE_BYTES
from server.rpc.pipeline.interceptor import StagesInterceptor
from tests.server.inprocess.rig import PATH, TRANSPORTS
from tests.server.inprocess.scenarios import OK, outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.inprocess.rig import Rig

SECRET = "postgres://user:password@host"
pytestmark = pytest.mark.parametrize("transport", TRANSPORTS)


@pytest.fixture
async def rig(transport: str) -> AsyncIterator[Rig]:
    operation = next(operation for operation in load_operations() if operation.path == PATH)
    operations = {PATH: replace(operation, deadline=0.1)}
    interceptor = StagesInterceptor(CallBoundary(), Execution(max_response_bytes=1000), operations, private=False)
    async with TRANSPORTS[transport](interceptor) as rig:
        yield rig


async def failure(rig: Rig, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the call's outcome, and the details of its status by type name."""
    got = await outcome(rig.call(**options))
    status = status_pb2.Status.FromString(dict(got["trailing"])["grpc-status-details-bin"])
    assert status.code == got["code"].value[0]
    assert status.message == got["details"]
    details = {}
    for packed in status.details:
        kind = getattr(error_details_pb2, packed.TypeName().rpartition(".")[2])
        details[kind.__name__] = kind.FromString(packed.value)
    assert details["ErrorInfo"].domain == "waypost"
    assert details["RequestInfo"].request_id == dict(got["trailing"])["x-request-id"]
    return got, details


async def test_success_carries_the_request_id(rig: Rig) -> None:
    async def servicer(request: Any, context: Any) -> Any:
        operation = current().operation
        rig.seen.append((current().request_id, operation.name if operation else None))
        return OK

    rig.serve(servicer)
    got = await outcome(rig.call(metadata=(("x-request-id", "Mine-1.2_3"),)))
    assert got["response"] == OK
    assert ("x-request-id", "Mine-1.2_3") in got["trailing"]
    assert rig.seen == [("Mine-1.2_3", "getBalance")]


@pytest.mark.parametrize("given", ["", "a" * 65, "with space", "semi;colon"])
async def test_an_unfit_request_id_is_replaced(rig: Rig, given: str) -> None:
    async def servicer(request: Any, context: Any) -> Any:
        return OK

    rig.serve(servicer)
    got = await outcome(rig.call(metadata=(("x-request-id", given),)))
    made = dict(got["trailing"])["x-request-id"]
    assert made not in ("", given)


async def test_a_gateway_error_carries_everything(rig: Rig) -> None:
    async def servicer(request: Any, context: Any) -> Any:
        raise ArchiveRequired("too old", field="chain", retry_after_ms=1500, oldest_block=5)

    rig.serve(servicer)
    got, details = await failure(rig)
    assert (got["code"], got["details"]) == (ArchiveRequired.status, "too old")
    assert (details["ErrorInfo"].reason, dict(details["ErrorInfo"].metadata)) == (
        "ARCHIVE_REQUIRED",
        {"oldestBlock": "5"},
    )
    assert details["BadRequest"].field_violations[0].field == "chain"
    assert details["RetryInfo"].retry_delay.ToMilliseconds() == 1500


async def test_a_long_message_is_cut_to_fit_the_headers(rig: Rig) -> None:
    async def servicer(request: Any, context: Any) -> Any:
        raise NotFound("…" * 5000)

    rig.serve(servicer)
    got, _ = await failure(rig)
    assert got["code"] is StatusCode.NOT_FOUND
    assert len(got["details"].encode()) <= MAX_MESSAGE_BYTES
    assert set(got["details"]) == {"…"}


async def test_an_escaped_exception_tells_nothing(rig: Rig) -> None:
    async def servicer(request: Any, context: Any) -> Any:
        raise ConnectionError(SECRET)

    rig.serve(servicer)
    got, details = await failure(rig)
    assert got["code"] is StatusCode.INTERNAL
    assert details["ErrorInfo"].reason == "INTERNAL"
    assert SECRET not in repr(got)
    assert dict(got["trailing"])["x-request-id"] in got["details"]


async def test_a_stray_cancellation_is_unavailable(rig: Rig) -> None:
    async def servicer(request: Any, context: Any) -> Any:
        inner = asyncio.ensure_future(asyncio.sleep(30))
        inner.cancel()
        await inner

    rig.serve(servicer)
    got, details = await failure(rig, timeout=None)
    assert got["code"] is StatusCode.UNAVAILABLE
    assert details["ErrorInfo"].reason == "UPSTREAM_UNAVAILABLE"


async def test_a_caller_who_cancels_gets_no_answer_and_the_servicer_stops(rig: Rig) -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def servicer(request: Any, context: Any) -> Any:
        started.set()
        try:
            await asyncio.sleep(30)
        finally:
            rig.seen.append(REQUEST.get().error)
            stopped.set()

    rig.serve(servicer)
    call = rig.call(timeout=None)
    await started.wait()
    call.cancel()
    await asyncio.wait_for(stopped.wait(), 5)
    assert await call.code() is StatusCode.CANCELLED
    assert rig.seen == [None]


@pytest.mark.parametrize("timeout", [None, 3600])
async def test_our_deadline_is_an_error_of_ours(rig: Rig, timeout: float | None) -> None:
    async def servicer(request: Any, context: Any) -> Any:
        rig.seen.append(current().deadline)
        await asyncio.sleep(0.5 if timeout is None else 0)
        return OK

    rig.serve(servicer)
    if timeout is not None:
        # A longer deadline of the caller is honoured.
        assert (await outcome(rig.call(timeout=timeout)))["code"] is StatusCode.OK
        return
    got, details = await failure(rig, timeout=None)
    assert got["code"] is StatusCode.DEADLINE_EXCEEDED
    assert details["ErrorInfo"].reason == "DEADLINE_EXCEEDED"
    assert "getBalance" in got["details"]


async def test_a_timeout_inside_is_not_taken_for_the_deadline(rig: Rig) -> None:
    async def servicer(request: Any, context: Any) -> Any:
        raise TimeoutError

    rig.serve(servicer)
    got, _ = await failure(rig, timeout=None)
    assert got["code"] is StatusCode.INTERNAL


async def test_an_answer_too_large_says_so(rig: Rig) -> None:
    async def servicer(request: Any, context: Any) -> Any:
        return GetBalanceResponse(token="a" * 1001)

    rig.serve(servicer)
    got, details = await failure(rig)
    assert got["code"] is StatusCode.OUT_OF_RANGE
    assert details["ErrorInfo"].reason == "RESPONSE_TOO_LARGE"


async def test_garbage_is_the_callers_mistake(rig: Rig) -> None:
    call = rig.method(request_serializer=None)(b"\xff\xff", timeout=5)
    got = await outcome(call)
    assert got["code"] is StatusCode.INVALID_ARGUMENT
    assert "getBalance" in got["details"]


async def test_a_response_of_no_message_is_internal(rig: Rig) -> None:
    async def servicer(request: Any, context: Any) -> Any:
        return GetBalanceRequest

    rig.serve(servicer)
    got, _ = await failure(rig)
    assert got["code"] is StatusCode.INTERNAL


async def test_internal_services_do_not_exist_here(rig: Rig) -> None:
    call = rig.channel.unary_unary("/waypost_internal.v1.AccessService/Admit")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(b"", timeout=5)
    assert caught.value.code() is StatusCode.UNIMPLEMENTED


async def test_a_defect_that_two_calls_meet_is_logged_whole_for_each(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    async def stumble() -> None:
        await asyncio.sleep(0.02)
        try:
            raise KeyError("beneath")
        except KeyError as cause:
            raise ValueError("on top") from cause

    shared = asyncio.create_task(stumble())

    async def servicer(request: Any, context: Any) -> Any:
        await asyncio.shield(shared)

    rig.serve(servicer)
    for got, _ in await asyncio.gather(failure(rig), failure(rig)):
        assert got["code"] is StatusCode.INTERNAL
    lines = [record.getMessage() for record in caplog.records if "unexpected failure" in record.getMessage()]
    assert len(lines) == 2
    assert all("KeyError" in line and "ValueError" in line and "in stumble" in line for line in lines)


class Blob:
    """What a servicer has read when it fails."""


@pytest.mark.parametrize("error", [NotFound("gone"), ValueError("a defect"), asyncio.CancelledError()], ids=repr)
async def test_what_a_call_has_read_goes_with_its_failure(rig: Rig, error: BaseException) -> None:
    async def servicer(request: Any, context: Any) -> Any:
        read = Blob()
        rig.seen.append(weakref.ref(read))
        try:
            raise KeyError("beneath")
        except KeyError as cause:
            raise copy.copy(error) from cause

    rig.serve(servicer)
    gc.collect()
    gc.disable()
    try:
        await failure(rig)
        async with asyncio.timeout(5):
            while rig.seen[0]() is not None:  # noqa: ASYNC110  # the server lets go of the call in its own time
                await asyncio.sleep(0.01)
    finally:
        gc.enable()
