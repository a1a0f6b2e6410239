"""What every call has around it: its identity at the start; its status, count and log line at the end.

Of calls that are refused there is one log line a minute for each reason and client, with the number of those that have
none: callers without a key must not fill the log. Labels and lines hold operation, chain slug, code and reason; never a
key, a client's address or an endpoint's URL.
"""

from __future__ import annotations

import asyncio
import hmac
import itertools
import logging
import re
import secrets
from functools import cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import grpc
from grpc import StatusCode

from runtime.listening import client_network
from runtime.logs import LogLimit, get_logger, takes_lines
from runtime.metrics import count_operation
from runtime.tracing import installed
from server.errors import DeadlineExceeded, KeyInvalid, KeyMissing, KeyNotAllowed, RateLimited, release
from server.inprocess import TRUSTED
from server.rpc.pipeline.accounting import call_counter, count_failure
from server.rpc.pipeline.call import ENTERED, REQUEST, RequestState
from server.rpc.pipeline.errors import answer_failure
from server.rpc.pipeline.traces import Traces, end_trace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from typing import NoReturn, TypeAlias

    from server.access.usage import Usage
    from server.errors import GatewayError
    from server.inprocess.context import Beginning, InProcessContext
    from server.rpc.pipeline.admission import AdmissionStage
    from server.rpc.pipeline.call import Context, Gate, Handler, Identify, Method, Step

    Metadata: TypeAlias = Iterable[tuple[str, str | bytes]]

_calls = itertools.count(1)
CACHE_CONTROL = "x-waypost-cache-control"
CREDENTIAL = "x-waypost-credential"
# Directives of RFC 9111, section 5.2.1, by which a caller asks for an answer that comes from a node now.
_FRESH = frozenset({"no-cache", "no-store", "max-age=0"})
# The metadata of the last call in this process, as they came and by name: the items of a batch share theirs.
_shared: list[Any] = [(), {}]
_acceptable = re.compile(r"[A-Za-z0-9._-]{1,64}").fullmatch


@cache
def _process() -> str:
    # Unique without asking for randomness at every call; not drawn with the module, which forks share.
    return secrets.token_hex(6)


def state_starter(method: Method, credential: str | None) -> Callable[[Metadata, bool], RequestState]:
    """Return what makes the state of one call of the method, of its metadata and whether it is of this process.

    A caller's `x-request-id` is kept when it is 1 to 64 characters of `[A-Za-z0-9._-]`; otherwise one is made. Trusted
    are callers in this process, and on the private listener those that present `credential`.
    """
    operation = method.operation
    secret = credential.encode() if credential and method.private else None

    def start(received: Metadata, trusted: bool) -> RequestState:
        if received is _shared[0]:
            metadata = _shared[1]
        else:
            metadata = {}
            # Not `dict(...)`, nor by unpacking: both make a list of each of gRPC's named tuples first.
            for entry in received:
                metadata[entry[0]] = entry[1]
            if trusted:
                _shared[:] = received, metadata
        given = metadata.get("x-request-id")
        request_id = given if isinstance(given, str) and _acceptable(given) else f"{_process()}-{next(_calls):x}"
        if secret is not None and _matches(metadata, secret):
            trusted = True
        state = RequestState(request_id, operation, monotonic(), metadata, trusted)
        if CACHE_CONTROL in metadata:
            state.cache.bypass = _wants_fresh(metadata[CACHE_CONTROL])
        return state

    return start


def _wants_fresh(directives: str | bytes) -> bool:
    return isinstance(directives, str) and any(word.strip().lower() in _FRESH for word in directives.split(","))


def _matches(metadata: dict[str, Any], credential: bytes) -> bool:
    given = metadata.get(CREDENTIAL)
    return isinstance(given, str) and hmac.compare_digest(given.encode(), credential)


_LOGGER = "waypost.rpc"
_log = get_logger(_LOGGER)
# Statuses that the operator should look at; the others are the callers' business.
_OPERATORS = frozenset({StatusCode.INTERNAL, StatusCode.UNKNOWN, StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED})
_REFUSED = frozenset({KeyMissing.reason, KeyInvalid.reason, KeyNotAllowed.reason, RateLimited.reason})
_refusals = LogLimit()


def report_failure(name: str, state: RequestState, context: Context) -> None:
    """Count a call that ended with `RequestState.error`, or with what is none of ours, and write its line."""
    failure = state.error
    # A call that is no stream and has no deadline of the server's never got behind admission.
    was_let_in = state.deadline is not None or state.stream is not None
    # What ends streams from outside ends thousands at once.
    is_ended = state.stream is not None and state.stream.ending is failure
    if failure is not None and (not was_let_in or failure.reason in _REFUSED or is_ended):
        client = "" if is_ended else _client(state, context)
        unwritten = _refusals.count((failure.reason, client))
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
    # The transport ends a call at the caller's own deadline as it does when the caller cancels. A stream was answered.
    if state.is_past_deadline() and state.stream is None:
        _write(name, state, StatusCode.DEADLINE_EXCEEDED, DeadlineExceeded.reason)
    else:
        _count(name, state, StatusCode.CANCELLED, None)


def _count(name: str, state: RequestState, status: StatusCode, reason: str | None) -> None:
    seconds = monotonic() - state.started
    # How long a stream was open says nothing about calls.
    count_operation(name, state.chain, status.name, reason, seconds if state.stream is None else None)
    if state.span is not None:
        end_trace(name, state, seconds, status.name, reason, failed=status in _OPERATORS)


def _client(state: RequestState, context: Context) -> str:
    """Return what is refused: the key that is known, else the address that the call came from."""
    if state.principal is not None:
        return state.principal.id
    address = state.metadata.get("x-waypost-client") if state.trusted else None
    if isinstance(address, str):
        return client_network(address)
    # `ipv4:192.0.2.1:4711`, `ipv6:[2001:db8::1]:4711`, `ipv6:%5B2001:db8::1%5D:4711`, `unix:`
    return client_network(unquote(context.peer() or "").partition(":")[2])


def _write(name: str, state: RequestState, status: StatusCode, reason: str | None, **more: int) -> None:
    _count(name, state, status, reason)
    is_operators = status in _OPERATORS
    if not takes_lines(_LOGGER, logging.WARNING if is_operators else logging.INFO):
        return
    write = _log.warning if is_operators else _log.info
    write(
        "call failed",
        operation=name,
        chain=state.chain,
        code=status.name,
        reason=reason,
        caller=state.principal.label if state.principal is not None else "",
        request_id=state.request_id,
        ms=round((monotonic() - state.started) * 1000, 1),
        **({"trace_id": state.trace_id} if state.trace_id else {}),
        **more,
    )


class CallBoundary:
    """Starts the state of a call, answers its failures, and counts it.

    `credential` is what the transcoder proves itself with on the private listener; `admission` decides whether the
    call is run at all; `usage` is where it is counted for its caller. Identity, telemetry and failures are
    one boundary, because a call that is answered at once spends most of its time between them (docs/decisions/0018).
    """

    def __init__(
        self,
        credential: str | None = None,
        admission: AdmissionStage | None = None,
        usage: Usage | None = None,
    ) -> None:
        self._credential = credential
        self._admission = admission
        tracer = installed()
        self._traces = None if tracer is None else Traces(tracer)
        self._usage = usage

    def bind(self, method: Method, inner: Step) -> Handler:
        """Return what gRPC calls: `inner` behind admission, within the boundary."""
        name, start, gate, count = self._parts(method, inner)
        usage = self._usage

        async def serve(request: Any, context: Context) -> Any:
            state = ENTERED.get()
            if state is None:
                state = start(context.invocation_metadata(), TRUSTED.get())
            REQUEST.set(state)
            try:
                answer = gate(request, context, state)
                response = answer if isinstance(answer, bytes) else await answer(request, context, state)
                context.set_trailing_metadata(state.trailing_metadata())
            except BaseException as failure:
                await _fail(name, state, context, failure, usage)
            count(state)
            return response

        return serve

    def bind_in_process(self, method: Method, inner: Step) -> Beginning:
        """Return what the in-process channel calls: as `bind`, but what is there already is returned at once."""
        name, start, gate, count = self._parts(method, inner)
        usage = self._usage

        def begin(request: bytes, context: InProcessContext) -> bytes | Callable[[], Awaitable[bytes]]:
            state = start(context.invocation_metadata(), True)
            try:
                answer = gate(request, context, state)
                if not isinstance(answer, bytes):
                    return partial(finish, answer, request, context, state)
                context.set_trailing_maker(state.trailing_metadata)
            except Exception as failure:
                return partial(_fail, name, state, context, failure, usage)
            count(state)
            return answer

        async def finish(step: Step, request: bytes, context: InProcessContext, state: RequestState) -> bytes:
            REQUEST.set(state)
            try:
                response = await step(request, context, state)
                context.set_trailing_maker(state.trailing_metadata)
            except BaseException as failure:
                await _fail(name, state, context, failure, usage)
            count(state)
            return response

        return begin

    def _parts(
        self, method: Method, inner: Step
    ) -> tuple[str, Callable[[Metadata, bool], RequestState], Gate, Callable[[RequestState], None]]:
        count = call_counter(method, self._usage)
        if self._traces is not None:
            # The reads of a stream have no end, and most are not its own.
            inner = inner if method.is_stream else self._traces.around(inner)
            count = self._traces.counter(method.name, count)
        gate: Gate = (lambda *_: inner) if self._admission is None else self._admission.bind(method, inner)
        return method.name, self._starter(method), gate, count

    def _starter(self, method: Method) -> Callable[[Metadata, bool], RequestState]:
        start = state_starter(method, self._credential)
        return start if self._traces is None else self._traces.starter(method, start)

    def entrance(self, method: Method) -> Entrance:
        """Return what callers of the method over a socket pass before their message is read."""
        identify = None if self._admission is None else self._admission.identifier(method)
        return Entrance(method.name, self._starter(method), identify, self._usage)


class Entrance:
    """Where the calls of one method over a socket begin: with their metadata alone.

    A message is read once its sender is identified: what a caller without a key sends is never held.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[Metadata, bool], RequestState],
        identify: Identify | None,
        usage: Usage | None = None,
    ) -> None:
        self._name = name
        self._usage = usage
        # What makes the state of a call, of its metadata and whether it is of this process.
        self.start = start
        self.identify = identify

    def refuse(self, state: RequestState, failure: GatewayError) -> grpc.RpcMethodHandler[Any, Any]:
        """Return the handler that answers the call with the failure; as one of a stream it may leave messages be."""

        async def refuse(messages: Any, context: Context) -> NoReturn:
            await self.fail(state, context, failure)

        return grpc.stream_unary_rpc_method_handler(refuse)

    async def fail(self, state: RequestState, context: Context, failure: BaseException) -> NoReturn:
        """End the call with the failure; always raises."""
        await _fail(self._name, state, context, failure, self._usage)


async def _fail(
    name: str, state: RequestState, context: Context, failure: BaseException, usage: Usage | None
) -> NoReturn:
    # What a failure's traceback holds is what every frame on its way has read: a megabyte that would wait for the
    # garbage collector, as the call's state holds the failure on, and gRPC its own end of the call.
    try:
        await answer_failure(name, state, context, failure)
    except asyncio.CancelledError:
        report_ended_by_caller(name, state)
        raise
    except grpc.aio.AbortError as end:
        report_failure(name, state, context)
        release(end)
        # gRPC's end of the call holds the failure, whose traceback holds that end: once more when it has passed there.
        asyncio.get_running_loop().call_soon(release, end)
        raise
    except grpc.aio.InternalError:
        # The caller left while its status waited behind what it did not read.
        report_failure(name, state, context)
        raise asyncio.CancelledError from None
    except BaseException:
        report_failure(name, state, context)
        raise
    finally:
        if usage is not None:
            count_failure(usage, state)
        if failure is state.error:
            release(failure)
        # A defect stays as it is: another call may be about to log it as well.
        del failure
