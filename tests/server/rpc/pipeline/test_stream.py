"""What streams pass on their way, over both transports: checks, admission, charges, limits, and how they end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from waypost.v1.stream_pb2 import WatchBlocksRequest, WatchBlocksResponse

from runtime.operations import load_watches
from runtime.settings import StreamSettings
from server.access.admission import Admission, ConcurrencyLimiter, Policy
from server.access.directory import KeyDirectory
from server.access.keys import KeyStore
from server.access.quotas import Quotas
from server.access.usage import Usage
from server.errors import CursorTooOld, SlowConsumer
from server.rpc.pipeline import open_streams
from server.rpc.pipeline.admission import AdmissionStage
from server.rpc.pipeline.boundary import CallBoundary
from server.rpc.pipeline.call import current, open_view
from server.rpc.pipeline.interceptor import StagesInterceptor, build_execution
from server.rpc.pipeline.open_streams import OpenStreams
from server.rpc.pipeline.stream import charge
from server.storage.database import open_database
from server.streams.events import Event
from tests.server.inprocess.rig import TRANSPORTS, WATCH

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.server.inprocess.rig import Rig

pytestmark = pytest.mark.parametrize("transport", TRANSPORTS)


class Gateway:
    """A rig with all that streams need, keys in a database of its own included."""

    def __init__(self, rig: Rig, keys: KeyStore, streams: OpenStreams, usage: Usage, quotas: Quotas) -> None:
        self.rig, self.keys, self.streams, self.usage, self.quotas = rig, keys, streams, usage, quotas
        self.now = 0

    def watch(self, key: str = "local", request: Any = None, **options: Any) -> Any:
        metadata = (("x-api-key", key), *options.pop("metadata", ()))
        return self.rig.watch(request, metadata=metadata, **options)


@pytest.fixture
async def gateway(
    transport: str, families: dict[str, str], tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Gateway]:
    limits = StreamSettings(**getattr(request, "param", {}))
    engine = await open_database(f"sqlite+aiosqlite:///{tmp_path / 'keys.db'}", "devnet")
    keys, usage = KeyStore(engine), Usage()
    directory = KeyDirectory(keys)
    quotas = Quotas()
    admission = Admission(
        directory,
        quotas,
        ConcurrencyLimiter(1),
        accepts_local=True,
        default=Policy("default", 1000, 1000),
        demo=Policy("demo", 1, 1),
    )
    streams = OpenStreams(limits, admission, usage)
    [operation] = [one for one in load_watches() if one.path == WATCH]
    operations = {WATCH: replace(operation, available=operation.families)}
    boundary = CallBoundary(None, AdmissionStage(admission, None, usage), usage)
    execution = build_execution(families, admission, None, streams)
    interceptor = StagesInterceptor(boundary, execution, operations, private=False)
    async with TRANSPORTS[transport](interceptor) as rig:
        yield Gateway(rig, keys, streams, usage, quotas)
    await streams.close()
    await directory.close()
    await engine.dispose()


def event(number: int) -> Event:
    return Event(WatchBlocksResponse(block_number=number).SerializeToString(), f"after {number}")


async def numbered(request: Any, context: Any) -> AsyncIterator[Event]:
    for number in range(5):
        yield event(number)


async def endless(request: Any, context: Any) -> AsyncIterator[Event]:
    yield event(0)
    await asyncio.sleep(60)


async def ended(call: Any) -> tuple[list[int], StatusCode, str, dict[str, str]]:
    """Return the numbers of a stream's events, and its status with reason and facts."""
    numbers: list[int] = []
    try:
        async for received in call:
            numbers.append(received.block_number)
    except grpc.aio.AioRpcError as error:
        return numbers, error.code(), *facts_of(error)
    return numbers, await call.code(), "", {}


def facts_of(error: grpc.aio.AioRpcError) -> tuple[str, dict[str, str]]:
    status = status_pb2.Status.FromString(dict(error.trailing_metadata() or ())["grpc-status-details-bin"])
    kind = error_details_pb2.ErrorInfo
    [info] = [kind.FromString(one.value) for one in status.details if one.Is(kind.DESCRIPTOR)]
    return info.reason, dict(info.metadata)


async def trailing(call: Any) -> dict[str, Any]:
    return dict(await call.trailing_metadata())


async def test_a_stream_is_sent_as_its_servicer_yields_it(gateway: Gateway) -> None:
    gateway.rig.serve(numbered)
    call = gateway.watch(metadata=(("x-request-id", "mine"),))
    assert await ended(call) == ([0, 1, 2, 3, 4], StatusCode.OK, "", {})
    metadata = await trailing(call)
    assert (metadata["x-request-id"], metadata["x-waypost-cost"]) == ("mine", "1")
    assert len(gateway.streams) == 0


@pytest.mark.parametrize(
    ("request_", "reason", "field"),
    [
        (WatchBlocksRequest(), "INVALID_ARGUMENT", "chain is required"),
        (WatchBlocksRequest(chain="atlantis"), "CHAIN_UNKNOWN", "atlantis"),
        (WatchBlocksRequest(chain="ethereum", cursor="a" * 2049), "INVALID_ARGUMENT", "cursor has 2049"),
    ],
    ids=["missing", "unknown", "long"],
)
async def test_a_request_is_checked_before_its_stream_opens(
    gateway: Gateway, request_: Any, reason: str, field: str
) -> None:
    gateway.rig.serve(numbered)
    call = gateway.watch(request=request_)
    numbers, _, got, facts = await ended(call)
    assert (numbers, got, facts) == ([], reason, {})
    assert field in await call.details()


async def test_a_stream_needs_a_key(gateway: Gateway) -> None:
    gateway.rig.serve(numbered)
    assert (await ended(gateway.rig.watch()))[1:3] == (StatusCode.UNAUTHENTICATED, "KEY_MISSING")
    assert (await ended(gateway.watch("wp_" + "a" * 43)))[2] == "KEY_INVALID"


async def test_streams_are_no_items_in_flight(gateway: Gateway) -> None:
    gateway.rig.serve(endless)
    # One call may be in flight here.
    calls = [gateway.watch(timeout=None) for _ in range(5)]
    assert [(await call.read()).block_number for call in calls] == [0] * 5
    assert len(gateway.streams) == 5
    for call in calls:
        call.cancel()
    async with asyncio.timeout(5):
        while len(gateway.streams):  # noqa: ASYNC110  # a socket brings it in its own time
            await asyncio.sleep(0.01)


async def test_an_error_carries_the_cursor_of_the_last_event(gateway: Gateway) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        yield event(0)
        yield event(1)
        raise SlowConsumer("too slow")

    gateway.rig.serve(servicer)
    got = await ended(gateway.watch())
    assert got == ([0, 1], StatusCode.RESOURCE_EXHAUSTED, "SLOW_CONSUMER", {"cursor": "after 1"})


async def test_an_error_before_any_event_carries_the_cursor_of_the_request(gateway: Gateway) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        if request.cursor == "old":
            raise CursorTooOld("too old", field="cursor", oldest_block=7)
        if request.cursor:
            raise ValueError("a defect")
        yield event(0)

    gateway.rig.serve(servicer)
    got = await ended(gateway.watch(request=WatchBlocksRequest(chain="ethereum", cursor="here")))
    assert got == ([], StatusCode.INTERNAL, "INTERNAL", {"cursor": "here"})
    got = await ended(gateway.watch(request=WatchBlocksRequest(chain="ethereum", cursor="old")))
    assert got == ([], StatusCode.OUT_OF_RANGE, "CURSOR_TOO_OLD", {"oldestBlock": "7"})


async def test_a_long_cursor_and_message_fit_into_the_headers(gateway: Gateway) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        yield Event(b"", "c" * 2048)
        raise SlowConsumer("…" * 2000, field="f")

    gateway.rig.serve(servicer)
    call = gateway.watch()
    assert (await ended(call))[3] == {"cursor": "c" * 2048}


async def test_a_hundred_events_cost_a_unit(gateway: Gateway) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        await charge(7)
        for number in range(int(request.cursor)):
            yield event(number)

    gateway.rig.serve(servicer)
    number, key = await gateway.keys.create_key("one")
    costs = {}
    for events in (1, 100, 101, 201):
        call = gateway.watch(key, WatchBlocksRequest(chain="ethereum", cursor=str(events)))
        assert len((await ended(call))[0]) == events
        costs[events] = (await trailing(call))["x-waypost-cost"]
    assert costs == {1: "8", 100: "8", 101: "9", 201: "10"}
    tally = gateway.usage.of(f"key:{number}", "watchBlocks", "ethereum")
    assert (tally.requests, tally.items, tally.units, tally.errors) == (4, 4, 35, None)


async def test_without_quota_a_stream_is_refused_at_once(gateway: Gateway) -> None:
    gateway.rig.serve(numbered)
    _, key = await gateway.keys.create_key("one", rate=0.01, burst=1)
    assert (await ended(gateway.watch(key)))[1] is StatusCode.OK
    assert (await ended(gateway.watch(key)))[:3] == ([], StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")


async def test_without_quota_a_stream_pauses_and_ends_with_its_cursor(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        yield event(0)
        # At 20 a second these are there within the pause, and the next are not.
        await charge(4)
        yield event(1)
        await charge(1000)
        yield event(2)

    monkeypatch.setattr(open_streams, "LONGEST_PAUSE_SECONDS", 0.5)
    gateway.rig.serve(servicer)
    _, key = await gateway.keys.create_key("one", rate=20, burst=1)
    got = await ended(gateway.watch(key))
    assert got == ([0, 1], StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED", {"cursor": "after 1"})


@pytest.mark.parametrize("gateway", [{"max_streams_per_key": 2}], indirect=True)
async def test_a_key_has_so_many_streams(gateway: Gateway) -> None:
    gateway.rig.serve(endless)
    _, key = await gateway.keys.create_key("one")
    _, other = await gateway.keys.create_key("other")
    calls = [gateway.watch(key, timeout=None) for _ in range(2)]
    for call in calls:
        await call.read()
    assert (await ended(gateway.watch(key)))[:3] == ([], StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
    assert (await gateway.watch(other).read()).block_number == 0
    calls[0].cancel()
    async with asyncio.timeout(5):
        while len(gateway.streams) > 2:  # noqa: ASYNC110  # a socket brings it in its own time
            await asyncio.sleep(0.01)
    assert (await gateway.watch(key).read()).block_number == 0


@pytest.mark.parametrize("gateway", [{"max_streams": 2}], indirect=True)
async def test_a_process_has_so_many_streams(gateway: Gateway) -> None:
    gateway.rig.serve(endless)
    for _ in range(2):
        await gateway.watch().read()
    assert (await ended(gateway.watch()))[:3] == ([], StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE")


async def test_a_stopping_gateway_ends_its_streams_and_opens_none(gateway: Gateway) -> None:
    gateway.rig.serve(endless)
    call = gateway.watch(timeout=None)
    assert (await call.read()).block_number == 0
    gateway.streams.end()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read()
    assert caught.value.code() is StatusCode.UNAVAILABLE
    status = status_pb2.Status.FromString(dict(caught.value.trailing_metadata() or ())["grpc-status-details-bin"])
    kinds = {one.TypeName().rpartition(".")[2] for one in status.details}
    assert kinds == {"ErrorInfo", "RetryInfo", "RequestInfo"}
    assert b"after 0" in status.SerializeToString()
    assert (await ended(gateway.watch()))[:3] == ([], StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE")


@pytest.mark.parametrize(
    ("change", "reason"),
    [("revoke", "KEY_INVALID"), ("operations", "KEY_NOT_ALLOWED"), ("chains", "KEY_NOT_ALLOWED"), ("quota", "")],
)
async def test_a_key_that_may_no_more_ends_its_streams(gateway: Gateway, change: str, reason: str) -> None:
    gateway.rig.serve(endless)
    number, key = await gateway.keys.create_key("one")
    call = gateway.watch(key, timeout=None)
    assert (await call.read()).block_number == 0
    if change == "revoke":
        await gateway.keys.revoke_key(number)
    elif change == "operations":
        await gateway.keys.set_key(number, operations=["watchLogs"])
    elif change == "chains":
        await gateway.keys.set_key(number, chains=["base"])
    else:
        await gateway.keys.set_key(number, rate=7, operations=["watchBlocks"], chains=["ethereum"])
    if not reason:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(call.read())), 4)
        return
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asyncio.wait_for(call.read(), 5)
    packed = dict(caught.value.trailing_metadata() or ())["grpc-status-details-bin"]
    assert reason.encode() in packed
    assert b"after 0" in packed


async def test_a_view_of_a_stream_ends_in_time(gateway: Gateway) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        gateway.rig.seen.append((current().deadline, open_view().deadline is not None))
        yield event(0)

    gateway.rig.serve(servicer)
    await ended(gateway.watch(timeout=None))
    assert gateway.rig.seen == [(None, True)]
