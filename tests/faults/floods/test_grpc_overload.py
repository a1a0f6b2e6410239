"""Calls that the gateway has no room for are refused, over gRPC as over HTTP: UNAVAILABLE, why, and when to return."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from pydantic import SecretStr
from waypost.v1.account_pb2 import GetBalanceRequest, GetBalanceResponse
from waypost.v1.account_pb2_grpc import AccountServiceStub

from runtime.settings import GrpcSettings, Settings, StorageSettings
from server.app import Gateway
from server.rpc.pipeline.call import RequestState
from tests.server.accounts import Accounts, stub_of

if TYPE_CHECKING:
    from pathlib import Path

KEY = (("x-api-key", "local"),)
CHANNELS, CALLS_OF_ONE = 45, 100
ROOM = 2000
REQUEST = GetBalanceRequest(chain="ethereum", address="0x" + "ab" * 20)


def refusal_of(error: grpc.aio.AioRpcError) -> tuple[str, str, int]:
    """Return status, reason and milliseconds to wait of a failure; empty and 0 where it states none."""
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    packed = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    for detail in status_pb2.Status.FromString(packed).details:
        detail.Unpack(info)
        detail.Unpack(retry)
    return error.code().name, info.reason, retry.retry_delay.ToMilliseconds()


async def test_a_burst_of_calls_is_answered_or_refused_with_a_delay(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def wait(request: Any, context: Any) -> Any:
        await release.wait()
        return GetBalanceResponse()

    settings = Settings(
        profile="devnet",
        storage=StorageSettings(url=SecretStr(f"sqlite:///{tmp_path}/waypost.db")),
        grpc=GrpcSettings(port=0),
    )
    assert settings.server_limits.max_in_flight == ROOM
    async with AsyncExitStack() as stack:
        gateway = await Gateway.create(settings, servicers=(Accounts(),))
        stack.push_async_callback(gateway.drain, 0)
        port = await gateway.start()
        Accounts.answer = wait
        outcomes: Counter[Any] = Counter()

        async def ask(stub: Any) -> None:
            try:
                await stub.GetBalance(REQUEST, metadata=KEY, timeout=120)
                outcomes["answered"] += 1
            except grpc.aio.AioRpcError as error:
                outcomes[refusal_of(error)] += 1

        stubs = []
        for _ in range(CHANNELS):
            # Connections of their own: channels to one address share one otherwise.
            channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}", (("grpc.use_local_subchannel_pool", 1),))
            await stack.enter_async_context(channel)
            await channel.channel_ready()
            stubs.append(stub_of(AccountServiceStub, channel))
        calls = [asyncio.create_task(ask(stub)) for stub in stubs for _ in range(CALLS_OF_ONE)]
        total = CHANNELS * CALLS_OF_ONE
        async with asyncio.timeout(120):
            while outcomes.total() < total - ROOM:  # noqa: ASYNC110  # refused at once, all but those that there is room for
                await asyncio.sleep(0.05)
        release.set()
        await asyncio.gather(*calls)
    assert outcomes == {"answered": ROOM, ("UNAVAILABLE", "UPSTREAM_UNAVAILABLE", 1000): total - ROOM}


@pytest.mark.parametrize("metadata", [(), (("x-api-key", "wp_" + "a" * 43),)], ids=["no key", "unknown key"])
async def test_a_refused_call_leaves_nothing_to_the_garbage_collector(tmp_path: Path, metadata: Any) -> None:
    """What would wait for it is the whole call, with the buffer that its headers came in."""

    def held() -> int:
        return sum(type(one) is RequestState for one in gc.get_objects())

    settings = Settings(
        profile="devnet",
        storage=StorageSettings(url=SecretStr(f"sqlite:///{tmp_path}/waypost.db")),
        grpc=GrpcSettings(port=0),
    )
    async with AsyncExitStack() as stack:
        gateway = await Gateway.create(settings, servicers=(Accounts(),))
        stack.push_async_callback(gateway.drain, 0)
        port = await gateway.start()
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{port}"))
        stub = stub_of(AccountServiceStub, channel)
        gc.collect()
        before = held()
        gc.disable()
        try:
            for _ in range(50):
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await stub.GetBalance(REQUEST, metadata=metadata)
                assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
            async with asyncio.timeout(10):
                while held() > before:  # noqa: ASYNC110  # the server lets go of a call in its own time
                    await asyncio.sleep(0.05)
        finally:
            gc.enable()
