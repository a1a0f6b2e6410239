"""Counts and times every call, and writes one log line for each that fails.

Labels and lines hold operation, chain slug, code and reason; never a key, a client's address or an endpoint's URL.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from grpc import StatusCode

from runtime.logs import get_logger
from runtime.metrics import count_operation
from server.errors import DeadlineExceeded

if TYPE_CHECKING:
    from server.rpc.stages.state import RequestState

_log = get_logger("waypost.rpc")
# Statuses that the operator should look at; the others are the callers' business.
_OPERATORS = frozenset({StatusCode.INTERNAL, StatusCode.UNKNOWN, StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED})


# Timers ring a little early or late; cancelling this close to the deadline is the deadline.
_TIMER_SLACK = 0.01


def report_failure(name: str, state: RequestState) -> None:
    """Count a call that ended with `RequestState.error`, or with what is none of ours, and write its line."""
    failure = state.error
    if failure is None:
        _write(name, state, StatusCode.UNKNOWN, None)
    else:
        _write(name, state, failure.status, failure.reason)


def report_ended_by_caller(name: str, state: RequestState) -> None:
    """Count a call whose caller left; one that left at its deadline has a line."""
    # The transport ends a call at the caller's own deadline as it does when the caller cancels.
    if state.deadline is not None and monotonic() >= state.deadline - _TIMER_SLACK:
        _write(name, state, StatusCode.DEADLINE_EXCEEDED, DeadlineExceeded.reason)
    else:
        _count(name, state, StatusCode.CANCELLED, None)


def _count(name: str, state: RequestState, status: StatusCode, reason: str | None) -> None:
    count_operation(name, state.chain, status.name, reason, monotonic() - state.started)


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
