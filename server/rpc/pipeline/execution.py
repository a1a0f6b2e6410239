"""An admitted call: in flight, within its deadline, its request parsed and checked, its response serialised."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from runtime.operations import DEFAULT_DEADLINE_MS
from server.errors import DeadlineExceeded, InvalidArgument, ResponseTooLarge

if TYPE_CHECKING:
    from typing import Any

    from server.rpc.pipeline.call import Context, Method, RequestState, Step


LONGEST_SECONDS = 60.0
"""The most a caller may ask for; a longer deadline is cut to this, so that nothing is held for an absent caller."""


class Deadline:
    """Bounds a call by the caller's deadline, or by the operation's own when the caller sets none."""

    def bind(self, method: Method, inner: Step) -> Step:
        """Return `inner` under a deadline; `RequestState.deadline` says when it passes."""
        default = method.operation.deadline if method.operation else DEFAULT_DEADLINE_MS / 1000
        longest = max(LONGEST_SECONDS, default)
        name = method.name

        async def limit(request: Any, context: Context, state: RequestState) -> Any:
            remaining = context.time_remaining()
            if remaining is not None and remaining <= longest:
                # The transport ends the call at the caller's own deadline, on both sides at once.
                state.deadline = monotonic() + remaining
                return await inner(request, context, state)
            seconds = default if remaining is None else longest
            state.deadline = monotonic() + seconds
            alarm = Alarm(seconds)
            try:
                return await inner(request, context, state)
            except asyncio.CancelledError:
                if alarm.is_cause():
                    raise DeadlineExceeded(
                        f"{name} was not answered within {seconds:g} s; try again, or ask for less at once",
                        retry_after_ms=1000,
                    ) from None
                raise
            finally:
                alarm.stop()

        return limit


class Alarm:
    """Cancels the running task after some seconds.

    What `asyncio.timeout` does, at a third of its cost, which every call without a deadline of its own would pay.
    """

    __slots__ = ("_rang", "_task", "_timer")

    def __init__(self, seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._rang = False
        self._timer = task.get_loop().call_later(seconds, self._ring)

    def is_cause(self) -> bool:
        """Return whether the alarm alone is why the task was cancelled; the task then counts as not cancelled."""
        return self._rang and self._task.uncancel() == 0

    def stop(self) -> None:
        """Do not ring any more."""
        self._timer.cancel()

    def _ring(self) -> None:
        self._rang = True
        self._task.cancel()


MAX_REQUEST_BYTES = 4 * 1024 * 1024
MAX_RESPONSE_BYTES = 64 * 1024 * 1024
"""Largest messages, on every face (decisions 1.11). The transport refuses a longer request before anything is read."""


class Messages:
    """Turns the caller's bytes into the rpc's request message and the servicer's response into bytes."""

    def __init__(self, max_bytes: int = MAX_RESPONSE_BYTES) -> None:
        self._max_bytes = max_bytes

    def bind(self, method: Method, inner: Step) -> Step:
        """Return `inner` between the rpc's own parser and serialiser."""
        parse = method.handler.request_deserializer
        serialise = method.handler.response_serializer
        max_bytes = self._max_bytes
        name = method.name

        async def convert(request: bytes, context: Context, state: RequestState) -> Any:
            try:
                message = parse(request)
            except DecodeError:
                raise InvalidArgument(
                    f"the request of {name} is not the message that waypost.v1 defines; regenerate the client's stubs"
                ) from None
            answer = await inner(message, context, state)
            # An answer that was kept is serialised already.
            response: bytes = answer if answer.__class__ is bytes else serialise(answer)
            if len(response) > max_bytes:
                raise ResponseTooLarge(
                    f"the answer of {name} has {len(response)} bytes, at most {max_bytes} fit; ask for less at once"
                )
            return response

        return convert
