"""The call being served: what is known about it, and how it runs once it is admitted.

Stages hand its state on, servicers find it in one contextvar. It never travels as attributes of the gRPC context: that
works in process and fails on a socket.
"""

from __future__ import annotations

import asyncio
import re
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, cast

from google.protobuf.message import DecodeError

from runtime.logs import CALL
from runtime.operations import DEFAULT_DEADLINE_MS
from server.chains.view import ReadView
from server.errors import BodyTooLarge, DeadlineExceeded, InvalidArgument, ResponseTooLarge
from server.inprocess.channel import MAX_REQUEST_BYTES, MAX_RESPONSE_BYTES
from server.rpc.pipeline.sizes import request_bound
from server.upstream.cache import CacheContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    import grpc

    from runtime.operations import Operation
    from runtime.tracing import Span
    from server.access.admission import ConcurrencyLimiter, Principal
    from server.errors import GatewayError
    from server.rpc.pipeline.open_streams import OpenStream
    from server.rpc.pipeline.response_cache import ResponseCache
    from server.rpc.pipeline.stream import StreamExecution

    Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
    # What gRPC calls: a servicer's method with messages, or the boundary with bytes.
    Handler = Callable[[Any, Context], Awaitable[Any]]
    # What looks at a request message before the servicer, raises where it will not do, and may complete it.
    Check = Callable[[Any, "RequestState"], None]
    # What runs an admitted call, on serialised messages.
    Step = Callable[[bytes, Context, "RequestState"], Awaitable[bytes]]
    # What the boundary calls: returns the answer where it is there already, else the step that brings it.
    Gate = Callable[[bytes, Context, "RequestState"], bytes | Step]
    # What a call over a socket passes before its message is read; something to await where that takes a while.
    Identify = Callable[["RequestState"], Awaitable[None] | None]

INTERNAL = "/waypost_internal."
CACHE_STATUS = "x-waypost-cache"
_trace_id = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}").fullmatch
COST = "x-waypost-cost"
_MOST_USUAL = 64
_COSTS = tuple((COST, str(units)) for units in range(_MOST_USUAL))


@dataclass(frozen=True, slots=True)
class Method:
    """One rpc as the stages see it; `operation` is None for rpcs that are not part of the public surface."""

    path: str
    handler: grpc.RpcMethodHandler[Any, Any]
    operation: Operation | None
    private: bool = False

    @property
    def name(self) -> str:
        """The operation's JSON-RPC name, or the rpc's own name."""
        return self.operation.name if self.operation else self.path.rpartition("/")[2]

    @property
    def is_stream(self) -> bool:
        """Whether it answers with events until one side ends it."""
        return self.operation is not None and self.operation.is_stream

    @property
    def carries(self) -> bool:
        """Whether it is a public rpc that is no operation itself: calls that it makes for its caller are charged."""
        return self.operation is None and not self.path.startswith(INTERNAL)


class Stage:
    """One part of a call's way to its servicer; for methods that it has nothing to do with it adds nothing."""

    def check(self, method: Method) -> Check | None:
        """Return what checks the requests of the method."""
        return None

    def wrap(self, method: Method, servicer: Handler) -> Handler:
        """Return the servicer with this stage around it."""
        return servicer


# Timers ring a little early or late; cancelling this close to the deadline is the deadline.
_TIMER_SLACK = 0.01


@dataclass(slots=True)
class RequestState:
    """The call being served. Times are seconds of the monotonic clock; `chain` is the slug once it is known to exist.

    `cache` holds what the caller wants of the cache and what came out of it. `quota` is what the caller receives about
    its quota, as trailing metadata; `error` is the failure that is answered. `further` are the units that the call
    costs beyond its operation's cost, set by the servicer where one operation stands for many. `units` are those that
    it was charged so far, debt included; `items` those of a multi-item operation, else 1. `span` is that of the call
    where it is traced. `carries` is as `Method.carries`. `stream` is what a stream has besides, once it is open.
    """

    request_id: str
    operation: Operation | None
    started: float
    metadata: Mapping[str, str | bytes]
    trusted: bool = False
    principal: Principal | None = None
    deadline: float | None = None
    chain: str = ""
    cache: CacheContext = field(default_factory=CacheContext)
    quota: tuple[tuple[str, str], ...] = ()
    error: GatewayError | None = None
    further: int = 0
    units: int = 0
    items: int = 1
    span: Span | None = None
    carries: bool = False
    stream: OpenStream | None = None

    @property
    def trace_id(self) -> str:
        """The id of the call's trace, empty where it is not traced."""
        if self.span is not None:
            return self.span.trace_id
        # An internal call has no span: it is part of the transcoder's.
        given = self.metadata.get("traceparent") if self.trusted else None
        found = _trace_id(given) if isinstance(given, str) else None
        return "" if found is None else found[1]

    def is_past_deadline(self) -> bool:
        """Return whether the call ended at its deadline: the transport ends it then as where its caller cancels."""
        return self.deadline is not None and monotonic() >= self.deadline - _TIMER_SLACK

    def trailing_metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        """Return what is sent with the status, whatever it is; `x-waypost-cache` where the cache had any part in it.

        `x-waypost-cost` are the units charged, where the caller is known.
        """
        status = self.cache.status
        if self.principal is None:
            return (("x-request-id", self.request_id), *self.quota)
        units = self.units
        cost = _COSTS[units] if units < _MOST_USUAL else (COST, str(units))
        metadata = (("x-request-id", self.request_id), cost, *self.quota)
        return metadata if status is None else (*metadata, (CACHE_STATUS, status))


REQUEST = cast("ContextVar[RequestState]", CALL)
ENTERED: ContextVar[RequestState | None] = ContextVar("waypost_entered", default=None)
"""The state that the interceptor made of a call over a socket; None in process, where there is no interceptor."""


def current() -> RequestState:
    """Return the state of the call being served; LookupError outside of one."""
    return REQUEST.get()


def open_view(block: int | None = None) -> ReadView:
    """Return a view at `block` (None: the latest) that lives no longer than the call.

    A `block` is that of everything the call reads: an answer of a final one is kept whole. A stream has no end of its
    own: a view of one lives as long as a call without a deadline would.
    """
    state = REQUEST.get()
    if state.stream is not None:
        return ReadView(block=block, deadline=monotonic() + DEFAULT_DEADLINE_MS / 1000, cache=CacheContext())
    state.cache.states_block = block is not None
    return ReadView(block=block, deadline=state.deadline, cache=state.cache)


LONGEST_SECONDS = 60.0
"""The most a caller may ask for; a longer deadline is cut to this, so that nothing is held for an absent caller."""


def request_reader(method: Method, stages: Sequence[Stage]) -> Callable[[bytes, RequestState], Any]:
    """Return what parses the serialised requests of the method and has the stages check them, in their order.

    It raises InvalidArgument for what is no such message, BodyTooLarge for one that is longer than it needs to be, and
    what the stages raise.
    """
    name, operation, parse = method.name, method.operation, method.handler.request_deserializer
    longest = MAX_REQUEST_BYTES if operation is None else request_bound(operation)
    checks = [check for stage in stages if (check := stage.check(method)) is not None]

    def read(request: bytes, state: RequestState) -> Any:
        try:
            message = parse(request)
        except DecodeError:
            raise InvalidArgument(
                f"the request of {name} is not the message that waypost.v1 defines; regenerate the client's stubs"
            ) from None
        for check in checks:
            check(message, state)
        # Last: what is too long by itself has been refused by its name.
        if len(request) > longest:
            raise BodyTooLarge(
                f"the request of {name} has {len(request)} bytes as a message, at most {longest} fit; ask for less at"
                " once"
            )
        return message

    return read


class Execution:
    """Runs admitted calls: in flight, within their deadline, parsed, checked by the stages, answered, serialised.

    This is one coroutine and not a stage each: all of it begins and ends with the call, and every call passes it all.

    `stages` check the request in their order, and wrap the servicer, the first one outermost. `limiter` bounds the
    calls in flight of the public surface; `cache` keeps whole answers; `streams` runs what answers with events.
    """

    def __init__(
        self,
        stages: Sequence[Stage] = (),
        *,
        limiter: ConcurrencyLimiter | None = None,
        cache: ResponseCache | None = None,
        streams: StreamExecution | None = None,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self._stages = tuple(stages)
        self._limiter = limiter
        self._cache = cache
        self._streams = streams
        self._max_response_bytes = max_response_bytes

    def bind(self, method: Method) -> Step:
        """Return what runs an admitted call of the method: serialised request -> serialised response.

        The caller's deadline holds, or the operation's own when the caller sets none; `RequestState.deadline` says when
        it passes.
        """
        if method.is_stream:
            assert self._streams is not None
            return self._streams.bind(method, request_reader(method, self._stages))
        operation, name, path = method.operation, method.name, method.path
        default = operation.deadline if operation else DEFAULT_DEADLINE_MS / 1000
        if method.carries:
            # What it carries has deadlines of its own.
            default = LONGEST_SECONDS
        longest = max(LONGEST_SECONDS, default)
        serialise = method.handler.response_serializer
        max_bytes = self._max_response_bytes
        read = request_reader(method, self._stages)
        servicer = method.handler.unary_unary
        for stage in reversed(self._stages):
            servicer = stage.wrap(method, servicer)
        limiter = None if operation is None else self._limiter
        cache = self._cache
        keep = cache.keep if cache is not None and cache.keeps(method) else None

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
                message = read(request, state)
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
            # What was asked for once is rarely asked for again, and what came out of no cache cannot be vouched for.
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
