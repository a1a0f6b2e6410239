"""A whole gateway's streams over HTTP, with the transcoder in its process and behind its private listener."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest
from waypost.v1 import stream_pb2_grpc
from waypost.v1.stream_pb2 import EVENT_KIND_ADDED, WatchBlocksResponse

from runtime.operations import load_watches
from runtime.settings import QuotaSettings, Settings, StreamSettings
from server import app
from server.app import Gateway
from server.streams.events import Event
from tests.server.accounts import CREDENTIAL, Accounts
from tests.serving import serve_face

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.slow

QUERY = "v1/stream/watchBlocks?chain=ethereum"
SUBSCRIBE = {"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": ["watchBlocks", {"chain": "ethereum"}]}


class Blocks(stream_pb2_grpc.StreamServiceServicer):
    """Sends one event and goes on watching."""

    async def WatchBlocks(self, request: Any, context: Any) -> AsyncIterator[Event]:
        event = WatchBlocksResponse(cursor="after 7", kind=EVENT_KIND_ADDED, block_number=7)
        yield Event(event.SerializeToString(), "after 7")
        await asyncio.sleep(3600)


@pytest.fixture
async def gateway(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gateway]:
    """A gateway that has WatchBlocks; its demo has streams of two seconds."""
    has_blocks = [replace(one, available=one.families) for one in load_watches() if one.name == "watchBlocks"]
    monkeypatch.setattr(app, "load_watches", lambda: tuple(has_blocks))
    quotas = QuotaSettings(demo_rate=10, demo_burst=10)
    changed = settings.model_copy(update={"quotas": quotas, "streams": StreamSettings(demo_lifetime=2)})
    gateway = await Gateway.create(changed, servicers=(Accounts(), Blocks()))
    yield gateway
    await gateway.drain(0)


@pytest.fixture(params=["in process", "private"])
async def url(gateway: Gateway, settings: Settings, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """The face, where it stands."""
    if request.param == "in process":
        async with serve_face(gateway.channel(), settings.http) as url:
            yield url
        return
    await gateway.start()
    assert settings.grpc.private_listen
    options = (("grpc.default_authority", "localhost"),)
    async with (
        grpc.aio.insecure_channel(settings.grpc.private_listen, options=options) as channel,
        serve_face(channel, settings.http, CREDENTIAL) as url,
    ):
        yield url


class Reading:
    """An event stream and a socket with a subscription, both after their first event."""

    def __init__(self, response: aiohttp.ClientResponse, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._response = response
        self.socket = socket

    async def event(self) -> tuple[str, Any]:
        """Return kind and data of the event stream's next event."""
        kind = ""
        async with asyncio.timeout(10):
            async for line in self._response.content:
                name, _, value = line.decode().strip().partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    return kind, json.loads(value)
        raise AssertionError("the stream is over")

    async def message(self) -> Any:
        """Return the socket's next message."""
        return json.loads(await self.socket.receive_str(timeout=10))


@asynccontextmanager
async def reading(url: str, key: str) -> AsyncIterator[Reading]:
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{url}/{key}/v1/ws") as socket,
        session.get(f"{url}/{key}/{QUERY}") as response,
    ):
        assert response.status == 200, await response.text()
        both = Reading(response, socket)
        kind, data = await both.event()
        assert (kind, data["blockNumber"], data["cursor"]) == ("ADDED", 7, "after 7")
        await socket.send_json(SUBSCRIBE)
        name = (await both.message())["result"]
        params = (await both.message())["params"]
        assert params == {"subscription": name, "cursor": "after 7", "event": data}
        yield both


async def test_streams_end_with_their_key(url: str, gateway: Gateway) -> None:
    number, key = await gateway.keys.create_key("one")
    async with reading(url, key) as both:
        await gateway.keys.revoke_key(number)
        kind, data = await both.event()
        error = (await both.message())["params"]["error"]
        for found in (data["error"], error):
            assert (found["code"], found["data"]["reason"]) == (401, "KEY_INVALID")
            assert found["data"]["cursor"] == "after 7"
        assert kind == "error"
        # The socket stays; what it asks is refused.
        await both.socket.send_json({"jsonrpc": "2.0", "id": 2, "method": "getHealth"})
        assert (await both.message())["error"]["data"]["reason"] == "KEY_INVALID"


async def test_streams_end_with_the_server(url: str, gateway: Gateway) -> None:
    async with reading(url, "local") as both:
        draining = asyncio.create_task(gateway.drain(5))
        _, data = await both.event()
        error = (await both.message())["params"]["error"]
        for found in (data["error"], error):
            assert (found["code"], found["data"]["cursor"]) == (503, "after 7")
            assert found["data"]["retryAfterMs"]
        await draining


async def test_the_demo_has_one_stream_for_an_address(url: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{url}/demo/{QUERY}") as response:
        assert response.status == 200
        async with session.get(f"{url}/demo/{QUERY}") as other:
            assert (other.status, (await other.json())["error"]["data"]["reason"]) == (429, "RATE_LIMITED")
        async with asyncio.timeout(10):
            rest = (await response.content.read()).decode()
        assert "event: error" in rest
        assert '"cursor":"after 7"' in rest
