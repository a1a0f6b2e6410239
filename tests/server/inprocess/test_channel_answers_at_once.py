"""A handler of the in-process channel may answer at once; what it leaves for later runs in a task of its own."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from grpc import StatusCode

from server.inprocess import TRUSTED, InProcessChannel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

PATH = "/waypost.v1.AccountService/GetBalance"
OWN: ContextVar[str] = ContextVar("own", default="none")


def channel_to(
    begin: Callable[[bytes, Any], bytes | Callable[[], Awaitable[bytes]]], **bounds: int
) -> InProcessChannel:
    return InProcessChannel({PATH: begin}, **bounds)


async def test_an_answer_at_once_has_no_task_and_carries_its_metadata() -> None:
    ended: list[bool] = []

    def begin(request: bytes, context: Any) -> bytes:
        context.set_trailing_metadata((("x-request-id", "1"),))
        context.add_done_callback(lambda done: ended.append(done.done()))
        return request[::-1]

    before = asyncio.all_tasks()
    async with channel_to(begin) as channel:
        call = channel.unary_unary(PATH)(b"abc", timeout=5)
        assert call.done()
        assert asyncio.all_tasks() == before
        assert await call == b"cba"
        assert tuple(await call.trailing_metadata() or ()) == (("x-request-id", "1"),)
        assert await call.code() is StatusCode.OK
        assert ended == [True]


async def test_an_answer_at_once_is_bounded_as_any() -> None:
    async with channel_to(lambda request, context: b"a" * 11, max_response_bytes=10) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary(PATH)(b"")
    assert caught.value.code() is StatusCode.RESOURCE_EXHAUSTED


async def test_what_is_left_for_later_runs_in_a_task_and_context_of_its_own() -> None:
    async def later() -> bytes:
        await asyncio.sleep(0)
        return f"{OWN.get()} {TRUSTED.get()}".encode()

    OWN.set("the caller's")
    async with channel_to(lambda request, context: later) as channel:
        assert await channel.unary_unary(PATH)(b"") == b"none True"


@pytest.mark.parametrize("moment", ["before it began", "while it runs"])
async def test_what_is_left_for_later_ends_with_the_call(moment: str) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def later() -> bytes:
        started.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        return b""

    async with channel_to(lambda request, context: later) as channel:
        call = channel.unary_unary(PATH)(b"")
        if moment == "while it runs":
            await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert ended.is_set() == started.is_set() == (moment == "while it runs")
