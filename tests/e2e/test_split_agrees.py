"""One process or two: a transcoder behind a socket answers every question with the same bytes as the one in process."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import grpc
import pytest
from aiohttp import web

from runtime.settings import load_settings
from server.app import Gateway
from tests.e2e.questions import QUESTIONS, REFUSED, Question
from tests.e2e.test_faces_agree import fill_in
from transcoder.app import create_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.launcher import Devnet

CREDENTIAL = "0123456789abcdef-split"
REQUEST_ID = "the-same-for-both"
# What differs between any two calls: when they were made, and how long that took.
MOMENTS = re.compile(
    rb'"(latencyMs|uptimeSeconds|totalUsd)":[^,}]+|"(timestamp|updatedAt|lastUpdated)":"\d{4}-\d\d-\d\dT[^"]+"'
)
# A block may be made between the two.
TRIES = 5


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Faces:
    """The same gateway through a transcoder in its process and through one behind a socket."""

    def __init__(self, urls: list[str], session: aiohttp.ClientSession) -> None:
        self._urls = urls
        self._session = session

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        answer: dict[str, Any] = await (await self._post(self._urls[0], method, params)).json()
        return answer

    async def both(self, method: str, params: Any) -> list[Answer]:
        responses = await asyncio.gather(*(self._post(url, method, params) for url in self._urls))
        return [
            Answer(
                response.status,
                {name: value for name, value in response.headers.items() if name not in ("Date", "X-Waypost-Cache")},
                MOMENTS.sub(b"", await response.read()),
            )
            for response in responses
        ]

    async def _post(self, url: str, method: str, params: Any) -> aiohttp.ClientResponse:
        request = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        response = await self._session.post(f"{url}/local/v1", json=request, headers={"X-Request-Id": REQUEST_ID})
        await response.read()
        return response


@pytest.fixture(scope="module")
async def faces(devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Faces]:
    folder = tmp_path_factory.mktemp("split")
    private = f"unix:{folder}/private.sock"
    overrides = devnet.settings_overrides() | {
        "storage": {"url": f"sqlite+aiosqlite:///{folder / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0, "private_listen": private, "credential": CREDENTIAL},
        "http": {"host": "127.0.0.1"},
    }
    settings = load_settings(environ={}, overrides=overrides)
    server = await Gateway.create(settings)
    await server.start()
    async with (
        grpc.aio.insecure_channel(private, options=[("grpc.max_receive_message_length", 64 << 20)]) as channel,
        aiohttp.ClientSession() as session,
    ):
        apps = [create_app(server.channel(), settings.http)]
        apps.append(create_app(channel, settings.http, credential=CREDENTIAL))
        runners = [web.AppRunner(app, access_log=None) for app in apps]
        urls = []
        for runner in runners:
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            urls.append(f"http://127.0.0.1:{runner.addresses[0][1]}")
        yield Faces(urls, session)
        for runner in runners:
            await runner.cleanup()
    await server.drain(1.0)


@pytest.mark.parametrize("question", [*QUESTIONS, *REFUSED], ids=str)
async def test_both_answer_with_the_same_bytes(question: Question, faces: Faces) -> None:
    question = await fill_in(question, faces)  # type: ignore[arg-type]
    for _ in range(TRIES):
        here, there = await faces.both(question.method, question.params)
        if here == there:
            break
    assert here.body == there.body
    assert (here.status, here.headers.keys()) == (there.status, there.headers.keys())
