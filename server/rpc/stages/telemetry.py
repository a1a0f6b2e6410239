"""Counts and times every call, and writes one log line for each that fails.

Of calls that are refused there is one line a minute for each reason and client, with the number of those that have
none: callers without a key must not fill the log. Labels and lines hold operation, chain slug, code and reason; never a
key, a client's address or an endpoint's URL.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import unquote

from grpc import StatusCode

from runtime.addresses import client_network
from runtime.log_limits import LogLimit
from runtime.logs import get_logger
from runtime.metrics import count_operation
from server.errors import DeadlineExceeded, KeyInvalid, KeyMissing, RateLimited

if TYPE_CHECKING:
    from server.rpc.stages.state import Context, RequestState

_log = get_logger("waypost.rpc")
# Statuses that the operator should look at; the others are the callers' business.
_OPERATORS = frozenset({StatusCode.INTERNAL, StatusCode.UNKNOWN, StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED})
_REFUSED = frozenset({KeyMissing.reason, KeyInvalid.reason, RateLimited.reason})
_refusals = LogLimit()

# Timers ring a little early or late; cancelling this close to the deadline is the deadline.
_TIMER_SLACK = 0.01


def report_failure(name: str, state: RequestState, context: Context) -> None:
    """Count a call that ended with `RequestState.error`, or with what is none of ours, and write its line."""
    failure = state.error
    # A call without a deadline of the server's never got behind admission.
    if failure is not None and (state.deadline is None or failure.reason in _REFUSED):
        unwritten = _refusals.count((failure.reason, _client(state, context)))
        if unwritten is None:
            _count(name, state, failure.status, failure.reason)
        else:
            _write(name, state, failure.status, failure.reason, unwritten=unwritten)
        return
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


def _client(state: RequestState, context: Context) -> str:
    """Return who is refused: the key that is known, else the address that the call came from."""
    if state.principal is not None:
        return state.principal.id
    address = state.metadata.get("x-waypost-client") if state.trusted else None
    if isinstance(address, str):
        return client_network(address)
    # `ipv4:192.0.2.1:4711`, `ipv6:[2001:db8::1]:4711`, `ipv6:%5B2001:db8::1%5D:4711`, `unix:`
    return client_network(unquote(context.peer() or "").partition(":")[2])


def _write(name: str, state: RequestState, status: StatusCode, reason: str | None, **more: int) -> None:
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
        **more,
    )
