"""The one interceptor: an ordered list of stages, composed once per method (design section 3).

A stage is an object with `bind(method, inner) -> step`: it wraps the step of the stages behind it, or returns it as it
is when it has nothing to do for that method, so that a call passes only what concerns it. A step that has nothing to do
after the one behind it is a plain function that returns what that one returns. The state of the call is handed from
step to step; the frame around them makes it, and the servicer finds it in a contextvar.

Over a socket the state is made here already, of the metadata alone, and a caller who brings no key is refused before
the message is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import grpc

from runtime.heap import Garbage
from server.errors import GatewayError
from server.marketplace.design import ROOT
from server.rpc.stages.state import ENTERED, REQUEST, Method

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from runtime.operations import Operation
    from server.rpc.stages.frame import Entrance, Frame
    from server.rpc.stages.state import Context, Handler, RequestState, Step

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
