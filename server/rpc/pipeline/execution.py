"""Runs an admitted call: in flight, within its deadline, its request parsed and checked, its response serialised.

These are one coroutine and not a stage each: all of them begin and end with the call, and every call passes them all.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from runtime.operations import DEFAULT_DEADLINE_MS
from server.errors import DeadlineExceeded, InvalidArgument, ResponseTooLarge
from server.rpc.pipeline.call import REQUEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.access.admission import ConcurrencyLimiter
    from server.errors import GatewayError
    from server.rpc.pipeline.call import Context, Method, RequestState, Stage, Step
    from server.rpc.pipeline.response_cache import ResponseCache

LONGEST_SECONDS = 60.0
"""The most a caller may ask for; a longer deadline is cut to this, so that nothing is held for an absent caller."""
MAX_REQUEST_BYTES = 4 * 1024 * 1024
MAX_RESPONSE_BYTES = 64 * 1024 * 1024
"""Largest messages, on every face (decisions 1.11). The transport refuses a longer request before anything is read."""


class Execution:
    """Runs calls through the stages to their servicers.

    `stages` check the request in their order, and wrap the servicer, the first one outermost. `limiter` bounds the
    calls in flight of the public surface; `cache` keeps whole answers.
    """

    def __init__(
        self,
        stages: Sequence[Stage] = (),
        *,
        limiter: ConcurrencyLimiter | None = None,
        cache: ResponseCache | None = None,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self._stages = tuple(stages)
        self._limiter = limiter
        self._cache = cache
        self._max_response_bytes = max_response_bytes

    def bind(self, method: Method) -> Step:
        """Return what runs an admitted call of the method: serialised request -> serialised response.

        The caller's deadline holds, or the operation's own when the caller sets none; `RequestState.deadline` is when
        it passes.
        """
        operation, name, path = method.operation, method.name, method.path
        default = operation.deadline if operation else DEFAULT_DEADLINE_MS / 1000
        longest = max(LONGEST_SECONDS, default)
        parse, serialise = method.handler.request_deserializer, method.handler.response_serializer
        max_bytes = self._max_response_bytes
        checks = [check for stage in self._stages if (check := stage.check(method)) is not None]
        servicer = method.handler.unary_unary
        for stage in reversed(self._stages):
            servicer = stage.wrap(method, servicer)
        limiter = None if operation is None else self._limiter
        cache = self._cache
        keep = cache.keep if cache is not None and cache.repeats(method) else None

        async def execute(request: bytes, context: Context, state: RequestState) -> bytes:
            principal = state.principal
            if limiter is not None and principal is not None:
                limiter.enter(principal)
            alarm = None
            try:
                remaining = context.time_remaining()
                if remaining is not None and remaining <= longest:
                    # The transport ends the call at the caller's own deadline, on both sides at once.
                    state.deadline = monotonic() + remaining
                else:
                    seconds = default if remaining is None else longest
                    state.deadline = monotonic() + seconds
                    alarm = Alarm(seconds)
                try:
                    message = parse(request)
                except DecodeError:
                    raise InvalidArgument(
                        f"the request of {name} is not the message that waypost.v1 defines;"
                        " regenerate the client's stubs"
                    ) from None
                for check in checks:
                    check(message, state)
                # Never reset: every call runs in a task and context of its own.
                REQUEST.set(state)
                answer = await servicer(message, context)
                # An answer that was kept is serialised already.
                response: bytes = answer if answer.__class__ is bytes else serialise(answer)
            except asyncio.CancelledError:
                if alarm is not None and alarm.is_cause():
                    raise _too_late(name, alarm.seconds) from None
                raise
            finally:
                if alarm is not None:
                    alarm.stop()
                if limiter is not None and principal is not None:
                    limiter.leave(principal)
            if len(response) > max_bytes:
                raise ResponseTooLarge(
                    f"the answer of {name} has {len(response)} bytes, at most {max_bytes} fit; ask for less at once"
                )
            # What was requested once is rarely requested again, and what came out of no cache cannot be vouched for.
            if keep is not None and state.cache.status == "hit":
                keep(path, request, state, response)
            return response

        return execute


def _too_late(name: str, seconds: float) -> GatewayError:
    return DeadlineExceeded(
        f"{name} was not answered within {seconds:g} s; try again, or ask for less at once", retry_after_ms=1000
    )


class Alarm:
    """Cancels the running task after some seconds.

    What `asyncio.timeout` does, at a third of its cost, which every call without a deadline of its own would pay.
    """

    __slots__ = ("_rang", "_task", "_timer", "seconds")

    def __init__(self, seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.seconds = seconds
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
