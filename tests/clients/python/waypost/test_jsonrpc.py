"""The transport over JSON-RPC against answers made here: repeats, batches, foreign answers, the key in logs."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from aiohttp import web
from waypost import AsyncWaypost, DeadlineExceeded, NotFound, TransportError, UpstreamUnavailable, Waypost, WaypostError
from waypost.v1.account_pb2 import GetBalanceRequest

from tests.serving import serve_app

KEY = "wp_secret"
BALANCE = {"result": {"data": {"chain": "0x1", "balance": "1.5"}}}
ASKED = {"chain": "ethereum", "address": "0x1"}


def error(code: int, reason: str, **data: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": "said so", "data": {"reason": reason, **data}}}


class Gateway:
    """Answers each request with the next of the answers; keeps what was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), list[Any]()
        self.app = web.Application()
        self.app.router.add_post(f"/{KEY}/v1", self.answer)

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body)
        answer = self.answers.pop(0)
        if isinstance(answer, web.Response):
            return answer
        if isinstance(body, list):
            return web.json_response([{"jsonrpc": "2.0", "id": one["id"], **answer} for one in reversed(body)])
        return web.json_response({"jsonrpc": "2.0", "id": body["id"], **answer}, status=answer.get("code", 200))


async def ask(gateway: Gateway) -> str:
    """Ask once with an event loop, and return the balance."""
    async with serve_app(gateway.app) as url, AsyncWaypost(f"{url}/{KEY}/v1") as client:
        return (await client.accounts.get_balance(**ASKED)).balance


async def test_what_is_unavailable_is_repeated_when_the_gateway_says() -> None:
    unavailable = error(503, "UPSTREAM_UNAVAILABLE", retryAfterMs=1)
    gateway = Gateway(*[unavailable] * 4, BALANCE)
    assert await ask(gateway) == "1.5"
    assert len(gateway.asked) == 5
    gateway = Gateway(*[unavailable] * 5)
    with pytest.raises(UpstreamUnavailable):
        await ask(gateway)
    assert len(gateway.asked) == 5


async def test_the_client_without_an_event_loop_repeats_alike() -> None:
    gateway = Gateway(error(503, "UPSTREAM_DISAGREES", retryAfterMs=1), BALANCE)

    def balance(url: str) -> str:
        with Waypost(url, KEY, transport="jsonrpc") as client:
            return client.accounts.get_balance(chain="ethereum", address="0x1").balance

    async with serve_app(gateway.app) as url:
        assert await asyncio.to_thread(balance, url) == "1.5"
    assert [one["params"] for one in gateway.asked] == [ASKED] * 2


async def test_what_another_try_would_not_change_is_asked_once() -> None:
    later = error(503, "UPSTREAM_UNAVAILABLE", retryAfterMs=60_000)
    for answer, kind in (
        (error(404, "NOT_FOUND", field="address"), NotFound),
        (error(503, "DEADLINE_EXCEEDED"), DeadlineExceeded),
        (later, UpstreamUnavailable),
    ):
        gateway = Gateway(answer)
        with pytest.raises(kind):
            await ask(gateway)
        assert len(gateway.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        web.Response(text="<html>", status=502),
        web.Response(text="[", content_type="application/json"),
        web.Response(text='"text"'),
        web.Response(text="{}"),
        web.Response(status=307, headers={"Location": "/elsewhere"}),
    ],
    ids=["a page", "no JSON", "a text", "no result", "a redirection"],
)
async def test_what_is_no_answer_of_the_gateway_is_a_transport_error(answer: web.Response) -> None:
    gateway = Gateway(answer)
    with pytest.raises(TransportError) as caught:
        await ask(gateway)
    assert KEY not in str(caught.value)
    assert len(gateway.asked) == 1


async def test_a_batch_goes_in_parts_of_fifty_and_keeps_its_order() -> None:
    gateway = Gateway(BALANCE, error(404, "NOT_FOUND"))
    async with serve_app(gateway.app) as url, AsyncWaypost(f"{url}/{KEY}/v1") as client:
        results = await client.execute([GetBalanceRequest(**ASKED)] * 60)
        with pytest.raises(ValueError, match="no request of an operation"):
            await client.execute([GetBalanceRequest(), results[0]])
    assert [len(one) for one in gateway.asked] == [50, 10]
    assert [isinstance(one, WaypostError) for one in results] == [False] * 50 + [True] * 10


async def test_logs_do_not_hold_the_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await ask(Gateway(BALANCE))
    assert "/.../v1" in caplog.text
    assert KEY not in caplog.text
