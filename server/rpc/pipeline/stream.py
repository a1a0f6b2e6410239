"""Runs admitted streams: their events are sent as they are, and charged as they go."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, Any

import grpc

from runtime.metrics import stream_events
from server.errors import ResponseTooLarge
from server.inprocess.channel import MAX_RESPONSE_BYTES
from server.rpc.pipeline.availability import slug_readers
from server.rpc.pipeline.call import REQUEST

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.rpc.pipeline.call import Context, Method, RequestState, Step
    from server.rpc.pipeline.open_streams import OpenStream, OpenStreams

CHARGED_EVENTS = 100
"""Each started so many events cost a unit; the first is that of the admission."""

# How long the end of a call may lag behind the end of its connection.
_LEAVING_SECONDS = 5.0

_STREAM: ContextVar[OpenStream] = ContextVar("waypost_stream")


async def charge(units: int) -> None:
    """Charge the caller of the stream being served for what it has looked at (items, blocks replayed).

    Waits while there is no quota, five seconds at most; then raises RateLimited. LookupError outside of a stream's own
    task and those that it began.
    """
    await _STREAM.get().charge(units)


class StreamExecution:
    """Runs admitted streams: parsed, checked, opened within `streams`, and sent until one side ends them.

    They have no deadline but the caller's own, and are not in flight.
    """

    def __init__(self, streams: OpenStreams, max_event_bytes: int = MAX_RESPONSE_BYTES) -> None:
        self._streams = streams
        self._max_event_bytes = max_event_bytes

    def bind(self, method: Method, read: Callable[[bytes, RequestState], Any]) -> Step:
        """Return what runs an admitted stream of the method, whose requests `read` parses and checks.

        The method's servicer yields `server.streams.events.Event`. The step itself returns nothing.
        """
        streams, max_bytes, watch = self._streams, self._max_event_bytes, method.handler.unary_stream
        readers = slug_readers(method.operation.method.input_type) if method.operation is not None else []

        async def send_all(message: Any, context: Context, stream: OpenStream) -> None:
            sent, count = 0, stream_events(method.name, stream.state.chain)
            async with aclosing(watch(message, context)) as events:
                async for event in events:
                    if stream.ending is not None:
                        # Its servicer went on although it was cancelled.
                        raise asyncio.CancelledError
                    payload = event.payload
                    if len(payload) > max_bytes:
                        raise ResponseTooLarge(
                            f"an event of {method.name} has {len(payload)} bytes, at most {max_bytes} fit"
                        )
                    if sent and not sent % CHARGED_EVENTS:
                        await stream.charge(1)
                    stream.sending = monotonic()
                    try:
                        if not sent:
                            # Apart from the event, which a reader may leave unread for as long as it likes.
                            await context.send_initial_metadata(())
                        await context.write(payload)
                    finally:
                        stream.sending = 0.0
                    stream.cursor = event.cursor
                    sent += 1
                    count.count += 1
                    if stream.ending is not None:
                        raise stream.ending

        async def run(request: bytes, context: Context, state: RequestState) -> bytes:
            remaining = context.time_remaining()
            if remaining is not None:
                # The transport ends the stream at the caller's own deadline, on both sides at once.
                state.deadline = monotonic() + remaining
            message = read(request, state)
            chains = [named for find in readers for named in find(message, "")]
            with streams.open(method, state, chains) as stream:
                state.stream = stream
                stream.cursor = getattr(message, "cursor", "")
                REQUEST.set(state)
                _STREAM.set(stream)
                try:
                    await send_all(message, context, stream)
                except asyncio.CancelledError:
                    if stream.is_ended() and stream.ending is not None:
                        raise stream.ending from None
                    raise
                except grpc.aio.InternalError:
                    # The connection is gone, and gRPC about to cancel this task.
                    await asyncio.sleep(_LEAVING_SECONDS)
                    raise
            return b""

        return run
