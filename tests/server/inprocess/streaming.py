"""What a stream can meet, as scenarios like those of `scenarios`."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import grpc
from grpc import StatusCode
from grpc.aio import AioRpcError
from waypost.v1.stream_pb2 import WatchBlocksRequest, WatchBlocksResponse

from tests.server.inprocess.rig import MAX_BYTES, MAX_REQUEST_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.server.inprocess.rig import Rig


def event(number: int) -> WatchBlocksResponse:
    return WatchBlocksResponse(block_number=number)


async def events_and_end(call: Any) -> dict[str, Any]:
    """Return the numbers of the events, and everything the client learns of the stream's end."""
    numbers: list[int] = []
    raised: Any = None
    try:
        async for received in call:
            numbers.append(received.block_number)
    except AioRpcError as error:
        raised = (error.code(), error.details(), tuple(error.trailing_metadata() or ()))
    except asyncio.CancelledError:
        raised = "cancelled"
    return {
        "numbers": numbers,
        "raised": raised,
        "code": await call.code(),
        "details": await call.details(),
        "initial": tuple(await call.initial_metadata()),
        "trailing": tuple(await call.trailing_metadata()),
        "state": (call.done(), call.cancelled()),
    }


async def counted(request: Any, context: Any) -> AsyncIterator[Any]:
    for number in range(5):
        yield event(number)


async def watched(rig: Rig, servicer: Any, request: Any = None, **options: Any) -> dict[str, Any]:
    rig.serve(servicer)
    return await events_and_end(rig.watch(request, **options))


async def stream_that_ends(rig: Rig) -> Any:
    return await watched(rig, counted)


async def stream_of_nothing(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        for number in ():
            yield number

    return await watched(rig, servicer)


async def stream_of_an_empty_message(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        yield WatchBlocksResponse()

    return await watched(rig, servicer)


async def stream_read_one_by_one(rig: Rig) -> Any:
    rig.serve(counted)
    call = rig.watch()
    first = [(await call.read()).block_number for _ in range(5)]
    after = [await call.read() is grpc.aio.EOF for _ in range(2)]
    return first, after, await call.code()


async def stream_read_in_two_styles(rig: Rig) -> Any:
    rig.serve(counted)
    call = rig.watch()
    await call.read()
    try:
        async for _ in call:
            pass
    except grpc.aio.UsageError:
        call.cancel()
        return "refused"
    return None


async def stream_with_metadata(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        await context.send_initial_metadata((("a", "1"),))
        yield event(1)
        context.set_trailing_metadata((("b", "2"),))

    return await watched(rig, servicer)


async def stream_metadata_before_its_first_event(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        await context.send_initial_metadata((("a", "1"),))
        await asyncio.sleep(30)
        yield event(1)

    rig.serve(servicer)
    call = rig.watch()
    initial = tuple(await call.initial_metadata())
    state = call.done()
    call.cancel()
    return initial, state


async def stream_aborted_after_some(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        for number in range(3):
            yield event(number)
        await context.abort(StatusCode.RESOURCE_EXHAUSTED, "slow", (("cursor-bin", b"\x00\x01"),))

    return await watched(rig, servicer)


async def stream_aborted_at_once(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        await context.abort(StatusCode.NOT_FOUND, "gone")
        yield event(0)

    return await watched(rig, servicer)


async def stream_read_after_its_abort(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        yield event(0)
        await context.abort(StatusCode.NOT_FOUND, "gone")

    rig.serve(servicer)
    call = rig.watch()
    got = [(await call.read()).block_number]
    for _ in range(2):
        try:
            await call.read()
        except AioRpcError as error:
            got.append(error.details())
    return got


async def stream_escaped_exception(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        yield event(0)
        raise ValueError("reported")

    return await watched(rig, servicer)


async def stream_cancelled_by_the_caller(rig: Rig) -> Any:
    stopped = asyncio.Event()

    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            for number in range(2):
                yield event(number)
            await asyncio.sleep(30)
        finally:
            stopped.set()

    rig.serve(servicer)
    call = rig.watch(timeout=None)
    numbers = [(await call.read()).block_number for _ in range(2)]
    cancelled = call.cancel(), call.cancel()
    await asyncio.wait_for(stopped.wait(), 5)
    raised = None
    try:
        await call.read()
    except asyncio.CancelledError:
        raised = "cancelled"
    return numbers, cancelled, raised, await call.code(), call.cancelled()


async def stream_whose_reader_is_cancelled(rig: Rig) -> Any:
    stopped = asyncio.Event()

    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            yield event(0)
            await asyncio.sleep(30)
        finally:
            stopped.set()

    rig.serve(servicer)
    call = rig.watch(timeout=None)
    first = (await call.read()).block_number
    reader = asyncio.ensure_future(call.read())
    await asyncio.sleep(0.05)
    reader.cancel()
    with suppress(asyncio.CancelledError):
        await reader
    await asyncio.wait_for(stopped.wait(), 5)
    return first, await call.code(), call.cancelled()


async def stream_beyond_its_deadline(rig: Rig) -> Any:
    stopped = asyncio.Event()

    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            yield event(0)
            await asyncio.sleep(30)
        finally:
            stopped.set()

    got = await watched(rig, servicer, timeout=0.2)
    await asyncio.wait_for(stopped.wait(), 5)
    # The text is gRPC's own.
    return got["numbers"], got["code"], got["trailing"], got["state"]


async def stream_whose_deadline_passed(rig: Rig) -> Any:
    return await watched(rig, counted, timeout=-1)


async def stream_of_an_unknown_method(rig: Rig) -> Any:
    return await events_and_end(rig.watch(path="/waypost.v1.StreamService/WatchOther"))


async def stream_with_an_oversize_request(rig: Rig) -> Any:
    return await watched(rig, counted, WatchBlocksRequest(cursor="a" * MAX_REQUEST_BYTES))


async def stream_with_an_oversize_event(rig: Rig) -> Any:
    stopped = asyncio.Event()

    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            yield event(0)
            yield WatchBlocksResponse(cursor="a" * MAX_BYTES)
            yield event(1)
        finally:
            stopped.set()

    got = await watched(rig, servicer)
    await asyncio.wait_for(stopped.wait(), 5)
    return got["numbers"], got["code"]


async def stream_read_slowly(rig: Rig) -> Any:
    """A writer is no more than some events ahead of its reader, and none is lost."""
    written: list[int] = []
    # Windows of a socket grow to some tens of megabytes on a busy machine.
    most = 1500

    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        for number in range(most):
            written.append(number)
            yield WatchBlocksResponse(block_number=number, cursor="a" * 65536)

    rig.serve(servicer)
    call = rig.watch(timeout=30)
    first = (await call.read()).block_number
    await asyncio.sleep(0.3)
    ahead = len(written)
    rest = [(await call.read()).block_number for _ in range(most - 1)]
    return first, ahead < most // 2, rest == list(range(1, most)), await call.read() is grpc.aio.EOF


async def stream_ended_while_its_reader_is_slow(rig: Rig) -> Any:
    """What was written before the end is read before it."""

    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        yield event(0)
        yield event(1)
        await context.abort(StatusCode.UNAVAILABLE, "drained")

    rig.serve(servicer)
    call = rig.watch()
    await asyncio.sleep(0.2)
    return await events_and_end(call)


async def stream_with_a_status_set(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> AsyncIterator[Any]:
        yield event(0)
        context.set_code(StatusCode.DATA_LOSS)
        context.set_details("set")

    return await watched(rig, servicer)


async def stream_of_a_unary_call(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        await context.write(event(0))

    rig.serve(servicer)
    call = rig.call()
    try:
        await call
    except AioRpcError:
        return "refused"
    return None
