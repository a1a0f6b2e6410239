"""What is counted for the account of a caller: its calls as they end, and the requests to nodes that they open.

A request to a node is made in the context of whoever opened it, in which the state of the call being served is found.
What is sent to follow heads, to probe and to verify endpoints is the gateway's own, whichever call happened to begin
it, and so is everything outside of a call. So the sum over all accounts is what the pools count.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from grpc import StatusCode

from runtime.metrics import count_operation, success_counter
from server.access.usage import GATEWAY, Tally
from server.errors import DeadlineExceeded
from server.rpc.pipeline.call import REQUEST
from server.upstream.transport import PrometheusObserver

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.operations import Operation
    from server.access.usage import Usage
    from server.rpc.pipeline.call import Method, RequestState
    from server.upstream.transport import Purpose

# Of the purposes of a request those that a caller has.
_CALLERS = frozenset({"call", "heavy"})


def _used_as(operation: Operation | None) -> str:
    """Return what a call counts as in usage; of the rpcs that are not public there is one that callers pay for."""
    return "rpc.discover" if operation is None else operation.name


def call_counter(method: Method, usage: Usage | None) -> Callable[[RequestState], None]:
    """Return what counts an answered call of the operation, as a success and as usage: for every call."""
    if method.is_stream:
        return partial(_count_stream, method.name, usage)
    succeed, name = success_counter(method.name), _used_as(method.operation)
    if method.carries:
        # Each call that it carries was counted by itself.
        return succeed

    def count(state: RequestState) -> None:
        chain = state.chain
        succeed(state)
        principal = state.principal
        if principal is None or usage is None:
            return
        key = (principal.label, name, chain)
        tally = usage.tallies.get(key)
        if tally is None:
            tally = usage.tallies[key] = Tally()
        tally.requests += 1
        tally.items += state.items
        tally.units += state.units
        use = state.cache
        if use.status == "hit":
            tally.cache_hits += 1
        else:
            tally.folded += use.folded
            tally.joined += use.joined

    return count


def _count_stream(name: str, usage: Usage | None, state: RequestState) -> None:
    count_operation(name, state.chain, StatusCode.OK.name, None, None)
    if usage is not None and state.principal is not None:
        tally = usage.of(state.principal.label, _used_as(state.operation), state.chain)
        tally.requests += 1
        tally.items += 1
        tally.units += _uncounted(state)


def _uncounted(state: RequestState) -> int:
    """Return the units of a call that are no usage yet: those of a stream are counted while it is open."""
    return state.units if state.stream is None else state.units - state.stream.counted_units


def count_failure(usage: Usage, state: RequestState) -> None:
    """Count a call that failed as usage of its caller, where that is known.

    A stream that its caller ends, or whose deadline does, has not failed.
    """
    if state.principal is None or state.carries:
        return
    tally = usage.of(state.principal.label, _used_as(state.operation), state.chain)
    tally.requests += 1
    tally.items += state.items
    tally.units += _uncounted(state)
    tally.folded += state.cache.folded
    tally.joined += state.cache.joined
    if state.error is not None:
        tally.fail(state.error.reason)
    elif state.stream is not None:
        return
    elif state.is_past_deadline():
        tally.fail(DeadlineExceeded.reason)
    else:
        tally.fail(StatusCode.CANCELLED.name)


class AccountingObserver(PrometheusObserver):
    """The observer of all pools, which counts for Prometheus and for the accounts of callers."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    def transferred(self, chain: str, endpoint: str, purpose: Purpose, sent: int, received: int) -> None:
        """Count the request and its bytes."""
        super().transferred(chain, endpoint, purpose, sent, received)
        tally = self._tally(chain) if purpose in _CALLERS else self._usage.of(GATEWAY, "", chain)
        tally.upstream_requests += 1
        tally.bytes_sent += sent
        tally.bytes_received += received

    def joined(self, chain: str) -> None:
        """Count the joined call."""
        super().joined(chain)
        self._tally(chain).joined += 1

    def _tally(self, chain: str) -> Tally:
        state = REQUEST.get(None)
        if state is None or state.principal is None:
            return self._usage.of(GATEWAY, "", chain)
        operation = "" if state.operation is None else state.operation.name
        return self._usage.of(state.principal.label, operation, chain)
