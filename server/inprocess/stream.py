"""Streams over the in-process channel: one request, answered with messages as their reader takes them."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

import grpc
from grpc.aio import EOF, Metadata

from server.inprocess.call import Call
from server.inprocess.context import InProcessContext

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from server.inprocess.context import Entries

MOST_HELD = 32
MOST_HELD_BYTES = 16 * 1024
"""As much as this is written ahead of the reader: messages, and bytes of which the last one is beyond."""

_STYLES = "use either `read` or `async for` to go through the messages of a call"


class InProcessStream(Call, grpc.aio.UnaryStreamCall[Any, Any]):  # type: ignore[misc]  # grpc has no types
    """A call whose messages are read by `read`, or by `async for`; both raise AioRpcError for a status other than OK.

    Its servicer waits while as much is held as MOST_HELD and MOST_HELD_BYTES say, as it does on a socket: a few events
    of one moment are read in one turn. Cancelling the task that reads cancels the call.
    """

    __slots__ = ("_has_begun", "_held", "_iterator", "_reader", "_reads", "_serialise", "_unread", "_writer")

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._has_begun = False
        self._iterator: AsyncIterator[Any] | None = None
        self._reads = False
        # Written and unread, and their bytes.
        self._unread: deque[bytes] = deque()
        self._held = 0
        self._reader: asyncio.Future[Any] | None = None
        self._writer: asyncio.Future[None] | None = None
        self._serialise: Callable[[Any], bytes] | None = None

    def start(self, handler: grpc.RpcMethodHandler[Any, Any], request: bytes, metadata: Entries) -> None:
        """Serve the call in a task and contextvars context of its own."""
        context = InProcessContext(metadata, self._deadline)
        context.stream = self
        self._serialise = handler.response_serializer
        self._begin(self._serve(partial(_answer, handler, request, context), context))

    def begin(self, initial: Entries) -> None:
        """Take the initial metadata, once."""
        if not self._has_begun and self._code is None:
            self._initial, self._has_begun = initial, True
            self._wake()

    async def put(self, message: Any, initial: Entries | None) -> None:
        """Hand a message to the reader; return when there is room. CancelledError where the call ends before."""
        self.begin(initial or ())
        payload = self._serialise(message) if self._serialise else message
        if len(payload) > self._max_bytes:
            text = f"SERVER: Sent message larger than max ({len(payload)} vs. {self._max_bytes})"
            self.settle(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
            self._stop_servicer()
        if self._code is not None:
            # What served the call is being cancelled.
            await self._loop.create_future()
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(payload)
            return
        self._unread.append(payload)
        self._held += len(payload)
        if len(self._unread) >= MOST_HELD or self._held >= MOST_HELD_BYTES:
            self._writer = self._loop.create_future()
            await self._writer

    def settle(self, code: grpc.StatusCode, details: str, trailing: Entries = (), payload: bytes | None = None) -> None:
        """Give the call its status, once. What was written before the servicer ended can still be read."""
        if self._code is not None:
            return
        super().settle(code, details, trailing, payload)
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(EOF)

    def cancel(self) -> bool:
        """Cancel the call and its servicer, and drop what is unread; False when it has ended already."""
        was_running = super().cancel()
        self._unread.clear()
        return was_running

    def _expire(self) -> None:
        self._unread.clear()
        super()._expire()

    async def initial_metadata(self) -> Metadata:
        """Return the initial metadata, which come with the first message at the latest."""
        while self._code is None and not self._has_begun:
            waiter = self._loop.create_future()
            self._waiters.append(waiter)
            await waiter
        return Metadata(*self._initial)

    async def read(self) -> Any:
        """Return the next message; `grpc.aio.EOF` at the end of a call that ended as OK."""
        if self._iterator is not None:
            raise grpc.aio.UsageError(_STYLES)
        self._reads = True
        message = await self._take()
        if message is EOF:
            self._raise_for_status()
        return message

    def is_ready(self) -> bool:
        """Return whether the next message is there."""
        return bool(self._unread)

    def __aiter__(self) -> AsyncIterator[Any]:
        """Go through the messages."""
        if self._reads:
            raise grpc.aio.UsageError(_STYLES)
        if self._iterator is None:
            self._iterator = self._messages()
        return self._iterator

    async def _messages(self) -> AsyncIterator[Any]:
        while (message := await self._take()) is not EOF:
            yield message
        self._raise_for_status()

    async def _take(self) -> Any:
        payload: Any
        if self._unread:
            payload = self._unread.popleft()
            self._held -= len(payload)
            if self._writer is not None and not self._writer.done():
                self._writer.set_result(None)
        elif self._code is not None:
            return EOF
        else:
            self._reader = self._loop.create_future()
            try:
                payload = await self._reader
            except asyncio.CancelledError:
                self.cancel()
                raise
            if payload is EOF:
                return EOF
        return self._parse(payload) if self._parse else payload

    def _raise_for_status(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self.cancelled():
            raise asyncio.CancelledError
        if self._code is not grpc.StatusCode.OK:
            raise self._error()


async def _answer(handler: grpc.RpcMethodHandler[Any, Any], request: bytes, context: InProcessContext) -> None:
    parse, serve = handler.request_deserializer, handler.unary_stream
    message = parse(request) if parse else request
    if not inspect.isasyncgenfunction(serve):
        await serve(message, context)
        return
    async with aclosing(serve(message, context)) as answers:
        async for answer in answers:
            await context.write(answer)
