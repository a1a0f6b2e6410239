"""What is known about the call being served: stages hand it on, servicers find it in one contextvar.

It never travels as attributes of the gRPC context: that works in process and fails on a socket.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from server.chains.view import ReadView
from server.upstream.cache import CacheContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any, TypeAlias

    import grpc

    from runtime.operations import Operation
    from server.access.admission import Principal
    from server.errors import GatewayError

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


class Stage:
    """One part of a call's way to its servicer; for methods that it has nothing to do with it adds nothing."""

    def check(self, method: Method) -> Check | None:
        """Return what checks the requests of the method."""
        return None

    def wrap(self, method: Method, servicer: Handler) -> Handler:
        """Return the servicer with this stage around it."""
        return servicer


@dataclass(slots=True)
class RequestState:
    """The call being served. Times are seconds of the monotonic clock; `chain` is the slug once it is known to exist.

    `cache` holds what the caller wants of the cache and what came out of it. `quota` is what the caller receives about
    its quota, as trailing metadata; `error` is the failure that is answered. `further` are the units that the call
    costs beyond its operation's cost, set by the servicer where one operation stands for many.
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


REQUEST: ContextVar[RequestState] = ContextVar("waypost_request")
ENTERED: ContextVar[RequestState | None] = ContextVar("waypost_entered", default=None)
"""The state that the interceptor made of a call over a socket; None in process, where there is no interceptor."""


def current() -> RequestState:
    """Return the state of the call being served; LookupError outside of one."""
    return REQUEST.get()


def open_view(block: int | None = None) -> ReadView:
    """Return a view at `block` (None: the latest) that lives no longer than the call."""
    state = REQUEST.get()
    return ReadView(block=block, deadline=state.deadline, cache=state.cache)
