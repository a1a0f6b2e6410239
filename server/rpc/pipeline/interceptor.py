"""The one interceptor: every rpc of Waypost passes the boundary, admission and the stages (design section 3).

Over a socket the state is made here already, of the metadata alone, and a caller without a key is refused before
the message is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc

from runtime.heap import Garbage
from server.access.admission import DEMO
from server.errors import GatewayError
from server.marketplace.design import ROOT
from server.rpc.pipeline.admission import Costs, key_of
from server.rpc.pipeline.availability import Availability
from server.rpc.pipeline.call import ENTERED, INTERNAL, Execution, Method
from server.rpc.pipeline.permissions import Permissions
from server.rpc.pipeline.stream import StreamExecution
from server.rpc.pipeline.validation import Validation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from runtime.operations import Operation
    from server.access.admission import Admission
    from server.inprocess.context import Beginning
    from server.rpc.demo import DemoKey
    from server.rpc.pipeline.boundary import CallBoundary, Entrance
    from server.rpc.pipeline.call import RequestState, Stage
    from server.rpc.pipeline.open_streams import OpenStreams
    from server.rpc.pipeline.response_cache import ResponseCache


PUBLIC = "/waypost.v1."
APPS = f"/{ROOT}."


def build_execution(
    families: Mapping[str, str],
    admission: Admission,
    cache: ResponseCache | None = None,
    streams: OpenStreams | None = None,
) -> Execution:
    """Return what runs admitted calls; `families` maps chain slugs to family words, `streams` are those of the process.

    Key and quota come before anything of the request is looked at (decisions 1.1).
    """
    stages: tuple[Stage, ...] = (Availability(families), Permissions(), Validation(), Costs(admission.quotas))
    return Execution(
        stages if cache is None else (*stages, cache),
        limiter=admission.limiter,
        cache=cache,
        streams=None if streams is None else StreamExecution(streams),
    )


class StagesInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # grpc has no types
    """Puts boundary, admission and stages in front of every rpc of Waypost; health and reflection pass untouched.

    With `private` false, rpcs outside the public surface do not exist. `demo` serves callers of the demo's key, which
    is none without it. Composed handlers take and return serialised bytes.
    """

    def __init__(
        self,
        boundary: CallBoundary,
        execution: Execution,
        operations: Mapping[str, Operation],
        *,
        private: bool,
        demo: DemoKey | None = None,
    ) -> None:
        self._boundary = boundary
        self._execution = execution
        self._operations = operations
        self._private = private
        self._demo = demo
        self._composed: dict[str, tuple[grpc.RpcMethodHandler[Any, Any] | None, Entrance | None]] = {}
        self._refusal: Callable[[], Awaitable[GatewayError]] | None = None
        self._garbage = Garbage()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any]]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Return the method's composed handler; None (UNIMPLEMENTED) for methods that this listener does not have."""
        path = handler_call_details.method
        try:
            handler, entrance = self._composed[path]
        except KeyError:
            found = await continuation(handler_call_details)
            if found is None:
                # Not cached: callers choose paths freely.
                return None
            handler, entrance = self._composed[path] = self.compose(path, found), self._entrance(path, found)
        if entrance is None:
            return handler
        state = entrance.start(handler_call_details.invocation_metadata, False)
        if self._refusal is not None:
            return self._refuse(entrance, state, await self._refusal(), handler_call_details)
        if self._demo is not None and handler is not None and key_of(state) == DEMO:
            self._count_garbage(handler_call_details)
            ENTERED.set(state)
            return self._demo.admit(state, entrance, handler)
        if entrance.identify is not None:
            try:
                waiting = entrance.identify(state)
                if waiting is not None:
                    await waiting
            except GatewayError as refusal:
                return self._refuse(entrance, state, refusal, handler_call_details)
        # The handler runs in this same task and context.
        ENTERED.set(state)
        return handler

    def _refuse(
        self, entrance: Entrance, state: RequestState, refusal: GatewayError, details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[Any, Any]:
        self._count_garbage(details)
        return entrance.refuse(state, refusal)

    def _count_garbage(self, details: grpc.HandlerCallDetails) -> None:
        # gRPC leaves a cycle of each call that passes an interceptor, and the call's metadata in it.
        self._garbage.count(sum(len(name) + len(value) for name, value in details.invocation_metadata or ()))

    def refuse(self, refusal: Callable[[], Awaitable[GatewayError]]) -> None:
        """Answer every call that comes from now on with the failure that `refusal` returns; its message is not read."""
        self._refusal = refusal

    def forget(self, paths: Iterable[str]) -> None:
        """Compose these paths anew at their next call; calls in progress go on as they began."""
        for path in paths:
            self._composed.pop(path, None)

    def compose(self, path: str, handler: grpc.RpcMethodHandler[Any, Any]) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Return the handler behind boundary and stages; None when this listener does not have the method."""
        if path.startswith(INTERNAL) and not self._private:
            return None
        if not path.startswith((PUBLIC, APPS, INTERNAL)):
            return handler
        return self._compose(self._method(path, handler))

    def _compose(self, method: Method) -> grpc.RpcMethodHandler[Any, Any]:
        composed = self._boundary.bind(method, self._execution.bind(method))
        if method.is_stream:
            return grpc.unary_stream_rpc_method_handler(composed)
        return grpc.unary_unary_rpc_method_handler(composed)

    def compose_in_process(
        self, handlers: Mapping[str, grpc.RpcMethodHandler[Any, Any]]
    ) -> dict[str, grpc.RpcMethodHandler[Any, Any] | Beginning]:
        """Return the handlers of Waypost's own rpcs as `InProcessChannel` takes them."""
        methods = [self._method(path, handler) for path, handler in handlers.items()]
        return {
            one.path: self._compose(one)
            if one.is_stream
            else self._boundary.bind_in_process(one, self._execution.bind(one))
            for one in methods
        }

    def _entrance(self, path: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Entrance | None:
        own = path.startswith((PUBLIC, APPS)) or (self._private and path.startswith(INTERNAL))
        return self._boundary.entrance(self._method(path, handler)) if own else None

    def _method(self, path: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Method:
        return Method(path, handler, self._operations.get(path), self._private)
