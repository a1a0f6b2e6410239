"""The service config does what it says: channels of gRPC's own that are made with it, against a whole gateway."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from grpc import StatusCode
from waypost.v1.account_pb2 import GetBalanceRequest, GetBalanceResponse
from waypost.v1.account_pb2_grpc import AccountServiceStub

from runtime.operations import load_operations, load_watches
from runtime.settings import GrpcSettings, Settings, StorageSettings
from scripts.service_config import FILES, main
from server.app import Gateway
from server.errors import InvalidArgument, PriceUnavailable, RateLimited, TooMuchWork, UpstreamUnavailable
from tests.server.accounts import Accounts, stub_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from server.errors import GatewayError

REQUEST = GetBalanceRequest(chain="ethereum", address="0x" + "ab" * 20)
ATTEMPTS = 5


def test_the_file_is_current() -> None:
    assert main(check=True) == 0, "run `make generate`"


def test_deadlines_are_those_of_the_operations() -> None:
    config = json.loads(FILES[0].read_text())
    usual, *others = config["methodConfig"]
    assert usual["name"] == [{}]
    by_method = {f"/{name['service']}/{name['method']}": one for one in others for name in one["name"]}
    for operation in load_operations():
        entry = by_method.get(operation.path, usual)
        assert entry["timeout"] == f"{operation.deadline:g}s", operation.name
        assert ("maxResponseMessageBytes" in entry) == operation.options.large_response, operation.name
    assert by_method["/waypost.v1.BatchService/Execute"]["timeout"] == "60s"
    assert by_method["/waypost.v1.BatchService/Execute"]["maxResponseMessageBytes"] == 64 << 20
    assert all(by_method[watch.path].keys() == {"name"} for watch in load_watches())


@pytest.fixture
async def stub(tmp_path: Path) -> AsyncIterator[Any]:
    settings = Settings(
        profile="devnet",
        storage=StorageSettings.model_validate({"url": f"sqlite:///{tmp_path}/waypost.db"}),
        grpc=GrpcSettings(port=0),
    )
    gateway = await Gateway.create(settings, servicers=(Accounts(),))
    options = (("grpc.service_config", FILES[0].read_text()),)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await gateway.start()}", options=options) as channel:
        yield stub_of(AccountServiceStub, channel)
    await gateway.drain(0)


def fail(times: int, failure: GatewayError) -> None:
    """Have the servicer fail so many times, then answer."""

    async def answer(request: Any, context: Any) -> GetBalanceResponse:
        if len(Accounts.principals) <= times:
            raise failure
        return GetBalanceResponse(token="answered")

    Accounts.answer = answer


async def asked(stub: Any) -> str:
    """Return what the call came to: its answer, or the code that it ended with."""
    try:
        answer = await stub.GetBalance(REQUEST, metadata=(("x-api-key", "local"),))
    except grpc.aio.AioRpcError as error:
        return str(error.code().name)
    return str(answer.token)


@pytest.mark.parametrize("times", range(ATTEMPTS))
async def test_what_passes_soon_is_tried_again(stub: Any, times: int) -> None:
    fail(times, UpstreamUnavailable("soon", retry_after_ms=1))
    assert await asked(stub) == "answered"
    assert len(Accounts.principals) == times + 1


async def test_five_attempts_are_the_most(stub: Any) -> None:
    fail(ATTEMPTS, PriceUnavailable("soon", retry_after_ms=1))
    assert await asked(stub) == StatusCode.UNAVAILABLE.name
    assert len(Accounts.principals) == ATTEMPTS


@pytest.mark.parametrize(
    "failure",
    [
        # Not before the deadline of the call, and not within what a caller waits for unasked.
        UpstreamUnavailable("late", retry_after_ms=60_000),
        TooMuchWork("the same again would be as much", retry_after_ms=1),
        # The application waits for its quota.
        RateLimited("the quota is used up", retry_after_ms=1),
        InvalidArgument("wrong"),
    ],
    ids=lambda failure: type(failure).__name__,
)
async def test_nothing_else_is_tried_again(stub: Any, failure: GatewayError) -> None:
    fail(1, failure)
    assert await asked(stub) == failure.status.name
    assert len(Accounts.principals) == 1
