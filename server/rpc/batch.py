"""BatchService: requests of many operations in one rpc, each answered as by a call of its own (docs/decisions/0051)."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from google.protobuf.message import DecodeError
from google.rpc import status_pb2
from grpc import StatusCode
from grpc.aio import AioRpcError, UsageError
from waypost.v1 import batch_pb2, batch_pb2_grpc

from runtime.config_errors import nearest
from runtime.metrics import count_refusal, observe_batch
from server.access.admission import over_quota
from server.access.quotas import Grant
from server.errors import (
    DeadlineExceeded,
    InvalidArgument,
    NotAvailable,
    RateLimited,
    ResponseTooLarge,
    UpstreamUnavailable,
)
from server.inprocess.channel import MAX_RESPONSE_BYTES
from server.rpc.pipeline.admission import PRINCIPAL, quota_metadata
from server.rpc.pipeline.boundary import CACHE_CONTROL
from server.rpc.pipeline.call import COST, current
from server.rpc.pipeline.errors import FACE, STATUS_DETAILS, describe
from server.rpc.pipeline.formats import shown
from server.rpc.pipeline.traces import TRACEPARENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from google.protobuf.any_pb2 import Any as AnyMessage

    from runtime.operations import Operation
    from server.access.admission import Admission, Principal
    from server.access.usage import Usage
    from server.errors import GatewayError
    from server.inprocess import InProcessChannel
    from server.inprocess.call import InProcessCall
    from server.inprocess.channel import InProcessMethod
    from server.rpc.pipeline.call import RequestState

    Result = batch_pb2.ExecuteResult

MOST_REQUESTS = 200
_TYPE_PREFIX = "type.googleapis.com/"
# What failures may take of the response: as much as their metadata may, were they calls of their own.
_FAILURE_BYTES = 8 * 1024
_ROOM = MAX_RESPONSE_BYTES - MOST_REQUESTS * _FAILURE_BYTES
# Type name, tags and lengths around an answer.
_WRAPPING_BYTES = 128
# How long before the batch's own deadline its calls end, so that the answers of the others still arrive: so many
# seconds, at most this part of the time that the caller gives.
_MARGIN_SECONDS = 0.5
_MARGIN_PART = 10
_MOST_HINTS = 10
_BATCH = batch_pb2.ExecuteRequest.DESCRIPTOR.full_name


class _Kind(NamedTuple):
    """An operation as a batch knows it; `states_cost`: what a call costs is known from its answer alone."""

    operation: Operation
    path: str
    deadline: float
    answer_url: str
    states_cost: bool

    @classmethod
    def of(cls, operation: Operation) -> _Kind:
        states_cost = operation.cost > 1 or operation.takes_items or operation.stands_for_many
        answer_url = _TYPE_PREFIX + operation.response.DESCRIPTOR.full_name
        return cls(operation, operation.path, operation.deadline, answer_url, states_cost)


class BatchServicer(batch_pb2_grpc.BatchServiceServicer):
    """Makes a call over the in-process channel for each request of a batch.

    `open_channel` returns that channel, which is there once the gateway is composed.
    """

    def __init__(
        self,
        operations: Iterable[Operation],
        watches: Iterable[Operation],
        open_channel: Callable[[], InProcessChannel],
        admission: Admission,
        usage: Usage,
    ) -> None:
        self._kinds = {one.request.DESCRIPTOR.full_name: _Kind.of(one) for one in operations}
        self._watches = {one.request.DESCRIPTOR.full_name: one.path for one in watches}
        self._open_channel = open_channel
        self._admission = admission
        self._usage = usage
        # How many calls at once the batches of a principal make.
        self._reserved: Counter[str] = Counter()

    async def Execute(self, request: batch_pb2.ExecuteRequest, context: Any) -> batch_pb2.ExecuteResponse:
        """Return what each request came to, in their order.

        Charges one unit for each in one operation; those that the quota does not admit are not called. Raises
        InvalidArgument for no request and for more than 200.
        """
        state = current()
        principal = state.principal
        assert principal is not None
        count = len(request.requests)
        if not 1 <= count <= MOST_REQUESTS:
            bound = f"at most {MOST_REQUESTS}" if count else "at least 1"
            raise InvalidArgument(f"requests has {count} elements; give {bound}", field="requests")
        charged = self._admission.quotas.charge(principal, count)
        grant = charged if isinstance(charged, Grant) else await charged
        state.units = grant.admitted
        observe_batch(count)
        if not principal.policy.unlimited:
            state.quota = quota_metadata(principal, grant)
        refused = count - grant.admitted
        if refused:
            count_refusal("grpc", RateLimited.reason, refused)
            self._usage.refuse(principal.label, RateLimited.reason, refused, units=0)
        batch = _Batch(self._kinds, self._watches, self._open_channel(), state, principal)
        room = self._admission.limiter.room(principal, self._reserved[principal.id])
        at_once = min(max(1, room), grant.admitted)
        self._reserved[principal.id] += at_once
        try:
            results = await batch.run(request.requests[: grant.admitted], at_once)
        finally:
            self._reserved[principal.id] -= at_once
            if not self._reserved[principal.id]:
                del self._reserved[principal.id]
            unbegun = grant.admitted - batch.begun
            if unbegun:
                batch.uncalled[StatusCode.CANCELLED.name] = unbegun
            # Calls are counted where they are answered.
            for reason, items in batch.uncalled.items():
                self._usage.refuse(principal.label, reason, items, units=items)
        state.units = batch.units
        if refused:
            results += [batch_pb2.ExecuteResult(error=describe(over_quota(principal, grant), state))] * refused
        return batch_pb2.ExecuteResponse(results=results)


class _Batch:
    """The admitted requests of one batch.

    `begun` of them have been looked at; `units` were charged for those that ended; `uncalled` led to no call, by
    reason.
    """

    def __init__(
        self,
        kinds: Mapping[str, _Kind],
        watches: Mapping[str, str],
        channel: InProcessChannel,
        state: RequestState,
        principal: Principal,
    ) -> None:
        self._kinds = kinds
        self._watches = watches
        self._channel = channel
        self._state = state
        metadata: list[tuple[str, str | bytes]] = [
            (PRINCIPAL, principal.encode()),
            ("x-request-id", state.request_id),
            (FACE, "grpc"),
        ]
        if CACHE_CONTROL in state.metadata:
            metadata.append((CACHE_CONTROL, state.metadata[CACHE_CONTROL]))
        if state.span is not None:
            metadata.append((TRACEPARENT, state.span.traceparent))
        self._metadata = tuple(metadata)
        assert state.deadline is not None
        self._until = state.deadline - min(_MARGIN_SECONDS, (state.deadline - monotonic()) / _MARGIN_PART)
        self._room = _ROOM
        self._methods: dict[str, InProcessMethod] = {}
        self._waiting: Iterator[tuple[int, AnyMessage]] = iter(())
        self._results: list[Result | None] = []
        self._calls: dict[InProcessCall, None] = {}
        self._at_once = 1
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.begun = 0
        self.units = 0
        self.uncalled: dict[str, int] = {}

    async def run(self, requests: Sequence[AnyMessage], at_once: int) -> list[Result]:
        """Return what the requests came to, in their order.

        So many calls are made at once, and the others follow as these end: none is refused because of its own batch.
        """
        if not requests:
            return []
        self._results = [None] * len(requests)
        self._waiting = iter(enumerate(requests))
        self._at_once = at_once
        try:
            self._begin_more()
            await self._end
        finally:
            calls, self._calls = self._calls, {}
            for call in calls:
                call.cancel()
        return [result for result in self._results if result is not None]

    def _begin_more(self) -> None:
        """Begin as many calls as there is room for; what is answered at once takes none."""
        while len(self._calls) < self._at_once:
            found = next(self._waiting, None)
            if found is None:
                if not self._calls and not self._end.done():
                    self._end.set_result(None)
                return
            self.begun += 1
            index, request = found
            try:
                result = self._begin(index, request)
            except (InvalidArgument, NotAvailable, DeadlineExceeded) as failure:
                result = self._uncalled(failure)
            except UsageError:
                # The channel is closed: the gateway stops.
                result = self._uncalled(_interrupted())
            self._results[index] = result

    def _begin(self, index: int, request: AnyMessage) -> Result | None:
        """Return what one request came to, None where a call is in progress.

        Before it is called: raises InvalidArgument for a request of no operation, NotAvailable for one of a stream,
        DeadlineExceeded where no time is left, UsageError when the gateway stops.
        """
        kind = self._find(request.type_url, index)
        left = self._until - monotonic()
        if left <= 0:
            raise _too_late(kind.operation)
        path = kind.path
        method = self._methods.get(path)
        if method is None:
            method = self._methods[path] = self._channel.unary_unary(path)
        # Without one the operation's own deadline holds.
        begun = method.begin(request.value, None if left >= kind.deadline else left, self._metadata)
        if isinstance(begun, tuple):
            response, trailing = begun
            self.units += _cost(kind, trailing)
            return self._answered(response, kind, index)
        if begun.done():
            return self._ended(begun, kind, index, request)
        self._calls[begun] = None
        begun.add_done_callback(partial(self._go_on, kind, index, request))
        return None

    def _go_on(self, kind: _Kind, index: int, request: AnyMessage, call: InProcessCall) -> None:
        """Take what a call came to, and begin others in its place."""
        # Of a batch that was left nothing is taken any more.
        if call not in self._calls:
            return
        del self._calls[call]
        try:
            self._results[index] = self._ended(call, kind, index, request)
            self._begin_more()
        except Exception as defect:
            if not self._end.done():
                self._end.set_exception(defect)

    def _ended(self, call: InProcessCall, kind: _Kind, index: int, request: AnyMessage) -> Result:
        try:
            response: bytes = call.outcome()
        except AioRpcError as error:
            self.units += _cost(kind, call.trailing)
            return batch_pb2.ExecuteResult(error=self._status(error, kind.operation, request, index))
        except asyncio.CancelledError:
            # The channel has cancelled the call alone.
            self.units += 1
            return self._failed(_interrupted())
        # The metadata of most are never made.
        self.units += _cost(kind, call.trailing) if kind.states_cost else 1
        return self._answered(response, kind, index)

    def _answered(self, response: bytes, kind: _Kind, index: int) -> Result:
        size = len(response) + _WRAPPING_BYTES
        if size > self._room:
            # Let go now, not when the others are there: what a batch holds is bounded.
            path = f"requests[{index}]"
            return self._failed(
                ResponseTooLarge(
                    f"{path} is answered with {len(response)} bytes, for which the answers beside it leave no room;"
                    " write it in another batch, or by itself",
                    field=path,
                )
            )
        self._room -= size
        result = batch_pb2.ExecuteResult()
        packed = result.response
        packed.type_url = kind.answer_url
        packed.value = response
        return result

    def _find(self, type_url: str, index: int) -> _Kind:
        _, slash, name = type_url.rpartition("/")
        kind = self._kinds.get(name)
        if kind is not None and slash:
            return kind
        path = f"requests[{index}]"
        if slash and name in self._watches:
            rpc = self._watches[name].removeprefix("/")
            raise NotAvailable(f"{path} asks for a stream, which no batch carries; call {rpc} by itself", field=path)
        if not slash:
            got = f"has the type URL {shown(type_url)}" if type_url else "has no type URL"
            reason = f"{got}; write {_TYPE_PREFIX} and a request's full name, such as waypost.v1.GetBalanceRequest"
        elif name == _BATCH:
            reason = "is a batch itself; write its requests here"
        else:
            # A look takes a millisecond.
            is_few = self.uncalled.get(InvalidArgument.reason, 0) < _MOST_HINTS
            near = nearest(name, self._kinds) if is_few else None
            hint = f"; did you mean {near}?" if near else "; write the request of an rpc of waypost.v1"
            reason = f"is of type {shown(name)}, which no operation takes{hint}"
        raise InvalidArgument(f"{path} {reason}", field=path)

    def _uncalled(self, failure: GatewayError) -> Result:
        self.units += 1
        self.uncalled[failure.reason] = self.uncalled.get(failure.reason, 0) + 1
        return self._failed(failure)

    def _failed(self, failure: GatewayError) -> Result:
        return batch_pb2.ExecuteResult(error=describe(failure, self._state))

    def _status(self, error: AioRpcError, operation: Operation, request: AnyMessage, index: int) -> status_pb2.Status:
        """Return why a call failed: what the call states, if its servicer had any part in that."""
        code = error.code()
        if code is StatusCode.INVALID_ARGUMENT and not _is_message(operation, request.value):
            path = f"requests[{index}]"
            failure: GatewayError = InvalidArgument(
                f"the value of {path} is not the {operation.request.DESCRIPTOR.name} that waypost.v1 defines;"
                " regenerate the client's stubs",
                field=path,
            )
            return describe(failure, self._state)
        for name, value in error.trailing_metadata() or ():
            if name == STATUS_DETAILS:
                return status_pb2.Status.FromString(value)
        if code is StatusCode.DEADLINE_EXCEEDED:
            return describe(_too_late(operation), self._state)
        return describe(_interrupted(), self._state)


def _is_message(operation: Operation, value: bytes) -> bool:
    try:
        operation.request.FromString(value)
    except DecodeError:
        return False
    return True


def _too_late(operation: Operation) -> DeadlineExceeded:
    text = f"{operation.name} was not answered before the deadline of its batch; give it longer, or write less at once"
    return DeadlineExceeded(text, retry_after_ms=1000)


def _interrupted() -> UpstreamUnavailable:
    return UpstreamUnavailable("the call was interrupted inside the gateway; try again", retry_after_ms=1000)


def _cost(kind: _Kind, trailing: Iterable[tuple[str, str | bytes]]) -> int:
    """Return the units that a call was charged, as it states them; 1 where it ended without."""
    if kind.states_cost:
        for name, value in trailing:
            if name == COST:
                return int(value)
    return 1
