"""aiohttp's handler of one connection, without what it takes longest for (docs/decisions/0054).

An answer leaves in one write, and a request that has come whole begins to be answered when its last byte arrives: where
that needs no waiting, there is no task, no turn of the loop and no writer for it. aiohttp reads the requests, keeps
their order, and serves all others itself. Members of it that are not public are overridden: pyproject.toml bounds it.
"""

from __future__ import annotations

import asyncio
import types
from typing import TYPE_CHECKING, Any

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.http import RawRequestMessage

from transcoder.responses import WholeResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Generator

    from aiohttp import StreamReader
    from aiohttp.abc import AbstractStreamWriter


class Handler(web.RequestHandler):
    """Serves one connection. Its server's handler answers every request, raising nothing but ConnectionError.

    The first step of that is taken outside of any task: until it awaits something it must not ask for its own.
    """

    __slots__ = ("_answer", "_begun", "_make_request")

    def __init__(self, manager: web.Server, **options: Any) -> None:
        super().__init__(manager, **options)
        self._answer: Any = manager.request_handler
        self._make_request: Any = manager.request_factory
        self._begun: _Begun | None = None
        self._request_handler = self._go_on
        self._request_factory = self._take_up

    def data_received(self, data: bytes) -> None:
        """Take bytes; answer what can be answered at once."""
        # While it is hidden, no task is woken for what comes.
        waiter, self._waiter = self._waiter, None
        count = self._request_count
        try:
            super().data_received(data)
        finally:
            self._waiter = waiter
        if waiter is None or self._request_count == count:
            return
        is_answered = len(self._messages) == 1 and not self._paused and self._begin(*self._messages[0])
        # Reading a body may have the rest of what came parsed.
        if not is_answered and not waiter.done():
            waiter.set_result(None)

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Go on reading, if that was paused: every body that is read asks for it."""
        if self._reading_paused or self._buffer_paused:
            super().resume_reading(resume_parser)

    def connection_lost(self, exc: BaseException | None) -> None:
        """End what was begun for the client."""
        begun, self._begun = self._begun, None
        super().connection_lost(exc)
        if begun is not None:
            begun.cancel()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send the answer; return it, and whether the client has gone."""
        # What follows a request to upgrade is for aiohttp to find out.
        whole = resp.whole(request) if isinstance(resp, WholeResponse) and not self._upgraded else None
        if whole is None:
            finished = await super().finish_response(request, resp, start_time)
            self.watch_unsent()
            return finished
        if not self._write(whole):
            return resp, True
        if self._paused:
            try:
                await self._drain_helper()
            except ConnectionError:
                return resp, True
        return resp, False

    async def drained(self) -> None:
        """Return once the client has taken what was written. Raises ConnectionError when it has gone."""
        while self._paused or self.transport is None:
            await self._drain_helper()

    def is_last(self) -> bool:
        """Return whether the next answer is the last one, whatever its request says."""
        return False

    def watch_unsent(self) -> None:
        """Do what is to be done after each answer."""

    def _write(self, data: bytes) -> bool:
        """Return whether the client is there to be written to."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return False
        transport.write(data)
        self.watch_unsent()
        return True

    def _begin(self, message: Any, payload: StreamReader) -> bool:
        """Begin to answer a request that is there whole; return whether it is answered."""
        if (
            message.__class__ is not RawRequestMessage
            or message.method != hdrs.METH_POST
            or not payload.is_eof()
            or message.should_close
            or message.version != HttpVersion11
            or self._upgraded
            or self.is_last()
            or self._parser is None
            or self._manager is None
        ):
            return False
        request = self._make_request(message, payload, self, None, self._task_handler)
        begun = _Begun(request, self._answer(request))
        response = begun.begin()
        whole = response.whole(request) if isinstance(response, WholeResponse) else None
        if whole is None or not self._write(whole):
            self._begun = begun
            return False
        self._messages.popleft()
        self._parser.message_consumed()
        self._manager.requests_count += 1
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        return True

    def _take_up(
        self,
        message: Any,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        if self._begun is None:
            request: web.BaseRequest = self._make_request(message, payload, protocol, writer, task)
        else:
            request = self._begun.request
            request._payload_writer = writer
            request._task = task
        return request

    def _go_on(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        begun, self._begun = self._begun, None
        answering: Awaitable[web.StreamResponse] = self._answer(request) if begun is None else begun
        return answering


class _Begun:
    """The answer to a request, begun; awaiting it goes on with it."""

    __slots__ = ("_awaited", "_coroutine", "_failure", "_response", "request")

    def __init__(self, request: web.BaseRequest, coroutine: Coroutine[Any, Any, web.StreamResponse]) -> None:
        self.request = request
        self._coroutine = coroutine
        self._awaited: Any = None
        self._response: web.StreamResponse | None = None
        self._failure: BaseException | None = None

    def begin(self) -> web.StreamResponse | None:
        """Take the first step; return the response if it is there already."""
        try:
            self._awaited = self._coroutine.send(None)
        except StopIteration as end:
            self._response = end.value
        except Exception as failure:
            self._failure = failure
        return self._response

    def cancel(self) -> None:
        """End what was begun."""
        while self._response is None and self._failure is None:
            try:
                self._coroutine.throw(asyncio.CancelledError())
            except StopIteration as end:
                self._response = end.value
            except BaseException as failure:
                self._failure = failure

    @types.coroutine
    def _rest(self) -> Generator[Any, Any, web.StreamResponse]:
        coroutine, awaited = self._coroutine, self._awaited
        while True:
            try:
                try:
                    value = yield awaited
                except BaseException as failure:
                    awaited = coroutine.throw(failure)
                else:
                    awaited = coroutine.send(value)
            except StopIteration as end:
                response: web.StreamResponse = end.value
                return response

    def __await__(self) -> Generator[Any, Any, web.StreamResponse]:
        """Return the response. Raises what answering raises."""
        if self._failure is not None:
            raise self._failure
        if self._response is not None:
            return self._response
        return (yield from self._rest())
