"""Calls over the in-process channel: the caller's side, and the task that serves each."""

from __future__ import annotations

import asyncio
import logging
from contextvars import Context
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import grpc
from grpc.aio import AioRpcError, Metadata

from server.inprocess.context import TRUSTED, InProcessContext, ReceivedMetadata, received, serve

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator

    from server.inprocess.context import Beginning, Entries

_log = logging.getLogger(__name__)
_OK = grpc.StatusCode.OK
# What the context of each call is a copy of.
_FRESH = Context()
_FRESH.run(TRUSTED.set, True)


class Call:
    """What calls of all kinds have: a task that serves them, and a status once they have ended."""

    __slots__ = (
        "_callbacks",
        "_cancelled_here",
        "_code",
        "_deadline",
        "_details",
        "_failure",
        "_initial",
        "_loop",
        "_made",
        "_max_bytes",
        "_parse",
        "_parsed",
        "_payload",
        "_task",
        "_tasks",
        "_timer",
        "_trailing",
        "_waiters",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        parse: Callable[[bytes], Any] | None,
        timeout: float | None,
        max_bytes: int,
        tasks: dict[asyncio.Task[None], Call],
    ) -> None:
        self._loop = loop
        self._parse = parse
        self._max_bytes = max_bytes
        self._tasks = tasks
        self._deadline = None if timeout is None else monotonic() + timeout
        self._code: grpc.StatusCode | None = None
        self._details = ""
        self._initial: Entries = ()
        self._trailing: Entries = ()
        self._made: Callable[[], Entries] | None = None
        self._payload: bytes | None = None
        self._parsed: Any = None
        self._failure: BaseException | None = None
        self._cancelled_here = False
        self._waiters: list[asyncio.Future[None]] = []
        self._callbacks: list[Callable[[Any], None]] = []
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Serve the call in a task and contextvars context of its own."""
        # Nothing of the caller's request leaks into the callee's, as on a socket.
        task = self._task = self._loop.create_task(work, context=_FRESH.copy())
        self._tasks[task] = self
        if self._deadline is not None:
            self._timer = self._loop.call_later(self._deadline - monotonic(), self._expire)

    def fail(self, failure: BaseException) -> None:
        """End the call before it started, with an exception that awaiting it raises (a caller's mistake)."""
        self._failure = failure
        self.settle(grpc.StatusCode.INTERNAL, str(failure))

    def settle(self, code: grpc.StatusCode, details: str, trailing: Entries = (), payload: bytes | None = None) -> None:
        """Give the call its status, once; later ones are ignored."""
        if self._code is not None:
            return
        self._code = code
        self._details = details
        self._trailing = trailing
        self._payload = payload
        if self._timer is not None:
            self._timer.cancel()
        if self._waiters:
            self._wake()
        for callback in self._callbacks:
            self._run_callback(callback)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def initial_metadata(self) -> Metadata:
        """Return the initial metadata at the end of the call; a unary call on a socket gets it no earlier."""
        await self.wait()
        return Metadata(*self._initial)

    async def trailing_metadata(self) -> Metadata:
        """Return the trailing metadata at the end of the call."""
        if self._code is None:
            await self.wait()
        return ReceivedMetadata(self.trailing)

    @property
    def trailing(self) -> Entries:
        """The trailing metadata of a call that has ended."""
        if self._made is not None:
            self._trailing, self._made = self._made(), None
        return self._trailing

    async def code(self) -> grpc.StatusCode:
        """Return the status at the end of the call."""
        await self.wait()
        return self._code or grpc.StatusCode.UNKNOWN

    async def details(self) -> str:
        """Return the status's text at the end of the call; empty when it is OK."""
        await self.wait()
        return "" if self._code is _OK else self._details

    async def debug_error_string(self) -> str:
        """Return status and text at the end of the call."""
        code = await self.code()
        return "" if code is _OK else f"{code.name}:{self._details}"

    async def wait_for_connection(self) -> None:
        """Return at once: there is no connection to wait for."""

    async def wait(self) -> None:
        """Wait for the status."""
        while self._code is None:
            waiter = self._loop.create_future()
            self._waiters.append(waiter)
            await waiter

    def cancelled(self) -> bool:
        """Return whether the call ended as CANCELLED."""
        return self._code is grpc.StatusCode.CANCELLED

    def done(self) -> bool:
        """Return whether the call has its status."""
        return self._code is not None

    def time_remaining(self) -> float | None:
        """Return the seconds left to the deadline, at least 0; None without one."""
        return None if self._deadline is None else max(0.0, self._deadline - monotonic())

    def cancel(self) -> bool:
        """Cancel the call and its servicer; False when it has ended already."""
        if self._code is not None:
            return False
        self._cancelled_here = True
        self.settle(grpc.StatusCode.CANCELLED, "Locally cancelled by application!")
        self._stop_servicer()
        return True

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        """Call back with this call at its end, at once when it has ended."""
        if self._code is None:
            self._callbacks.append(callback)
        else:
            self._run_callback(callback)

    async def _serve(self, work: Callable[[], Awaitable[Any]], context: InProcessContext) -> None:
        try:
            payload = await work()
            if context.aborted is None and context.status in (None, _OK):
                self._end(context, _OK, "", payload)
            elif context.aborted is None:
                self._end(context, _failure(context.status), context.text)
        except grpc.aio.AbortError:
            pass
        except asyncio.CancelledError:
            self.settle(grpc.StatusCode.UNAVAILABLE, "The call was interrupted in the server.")
        except Exception as error:
            _log.exception("a servicer raised %s", type(error).__name__)
            if context.aborted is None:
                self._end(context, _failure(context.status), f"Unexpected {type(error)}: {error}")
        finally:
            if self._task is not None:
                self._tasks.pop(self._task, None)
        # Also when the servicer swallowed what abort raised.
        if context.aborted is not None:
            self._end(context, _failure(context.status), context.text)
        context.finished = True
        if context.aborted is not None or context.callbacks:
            context.finish()

    def _end(
        self, context: InProcessContext, code: grpc.StatusCode, details: str, payload: bytes | None = None
    ) -> None:
        if payload is not None and len(payload) > self._max_bytes:
            text = f"SERVER: Sent message larger than max ({len(payload)} vs. {self._max_bytes})"
            self.settle(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
            return
        trailing: Entries = ()
        if context.made is not None:
            # One that was over before has none.
            if self._code is None:
                self._made = context.made
        elif context.trailing:
            try:
                trailing = received(context.trailing)
            except (TypeError, ValueError):
                self.settle(grpc.StatusCode.INTERNAL, "Invalid metadata")
                return
        if context.initial and self._code is None:
            self._initial = context.initial
        self.settle(code, details, trailing, payload)

    def _expire(self) -> None:
        self.settle(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")
        self._stop_servicer()

    def _stop_servicer(self) -> None:
        if self._task is not None and not self._task.done():
            # One that has not begun ends without a step of its own.
            self._task.add_done_callback(self._forget)
            self._task.cancel()

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)

    def _run_callback(self, callback: Callable[[Any], None]) -> None:
        try:
            callback(self)
        except Exception:
            _log.exception("a done callback failed")

    def _error(self) -> AioRpcError:
        code = self._code or grpc.StatusCode.UNKNOWN
        return AioRpcError(
            code,
            Metadata(*self._initial),
            Metadata(*self.trailing),
            details=self._details,
            debug_error_string=f"{code.name}:{self._details}",
        )


class InProcessCall(Call, grpc.aio.UnaryUnaryCall[Any, Any]):  # type: ignore[misc]  # grpc has no types
    """One call: awaitable for its response, raising AioRpcError for a status other than OK.

    Cancelling the awaiting task cancels the call.
    """

    def start(self, handler: grpc.RpcMethodHandler[Any, Any] | Beginning, request: bytes, metadata: Entries) -> None:
        """Serve the call in a task and contextvars context of its own; without one where it is answered at once."""
        context = InProcessContext(metadata, self._deadline)
        if isinstance(handler, grpc.RpcMethodHandler):
            self.go_on(partial(serve, handler, request, context), context)
        else:
            self.go_on(handler(request, context), context)

    def go_on(self, answer: bytes | Callable[[], Awaitable[Any]], context: InProcessContext) -> None:
        """End the call with its answer, or serve it as `start` does."""
        if isinstance(answer, bytes):
            self._end(context, _OK, "", answer)
            context.finish()
            return
        self._begin(self._serve(answer, context))

    def __await__(self) -> Generator[Any, None, Any]:
        """Return the response message."""
        while self._code is None:
            waiter = self._loop.create_future()
            self._waiters.append(waiter)
            try:
                yield from waiter
            except asyncio.CancelledError:
                self.cancel()
                raise
        return self.outcome()

    def outcome(self) -> Any:
        """Return the response message of a call that has ended, or raise what awaiting it raises."""
        if self._failure is not None:
            raise self._failure
        if self._cancelled_here:
            raise asyncio.CancelledError
        if self._code is not _OK:
            raise self._error()
        if self._payload is not None:
            self._parsed = self._parse(self._payload) if self._parse else self._payload
            self._payload = None
        return self._parsed


def _failure(status: grpc.StatusCode | None) -> grpc.StatusCode:
    return grpc.StatusCode.UNKNOWN if status is None or status is _OK else status
