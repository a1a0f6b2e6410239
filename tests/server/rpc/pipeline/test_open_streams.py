"""How many streams there may be, and what ends one from outside."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.rpc import status_pb2
from grpc import StatusCode
from waypost.v1.stream_pb2 import WatchBlocksResponse

from runtime.config_errors import ConfigError
from runtime.settings import StreamSettings, load_settings
from server.rpc.pipeline import open_streams
from server.streams.events import Event
from tests.server.inprocess.rig import TRANSPORTS
from tests.server.rpc.pipeline.watching import ended, endless

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.server.rpc.pipeline.watching import Watching

on_both = pytest.mark.parametrize("transport", TRANSPORTS)


@on_both
@pytest.mark.parametrize("watching", [{"max_streams_per_key": 2}], indirect=True)
async def test_a_key_has_so_many_streams(watching: Watching) -> None:
    watching.rig.serve(endless)
    _, key = await watching.keys.create_key("one")
    _, other = await watching.keys.create_key("other")
    calls = [watching.watch(key, timeout=None) for _ in range(2)]
    for call in calls:
        await call.read()
    assert (await ended(watching.watch(key)))[:3] == ([], StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
    assert (await watching.watch(other).read()).block_number == 0
    calls[0].cancel()
    await watching.until_open(2)
    assert (await watching.watch(key).read()).block_number == 0


@on_both
@pytest.mark.parametrize("watching", [{"max_streams": 2}], indirect=True)
async def test_a_process_has_so_many_streams(watching: Watching) -> None:
    watching.rig.serve(endless)
    for _ in range(2):
        await watching.watch().read()
    assert (await ended(watching.watch()))[:3] == ([], StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE")


@on_both
async def test_a_stopping_gateway_ends_its_streams_and_opens_none(watching: Watching) -> None:
    watching.rig.serve(endless)
    call = watching.watch(timeout=None)
    assert (await call.read()).block_number == 0
    watching.streams.end()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read()
    assert caught.value.code() is StatusCode.UNAVAILABLE
    status = status_pb2.Status.FromString(dict(caught.value.trailing_metadata() or ())["grpc-status-details-bin"])
    kinds = {one.TypeName().rpartition(".")[2] for one in status.details}
    assert kinds == {"ErrorInfo", "RetryInfo", "RequestInfo"}
    assert b"after 0" in status.SerializeToString()
    assert (await ended(watching.watch()))[:3] == ([], StatusCode.UNAVAILABLE, "UPSTREAM_UNAVAILABLE")


@on_both
@pytest.mark.parametrize(
    ("change", "reason"),
    [("revoke", "KEY_INVALID"), ("operations", "KEY_NOT_ALLOWED"), ("chains", "KEY_NOT_ALLOWED"), ("quota", "")],
)
async def test_a_key_that_may_no_more_ends_its_streams(watching: Watching, change: str, reason: str) -> None:
    watching.rig.serve(endless)
    number, key = await watching.keys.create_key("one")
    call = watching.watch(key, timeout=None)
    assert (await call.read()).block_number == 0
    if change == "revoke":
        await watching.keys.revoke_key(number)
    elif change == "operations":
        await watching.keys.set_key(number, operations=["watchLogs"])
    elif change == "chains":
        await watching.keys.set_key(number, chains=["base"])
    else:
        await watching.keys.set_key(number, rate=7, operations=["watchBlocks"], chains=["ethereum"])
    if not reason:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(call.read())), 4)
        return
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asyncio.wait_for(call.read(), 5)
    packed = dict(caught.value.trailing_metadata() or ())["grpc-status-details-bin"]
    assert reason.encode() in packed
    assert b"after 0" in packed


@on_both
async def test_an_expired_key_ends_its_streams(watching: Watching) -> None:
    watching.rig.serve(endless)
    _, key = await watching.keys.create_key("one", expires_at=datetime.now(UTC) + timedelta(seconds=2))
    call = watching.watch(key, timeout=None)
    assert (await call.read()).block_number == 0
    with pytest.raises(grpc.aio.AioRpcError, match="expired"):
        await asyncio.wait_for(call.read(), 7)


@on_both
async def test_a_reader_that_takes_nothing_is_let_go(watching: Watching, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = asyncio.Event()

    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        try:
            while True:
                yield Event(WatchBlocksResponse(cursor="a" * 65536).SerializeToString(), "here")
        finally:
            stopped.set()

    monkeypatch.setattr(open_streams, "STUCK_SECONDS", 0.5)
    watching.rig.serve(servicer)
    call = watching.watch(timeout=None)
    await asyncio.wait_for(stopped.wait(), 10)
    assert len(watching.streams) == 0
    # In process the event that was not taken is the first.
    cursor = {"cursor": "here"} if len((got := await ended(call))[0]) > 1 else {}
    assert got[1:] == (StatusCode.RESOURCE_EXHAUSTED, "SLOW_CONSUMER", cursor)


@pytest.mark.parametrize("transport", ["socket"])
async def test_a_reader_that_takes_nothing_and_leaves_is_no_defect(
    watching: Watching, caplog: pytest.LogCaptureFixture
) -> None:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Event]:
        while True:
            yield Event(WatchBlocksResponse(cursor="a" * 65536).SerializeToString(), "here")

    watching.rig.serve(servicer)
    call = watching.watch(timeout=None)
    await watching.until_open(1)
    # Its window fills.
    await asyncio.sleep(0.5)
    watching.streams.end()
    await watching.until_open(0)
    call.cancel()
    await asyncio.sleep(0.2)
    assert [record for record in caplog.records if record.name.startswith("grpc")] == []


@pytest.mark.parametrize("transport", ["in process"])
async def test_other_limits_hold_for_streams_that_come(watching: Watching) -> None:
    watching.rig.serve(endless)
    _, key = await watching.keys.create_key("one")
    await watching.watch(key, timeout=None).read()
    watching.streams.limit(StreamSettings(max_streams_per_key=1))
    assert (await ended(watching.watch(key)))[2] == "RATE_LIMITED"
    assert len(watching.streams) == 1


def test_a_key_cannot_have_more_streams_than_the_process(tmp_path: Path) -> None:
    file = tmp_path / "waypost.toml"
    file.write_text("[streams]\nmax_streams = 5\nmax_streams_per_key = 6\n")
    with pytest.raises(ConfigError, match="max_streams_per_key"):
        load_settings(file)
