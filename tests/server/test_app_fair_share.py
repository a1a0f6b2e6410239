"""One key beside others, over both faces: alone it has the process, together each has its part."""

from __future__ import annotations

import asyncio
from copy import copy
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from waypost.v1.account_pb2 import GetBalanceRequest, GetBalanceResponse
from waypost.v1.account_pb2_grpc import AccountServiceStub

from runtime.settings import HttpSettings, ServerLimits, Settings
from server.errors import NotFound
from tests.server.accounts import Accounts, stub_of
from tests.serving import serve_face

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from server.app import Gateway

    Ask = Callable[[str], Awaitable[str]]

LIMIT = 20
CHAIN, WALLET = "ethereum", "0x" + "ab" * 20
BODY = {"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": {"chain": CHAIN, "address": WALLET}}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"server_limits": ServerLimits(max_in_flight=LIMIT)})


@pytest.fixture(params=["grpc", "json"])
async def ask(request: pytest.FixtureRequest, gateway: Gateway) -> AsyncIterator[Ask]:
    """Ask for a balance with a key; returns `OK`, or reason and milliseconds to wait."""
    if request.param == "json":
        face = serve_face(gateway.channel(), HttpSettings(max_in_flight=LIMIT))
        connector = aiohttp.TCPConnector(limit=0)
        async with face as url, aiohttp.ClientSession(connector=connector) as session:

            async def post(key: str) -> str:
                async with session.post(f"{url}/{key}/v1", json=BODY) as response:
                    answer = await response.json()
                    if "result" in answer:
                        return "OK"
                    data = answer["error"]["data"]
                    wait = data.get("retryAfterMs", 0)
                    assert ("Retry-After" in response.headers) is (wait > 0)
                    return f"{data['reason']} {wait}"

            yield post
        return
    async with grpc.aio.insecure_channel(f"127.0.0.1:{await gateway.start()}") as channel:
        stub = stub_of(AccountServiceStub, channel)

        async def call(key: str) -> str:
            try:
                await stub.GetBalance(
                    GetBalanceRequest(chain=CHAIN, address=WALLET), metadata=(("x-api-key", key),), timeout=60
                )
            except grpc.aio.AioRpcError as error:
                info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
                packed = dict(error.trailing_metadata() or ())["grpc-status-details-bin"]
                for detail in status_pb2.Status.FromString(packed).details:  # type: ignore[arg-type]
                    detail.Unpack(info)
                    detail.Unpack(retry)
                return f"{info.reason} {retry.retry_delay.ToMilliseconds()}"
            return "OK"

        yield call


class Held:
    """Calls that the servicer answers when they are released."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.failure: Exception | None = None
        self.tasks: list[asyncio.Task[str]] = []

    async def answer(self, request: Any, context: Any) -> Any:
        await self.release.wait()
        if self.failure is not None:
            raise copy(self.failure)
        return GetBalanceResponse(chain=request.chain)

    async def add(self, ask: Ask, key: str, calls: int) -> None:
        """Hold so many more calls of the key; returns when all of them are in progress."""
        wanted = len(Accounts.principals) + calls
        self.tasks += [asyncio.create_task(ask(key)) for _ in range(calls)]
        async with asyncio.timeout(10):
            while len(Accounts.principals) < wanted:  # noqa: ASYNC110  # the servicer knows nothing of the test's loop
                await asyncio.sleep(0.01)


async def test_a_key_has_the_process_alone_and_its_part_beside_others(ask: Ask, gateway: Gateway) -> None:
    held, limiter = Held(), gateway._admission.limiter
    Accounts.answer = held.answer
    one, two, three = [(await gateway.keys.create_key(name, 1000, 1000))[1] for name in "abc"]
    await held.add(ask, one, LIMIT)
    assert await ask(one) == "UPSTREAM_UNAVAILABLE 1000"
    await held.add(ask, two, 4)
    assert await ask(two) == "UPSTREAM_UNAVAILABLE 1000"
    assert await ask(one) == "RATE_LIMITED 250"
    await held.add(ask, three, 1)
    assert limiter.total == LIMIT + 5
    held.release.set()
    assert set(await asyncio.gather(*held.tasks)) == {"OK"}
    assert limiter.total == 0
    assert await ask(one) == "OK"


@pytest.mark.parametrize("ending", ["cancelled", "failed"])
async def test_places_come_back_however_calls_end(ask: Ask, gateway: Gateway, ending: str) -> None:
    held, limiter = Held(), gateway._admission.limiter
    Accounts.answer = held.answer
    _, key = await gateway.keys.create_key("a", 1000, 1000)
    await held.add(ask, key, LIMIT)
    if ending == "cancelled":
        for task in held.tasks:
            task.cancel()
        await asyncio.gather(*held.tasks, return_exceptions=True)
    else:
        held.failure = NotFound("there is none")
        held.release.set()
        assert set(await asyncio.gather(*held.tasks)) == {"NOT_FOUND 0"}
    async with asyncio.timeout(10):
        while limiter.total:  # noqa: ASYNC110  # the server learns of a cancelled call in its own time
            await asyncio.sleep(0.01)
    again = Held()
    Accounts.answer = again.answer
    await again.add(ask, key, LIMIT)
    again.release.set()
    assert await asyncio.gather(*again.tasks) == ["OK"] * LIMIT
