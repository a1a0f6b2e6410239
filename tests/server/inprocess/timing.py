"""Scenarios of deadlines, cancellation, concurrency and isolation; see `scenarios`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from grpc import StatusCode
from grpc.aio import AioRpcError
from waypost.v1.account_pb2 import GetBalanceRequest, GetBalanceResponse

from tests.server.inprocess.scenarios import LEAK, OK, answers, outcome, served

if TYPE_CHECKING:
    from tests.server.inprocess.rig import Rig


def sleeper(rig: Rig, seconds: float = 30) -> Any:
    """Return a servicer that sleeps, and notes that it was cancelled."""

    async def servicer(request: Any, context: Any) -> Any:
        rig.seen.append("started")
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            rig.seen.append("cancelled")
            raise
        return OK

    return servicer


async def until(rig: Rig, *wanted: Any) -> list[Any]:
    """Return what the servicer noted, once the wanted notes are there."""
    async with asyncio.timeout(5):
        while not all(note in rig.seen for note in wanted):  # noqa: ASYNC110  # what is noted differs by scenario
            await asyncio.sleep(0.002)
    return rig.seen


async def deadline_of_the_caller(rig: Rig) -> Any:
    rig.serve(sleeper(rig))
    for timeout in (0.1, 1, 10):
        result = await outcome(rig.call(timeout=timeout))
        # On a machine that stalls a short deadline may pass before the call has got to the servicer.
        if "started" in rig.seen:
            break
    return result, await until(rig, "cancelled")


async def deadline_passed_already(rig: Rig) -> Any:
    return await served(rig, sleeper(rig), timeout=0)


async def time_remaining(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        rig.seen.append(0 < context.time_remaining() <= 5.1)
        return OK

    rig.serve(servicer)
    call = rig.call(timeout=5)
    left = call.time_remaining()
    await call
    return rig.seen, 0 < left <= 5.1


async def cancelled_by_the_caller(rig: Rig) -> Any:
    rig.serve(sleeper(rig))
    call = rig.call()
    await until(rig, "started")
    first, second = call.cancel(), call.cancel()
    try:
        await call
    except asyncio.CancelledError:
        raised = "CancelledError"
    state = await call.code(), await call.details(), call.done(), call.cancelled()
    return first, second, raised, state, tuple(await call.trailing_metadata()), await until(rig, "cancelled")


async def cancelled_at_once(rig: Rig) -> Any:
    rig.serve(answers)
    call = rig.call()
    assert call.cancel()
    try:
        await call
    except asyncio.CancelledError:
        return await call.code()
    return "answered"


async def awaiting_task_cancelled(rig: Rig) -> Any:
    rig.serve(sleeper(rig))
    call = rig.call()

    async def wait() -> Any:
        return await call

    task = asyncio.create_task(wait())
    await until(rig, "started")
    task.cancel()
    await asyncio.wait((task,))
    return task.cancelled(), await call.code(), await until(rig, "cancelled")


async def cancelled_after_the_end(rig: Rig) -> Any:
    rig.serve(answers)
    call = rig.call()
    first = await call
    return call.cancel(), call.cancelled(), await call.code(), await call is first


async def cancel_ignored_by_the_servicer(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        rig.seen.append("started")
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            rig.seen.append("ignored")
        return OK

    rig.serve(servicer)
    call = rig.call()
    await until(rig, "started")
    call.cancel()
    await until(rig, "ignored")
    await asyncio.sleep(0.02)
    return await call.code(), call.cancelled()


async def awaited_twice(rig: Rig) -> Any:
    rig.serve(answers)
    call = rig.call()
    return await call is await call


async def failure_awaited_twice(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        await context.abort(StatusCode.NOT_FOUND, "gone")

    rig.serve(servicer)
    call = rig.call()
    codes = []
    for _ in range(2):
        try:
            await call
        except AioRpcError as error:
            codes.append(error.code())
    return codes


async def never_awaited(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        await context.abort(StatusCode.NOT_FOUND, "gone")

    rig.serve(servicer)
    call = rig.call()
    return await call.code(), await call.details(), tuple(await call.initial_metadata())


async def callbacks_of_the_caller(rig: Rig) -> Any:
    rig.serve(answers)
    call = rig.call()
    ended: list[Any] = []
    call.add_done_callback(lambda done: ended.append(("during", done is call, done.done())))
    await call
    call.add_done_callback(lambda done: ended.append(("after", done is call, done.done())))
    return ended


async def request_changed_by_the_caller(rig: Rig) -> Any:
    release = asyncio.Event()

    async def servicer(request: Any, context: Any) -> Any:
        rig.seen.append("started")
        await release.wait()
        return GetBalanceResponse(token=request.chain)

    rig.serve(servicer)
    request = GetBalanceRequest(chain="before")
    call = rig.call(request)
    await until(rig, "started")
    request.chain = "after"
    release.set()
    return (await call).token


async def request_changed_by_the_servicer(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        request.chain = "changed"
        return OK

    rig.serve(servicer)
    request = GetBalanceRequest(chain="kept")
    await rig.call(request)
    return request.chain


async def response_changed_by_the_servicer(rig: Rig) -> Any:
    response = GetBalanceResponse(token="before")

    async def servicer(request: Any, context: Any) -> Any:
        return response

    rig.serve(servicer)
    got = await rig.call()
    response.token = "after"
    return got.token, got is not response


async def response_changed_by_the_caller(rig: Rig) -> Any:
    response = GetBalanceResponse(token="kept")

    async def servicer(request: Any, context: Any) -> Any:
        return response

    rig.serve(servicer)
    got = await rig.call()
    got.token = "changed"
    return response.token


async def contextvars_of_the_caller(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        rig.seen.append(LEAK.get())
        LEAK.set("the servicer's")
        return OK

    rig.serve(servicer)
    LEAK.set("the caller's")
    await rig.call()
    mine = LEAK.get()
    LEAK.set("nothing")
    return rig.seen, mine


async def contextvars_of_concurrent_calls(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        LEAK.set(request.chain)
        await asyncio.sleep(0.001)
        return GetBalanceResponse(token=LEAK.get())

    rig.serve(servicer)
    names = [f"call {number}" for number in range(50)]
    got = await asyncio.gather(*(rig.call(GetBalanceRequest(chain=name)) for name in names))
    return [response.token for response in got] == names


async def concurrent_calls_overtake(rig: Rig) -> Any:
    overtaken = asyncio.Event()

    async def servicer(request: Any, context: Any) -> Any:
        if request.chain == "slow":
            rig.seen.append("started")
            await overtaken.wait()
        return GetBalanceResponse(token=request.chain)

    rig.serve(servicer)
    slow = rig.call(GetBalanceRequest(chain="slow"))
    await until(rig, "started")
    fast = await rig.call(GetBalanceRequest(chain="fast"))
    overtaken.set()
    return fast.token, (await slow).token


async def wait_for_ready(rig: Rig) -> Any:
    return await served(rig, answers, wait_for_ready=True)


async def illegal_metadata_of_the_caller(rig: Rig) -> Any:
    rig.serve(sleeper(rig))
    refused = []
    for metadata in ((("Upper", "1"),), (("x", "ä"),), (("x", "a\nb"),), (("x-bin", "text"),), (("x", 5),)):
        try:
            await rig.call(metadata=metadata)
        except AioRpcError:
            refused.append("answered by the server")
        except Exception:
            refused.append("refused before it was sent")
    return refused, rig.seen


async def closed_channel(rig: Rig) -> Any:
    rig.serve(answers)
    await rig.channel.close()
    try:
        await rig.call()
    except Exception as error:
        return isinstance(error, AioRpcError), type(error).__name__


async def call_in_flight_at_close(rig: Rig) -> Any:
    rig.serve(sleeper(rig))
    call = rig.call()
    await until(rig, "started")
    await rig.channel.close()
    try:
        await call
    except (asyncio.CancelledError, AioRpcError):
        return await call.code(), await until(rig, "cancelled")


async def finished_within_the_grace_of_close(rig: Rig) -> Any:
    rig.serve(sleeper(rig, 0.05))
    call = rig.call()
    await until(rig, "started")
    await rig.channel.close(5)
    return await outcome(call)
