"""What every call has around it: its state at the start; its status, count and log line at the end.

These are one stage and not three, because a call that is answered at once spends most of its time between them
(docs/decisions/0018).
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

import grpc

from runtime.metrics import success_counter
from server.errors import release
from server.inprocess import TRUSTED
from server.rpc.stages.errors import answer_failure, trailing_metadata
from server.rpc.stages.identity import state_starter
from server.rpc.stages.state import ENTERED
from server.rpc.stages.telemetry import report_ended_by_caller, report_failure

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from server.errors import GatewayError
    from server.rpc.stages.admission import AdmissionStage
    from server.rpc.stages.identity import Metadata
    from server.rpc.stages.state import Context, Gate, Handler, Identify, Method, RequestState, Step


class Frame:
    """Starts the state of a call, answers its failures, and counts it.

    `credential` is what the transcoder proves itself with on the private listener; `admission` stands before the other
    stages.
    """

    def __init__(self, credential: str | None = None, admission: AdmissionStage | None = None) -> None:
        self._credential = credential
        self._admission = admission

    def bind(self, method: Method, inner: Step) -> Handler:
        """Return `inner` in its frame: what gRPC calls."""
        name = method.name
        start = state_starter(method, self._credential)
        count = success_counter(name)
        gate: Gate = inner if self._admission is None else self._admission.bind(method, inner)

        async def frame(request: Any, context: Context) -> Any:
            state = ENTERED.get()
            if state is None:
                state = start(context.invocation_metadata(), TRUSTED.get())
            try:
                response = gate(request, context, state)
                if not isinstance(response, bytes):
                    response = await response
                context.set_trailing_metadata(trailing_metadata(state))
            except BaseException as failure:
                await _fail(name, state, context, failure)
            count(state.chain, monotonic() - state.started)
            return response

        return frame

    def entrance(self, method: Method) -> Entrance:
        """Return what callers of the method over a socket pass before their message is read."""
        identify = None if self._admission is None else self._admission.identifier(method)
        return Entrance(method.name, state_starter(method, self._credential), identify)


class Entrance:
    """Where the calls of one method over a socket begin: with their metadata alone.

    A message is read once it is known whose it is: what a caller without a key sends is never held.
    """

    def __init__(self, name: str, start: Callable[[Metadata, bool], RequestState], identify: Identify | None) -> None:
        self._name = name
        self._start = start
        self.identify = identify

    def start(self, metadata: Metadata) -> RequestState:
        """Return the state of a call with this metadata."""
        return self._start(metadata, False)

    def refuse(self, state: RequestState, failure: GatewayError) -> grpc.RpcMethodHandler[Any, Any]:
        """Return the handler that answers the call with the failure; as one of a stream it may leave messages be."""

        async def refuse(messages: Any, context: Context) -> NoReturn:
            await _fail(self._name, state, context, failure)

        return grpc.stream_unary_rpc_method_handler(refuse)


async def _fail(name: str, state: RequestState, context: Context, failure: BaseException) -> NoReturn:
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
    except BaseException:
        report_failure(name, state, context)
        raise
    finally:
        if failure is state.error:
            release(failure)
        # A defect stays as it is: another call may be about to log it as well.
        del failure
