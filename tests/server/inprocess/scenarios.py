"""What a call can meet, as scenarios: each runs over a rig and returns what a client and a servicer could observe."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import grpc
from grpc import StatusCode
from grpc.aio import AioRpcError
from waypost.v1.account_pb2 import GetBalanceRequest, GetBalanceResponse

from tests.server.inprocess.rig import MAX_BYTES, MAX_REQUEST_BYTES, OTHER

if TYPE_CHECKING:
    from tests.server.inprocess.rig import Rig

OK = GetBalanceResponse(token="ETH", block_height=7)
LEAK: ContextVar[str] = ContextVar("leak", default="nothing")
BINARY = bytes(range(256))


async def outcome(call: Any) -> dict[str, Any]:
    """Return everything the client learns of a call's end."""
    try:
        response = await call
    except AioRpcError as error:
        return {
            "code": error.code(),
            "details": error.details(),
            "agrees with the call": (await call.code() is error.code(), await call.details() == error.details()),
            "initial": tuple(error.initial_metadata() or ()),
            "trailing": tuple(error.trailing_metadata() or ()),
            "state": (call.done(), call.cancelled()),
        }
    return {
        "response": response,
        "code": await call.code(),
        "details": await call.details(),
        "initial": tuple(await call.initial_metadata()),
        "trailing": tuple(await call.trailing_metadata()),
        "state": (call.done(), call.cancelled()),
    }


async def answers(request: Any, context: Any) -> Any:
    return OK


async def served(rig: Rig, servicer: Any, request: Any = None, **options: Any) -> dict[str, Any]:
    rig.serve(servicer)
    return await outcome(rig.call(request, **options))


async def answered(rig: Rig) -> Any:
    return await served(rig, answers)


async def empty_messages(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        rig.seen.append(request)
        return GetBalanceResponse()

    rig.serve(servicer)
    return await outcome(rig.method()(GetBalanceRequest(), timeout=5)), rig.seen


async def unicode_and_big_numbers(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        return GetBalanceResponse(token=request.address, block_height=(1 << 63) - 1)

    return await served(rig, servicer, GetBalanceRequest(address="Ω…\x00\U0001f600"))


async def abort_with_everything(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        await context.abort(StatusCode.NOT_FOUND, "gone", (("a", "1"), ("a", "2"), ("b-bin", BINARY)))

    return await served(rig, servicer)


async def abort_without_details(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        await context.abort(StatusCode.FAILED_PRECONDITION)

    return await served(rig, servicer)


async def abort_after_setting(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        context.set_details("set before")
        context.set_trailing_metadata((("a", "set"),))
        await context.abort(StatusCode.ABORTED)

    return await served(rig, servicer)


async def abort_overrides_what_was_set(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        context.set_code(StatusCode.NOT_FOUND)
        context.set_details("set before")
        context.set_trailing_metadata((("a", "set"),))
        await context.abort(StatusCode.ABORTED, "aborted", (("a", "given"),))

    return await served(rig, servicer)


async def abort_suppressed(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        try:
            await context.abort(StatusCode.NOT_FOUND, "gone")
        except grpc.aio.AbortError:
            rig.seen.append(context.done())
        return OK

    return await served(rig, servicer), rig.seen


async def abort_twice(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        try:
            await context.abort(StatusCode.NOT_FOUND, "first")
        except grpc.aio.AbortError:
            await context.abort(StatusCode.INTERNAL, "second")

    return await served(rig, servicer)


async def abort_with_unicode(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        await context.abort(StatusCode.INTERNAL, "Ω %41\n…")

    return await served(rig, servicer)


async def escaped_exception(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        raise ValueError("reported")

    return await served(rig, servicer)


async def escaped_exception_after_code(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        context.set_code(StatusCode.DATA_LOSS)
        context.set_trailing_metadata((("a", "b"),))
        raise KeyError("reported")

    return await served(rig, servicer)


async def code_without_abort(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        context.set_code(StatusCode.ALREADY_EXISTS)
        context.set_details("there is one")
        rig.seen.append((context.code(), context.details()))
        return OK

    return await served(rig, servicer), rig.seen


async def details_of_success(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        context.set_details("not an error")
        return OK

    return await served(rig, servicer)


async def response_of_no_message(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        return 5

    result = await served(rig, servicer)
    return result["code"], result["details"].startswith("Unexpected <class 'TypeError'>")


async def request_of_garbage(rig: Rig) -> Any:
    rig.serve(answers)
    result = await outcome(rig.method(request_serializer=None)(b"\xff\xff", timeout=5))
    return result["code"], "DecodeError" in result["details"]


async def unknown_method(rig: Rig) -> Any:
    return await outcome(rig.method(OTHER)(GetBalanceRequest(), timeout=5))


async def oversize_request(rig: Rig) -> Any:
    return await served(rig, answers, GetBalanceRequest(address="a" * MAX_REQUEST_BYTES))


async def oversize_response(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        return GetBalanceResponse(token="a" * (MAX_BYTES + 1))

    return await served(rig, servicer)


async def messages_of_exactly_the_limit(rig: Rig) -> Any:
    # Tag and length of the string take four bytes.
    asked, text = "a" * (MAX_REQUEST_BYTES - 4), "a" * (MAX_BYTES - 4)

    async def servicer(request: Any, context: Any) -> Any:
        rig.seen.append(len(request.address))
        return GetBalanceResponse(address=text)

    request = GetBalanceRequest(address=asked)
    assert request.ByteSize() == MAX_REQUEST_BYTES
    result = await served(rig, servicer, request)
    return result["code"], len(result["response"].address), rig.seen


async def metadata_of_the_caller(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        rig.seen.extend((key, value) for key, value in context.invocation_metadata() if key != "user-agent")
        return OK

    given = (("x-a", "1"), ("x-a", "2"), ("x-bin", BINARY), ("x-as-bytes", b"text"), ("x.y_z-0", " spaced "))
    return await served(rig, servicer, metadata=given), rig.seen


async def metadata_as_object(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        rig.seen.extend((key, value) for key, value in context.invocation_metadata() if key != "user-agent")
        return OK

    return await served(rig, servicer, metadata=grpc.aio.Metadata(("x-a", "1"), ("x-b", "2"))), rig.seen


async def metadata_of_the_servicer(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        await context.send_initial_metadata((("i", "1"), ("i-bin", BINARY)))
        context.set_trailing_metadata((("t", "1"), ("t", "2"), ("t-bin", BINARY)))
        rig.seen.append(tuple(context.trailing_metadata()))
        return OK

    return await served(rig, servicer), rig.seen


async def initial_metadata_with_the_end(rig: Rig) -> Any:
    """A unary call learns of initial metadata at its end only: grpc.aio receives everything in one operation."""
    release = asyncio.Event()

    async def servicer(request: Any, context: Any) -> Any:
        await context.send_initial_metadata((("i", "early"),))
        await release.wait()
        return OK

    rig.serve(servicer)
    call = rig.call()
    early = asyncio.ensure_future(call.initial_metadata())
    await asyncio.sleep(0.05)
    known = early.done()
    release.set()
    return known, tuple(await early), await outcome(call)


async def initial_metadata_twice(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        await context.send_initial_metadata((("i", "1"),))
        try:
            await context.send_initial_metadata((("i", "2"),))
        except grpc.aio.UsageError as error:
            rig.seen.append(str(error))
        return OK

    return await served(rig, servicer), rig.seen


async def illegal_trailing_metadata(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        context.set_trailing_metadata((("Upper", "1"),))
        return OK

    return await served(rig, servicer)


async def illegal_initial_metadata(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        await context.send_initial_metadata((("Upper", "1"),))
        return OK

    return await served(rig, servicer)


async def mistyped_trailing_metadata(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        try:
            context.set_trailing_metadata({"a": "b"})
        except TypeError:
            rig.seen.append("TypeError")
        return OK

    return await served(rig, servicer), rig.seen


async def context_of_the_servicer(rig: Rig) -> Any:
    async def servicer(request: Any, context: Any) -> Any:
        rig.seen.append((context.code(), context.details(), context.trailing_metadata(), context.done()))
        rig.seen.append((context.cancelled(), isinstance(context.peer(), str), context.peer_identities()))
        rig.seen.append((context.peer_identity_key(), context.time_remaining()))
        context.add_done_callback(lambda ended: done.set_result(("done", ended is context, ended.done())))
        return OK

    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    result = await served(rig, servicer, timeout=None)
    return result, rig.seen, await asyncio.wait_for(done, 5)
