"""Gives every call a deadline."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from runtime.operations import DEFAULT_DEADLINE_MS
from server.errors import DeadlineExceeded

if TYPE_CHECKING:
    from typing import Any

    from server.rpc.stages.state import Context, Method, RequestState, Step

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
