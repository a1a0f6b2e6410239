"""A handler of the in-process channel may answer at once; what it leaves for later runs in a task of its own."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from functools import partial
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
    assert not channel.tasks


async def test_metadata_that_are_made_when_read_are_made_once_and_only_then() -> None:
    made: list[int] = []

    def make() -> tuple[tuple[str, str | bytes], ...]:
        made.append(1)
        return (("x-request-id", "1"),)

    async def later() -> bytes:
        return b"a"

    def begin(request: bytes, context: Any) -> Any:
        context.set_trailing_maker(make)
        return later

    async with channel_to(begin) as channel:
        call = channel.unary_unary(PATH)(b"")
        assert await call == b"a"
        assert not made
        for _ in range(2):
            assert tuple(await call.trailing_metadata() or ()) == (("x-request-id", "1"),)
    assert made == [1]


async def test_an_abort_states_the_metadata_that_it_is_given() -> None:
    async def later(context: Any) -> bytes:
        context.set_trailing_maker(lambda: (("x-made", "1"),))
        await context.abort(StatusCode.NOT_FOUND, "gone", (("x-given", "2"),))
        return b""

    async with channel_to(lambda request, context: partial(later, context)) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary(PATH)(b"")
    assert tuple(caught.value.trailing_metadata()) == (("x-given", "2"),)


async def test_metadata_that_change_between_calls_are_received_as_they_are() -> None:
    seen: list[Any] = []

    def begin(request: bytes, context: Any) -> bytes:
        seen.append(context.invocation_metadata())
        return b""

    given, fixed = [("a", "1")], (("c", "3"),)
    async with channel_to(begin) as channel:
        call = channel.unary_unary(PATH)
        call(b"", metadata=given)
        given.append(("b", "2"))
        for metadata in (given, fixed, fixed, None):
            call(b"", metadata=metadata)
    assert seen == [(("a", "1"),), (("a", "1"), ("b", "2")), fixed, fixed, ()]


async def test_what_a_call_came_to_can_be_asked_without_waiting() -> None:
    async with channel_to(lambda request, context: b"a") as channel:
        assert channel.unary_unary(PATH)(b"").outcome() == b"a"
        missing = channel.unary_unary("/waypost.v1.AccountService/Nothing")(b"")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            missing.outcome()
    assert caught.value.code() is StatusCode.UNIMPLEMENTED
    assert missing.trailing == ()


async def test_a_call_that_was_over_before_has_no_metadata_of_its_servicer() -> None:
    ended = asyncio.Event()

    async def later() -> bytes:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.set()
        return b"late"

    def begin(request: bytes, context: Any) -> Any:
        context.set_trailing_maker(lambda: (("x-late", "1"),))
        return later

    async with channel_to(begin) as channel:
        call = channel.unary_unary(PATH)(b"", timeout=0.01)
        assert await call.code() is StatusCode.DEADLINE_EXCEEDED
        await ended.wait()
        await asyncio.sleep(0)
        assert tuple(await call.trailing_metadata() or ()) == ()
