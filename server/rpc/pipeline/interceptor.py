"""The one interceptor: every rpc of Waypost passes the boundary, admission and the stages (design section 3).

Over a socket the state is made here already, of the metadata alone, and a caller who brings no key is refused before
the message is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import grpc

from runtime.heap import Garbage
from server.errors import GatewayError
from server.rpc.pipeline.availability import Availability
from server.rpc.pipeline.call import ENTERED, REQUEST, Method
from server.rpc.pipeline.execution import Deadline, Messages
from server.rpc.pipeline.validation import Costs, Validation
from server.typed_apps.design import ROOT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from runtime.operations import Operation
    from server.access.quotas import Quotas
    from server.rpc.pipeline.boundary import Entrance, Frame
    from server.rpc.pipeline.call import Context, Handler, RequestState, Step


def build_stages(
    families: Mapping[str, str],
    quotas: Quotas,
    answers: Stage | None = None,
) -> tuple[Stage, ...]:
    """Return the stages behind admission, outermost first.

    Key and quota come before anything of the request is looked at (decisions 1.1). `families` maps chain slugs to
    family words; `answers` is the stage that keeps answers, if any are kept.
    """
    return (
        Deadline(),
        Messages(),
        Availability(families),
        Validation(),
        Costs(quotas),
        *((answers,) if answers is not None else ()),
    )


PUBLIC = "/waypost.v1."
APPS = f"/{ROOT}."
INTERNAL = "/waypost.internal."


class Stage(Protocol):
    """One step that calls pass on their way to the servicer."""

    def bind(self, method: Method, inner: Step) -> Step:
        """Return `inner` with this step in front of it."""


class StagesInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # grpc has no types
    """Puts the frame and the stages in front of every rpc of Waypost; health and reflection pass untouched.

    With `private` false, rpcs outside the public surface do not exist. Composed handlers take and return serialised
    bytes: parsing and serialising are a stage.
    """

    def __init__(
        self, frame: Frame, stages: Sequence[Stage], operations: Mapping[str, Operation], *, private: bool
    ) -> None:
        self._frame = frame
        self._stages = tuple(stages)
        self._operations = operations
        self._private = private
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
                # Not remembered: callers choose paths freely.
                return None
            handler, entrance = self._composed[path] = self.compose(path, found), self._entrance(path, found)
        if entrance is None:
            return handler
        state = entrance.start(handler_call_details.invocation_metadata)
        if self._refusal is not None:
            return self._refuse(entrance, state, await self._refusal(), handler_call_details)
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
        # gRPC leaves a cycle of each call that passes an interceptor, and the call's metadata in it.
        self._garbage.count(sum(len(name) + len(value) for name, value in details.invocation_metadata or ()))
        return entrance.refuse(state, refusal)

    def refuse(self, refusal: Callable[[], Awaitable[GatewayError]]) -> None:
        """Answer every call that comes from now on with the failure that `refusal` returns; its message is not read."""
        self._refusal = refusal

    def compose(self, path: str, handler: grpc.RpcMethodHandler[Any, Any]) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Return the handler behind the stages; None when this listener does not have the method."""
        if path.startswith(INTERNAL) and not self._private:
            return None
        if not path.startswith((PUBLIC, APPS, INTERNAL)):
            return handler
        method = self._method(path, handler)
        step = _call_servicer(handler.unary_unary)
        for stage in reversed(self._stages):
            step = stage.bind(method, step)
        return grpc.unary_unary_rpc_method_handler(self._frame.bind(method, step))

    def _entrance(self, path: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Entrance | None:
        own = path.startswith((PUBLIC, APPS)) or (self._private and path.startswith(INTERNAL))
        return self._frame.entrance(self._method(path, handler)) if own else None

    def _method(self, path: str, handler: grpc.RpcMethodHandler[Any, Any]) -> Method:
        return Method(path, handler, self._operations.get(path), self._private)


def _call_servicer(servicer: Handler) -> Step:
    def call(request: Any, context: Context, state: RequestState) -> Awaitable[Any]:
        # Never reset: every call runs in a task and context of its own.
        REQUEST.set(state)
        return servicer(request, context)

    return call
