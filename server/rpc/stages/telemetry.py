"""Stage 2: counts and times every call, and writes one log line for each that fails.

Labels and lines hold operation, chain slug, code and reason; never a key, a client's address or an endpoint's URL.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from grpc import StatusCode

from runtime.logs import get_logger
from runtime.metrics import count_operation
from server.errors import DeadlineExceeded
from server.rpc.stages.state import REQUEST

if TYPE_CHECKING:
    from typing import Any

    from server.rpc.stages.state import Context, Handler, Method, RequestState

_log = get_logger("waypost.rpc")
# Statuses that the operator should look at; the others are the callers' business.
_OPERATORS = frozenset({StatusCode.INTERNAL, StatusCode.UNKNOWN, StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED})


# Timers ring a little early or late; cancelling this close to the deadline is the deadline.
_TIMER_SLACK = 0.01


class Telemetry:
    """Observes the calls that pass."""

    def bind(self, method: Method, inner: Handler) -> Handler:
        """Return `inner` observed."""
        name = method.name

        async def observe(request: Any, context: Context) -> Any:
            try:
                response = await inner(request, context)
            except asyncio.CancelledError:
                _report_ended_by_caller(name, REQUEST.get())
                raise
            except BaseException:
                _report(name, REQUEST.get())
                raise
            state = REQUEST.get()
            count_operation(name, state.chain, "OK", None, monotonic() - state.started)
            return response

        return observe


def _count(name: str, state: RequestState, status: StatusCode, reason: str | None) -> None:
    count_operation(name, state.chain, status.name, reason, monotonic() - state.started)


def _report_ended_by_caller(name: str, state: RequestState) -> None:
    # The transport ends a call at the caller's own deadline as it does when the caller cancels.
    if state.deadline is not None and monotonic() >= state.deadline - _TIMER_SLACK:
        _write(name, state, StatusCode.DEADLINE_EXCEEDED, DeadlineExceeded.reason)
    else:
        _count(name, state, StatusCode.CANCELLED, None)


def _report(name: str, state: RequestState) -> None:
    failure = state.error
    if failure is None:
        _write(name, state, StatusCode.UNKNOWN, None)
    else:
        _write(name, state, failure.status, failure.reason)


def _write(name: str, state: RequestState, status: StatusCode, reason: str | None) -> None:
    _count(name, state, status, reason)
    write = _log.warning if status in _OPERATORS else _log.info
    write(
        "call failed",
        operation=name,
        chain=state.chain,
        code=status.name,
        reason=reason,
        caller=state.principal.label if state.principal is not None else "",
        request_id=state.request_id,
        ms=round((monotonic() - state.started) * 1000, 1),
    )
