"""Stage 5: gives every call a deadline."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from runtime.operations import DEFAULT_DEADLINE_MS
from server.errors import DeadlineExceeded
from server.rpc.stages.state import REQUEST

if TYPE_CHECKING:
    from typing import Any

    from server.rpc.stages.state import Context, Handler, Method

LONGEST_SECONDS = 60.0
"""The most a caller may ask for; a longer deadline is cut to this, so that nothing is held for an absent caller."""


class Deadline:
    """Bounds a call by the caller's deadline, or by the operation's own when the caller sets none."""

    def bind(self, method: Method, inner: Handler) -> Handler:
        """Return `inner` under a deadline; `RequestState.deadline` says when it passes."""
        default = method.operation.deadline if method.operation else DEFAULT_DEADLINE_MS / 1000
        longest = max(LONGEST_SECONDS, default)
        name = method.name

        async def limit(request: Any, context: Context) -> Any:
            remaining = context.time_remaining()
            state = REQUEST.get()
            if remaining is not None and remaining <= longest:
                # The transport ends the call at the caller's own deadline, on both sides at once.
                state.deadline = monotonic() + remaining
                return await inner(request, context)
            seconds = default if remaining is None else longest
            state.deadline = monotonic() + seconds
            timer = asyncio.timeout(seconds)
            try:
                async with timer:
                    return await inner(request, context)
            except TimeoutError:
                if not timer.expired():
                    raise
                raise DeadlineExceeded(
                    f"{name} was not answered within {seconds:g} s; try again, or ask for less at once",
                    retry_after_ms=1000,
                ) from None

        return limit
