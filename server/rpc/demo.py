"""The demo over gRPC: callers who send the word `demo` as their key, within the demo's quota of their address.

They bring no key, so their messages are read as those of health and reflection: a few at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc

from server.access.admission import over_quota
from server.access.quotas import Grant
from server.errors import BodyTooLarge, GatewayError
from server.rpc.pipeline.admission import count_refused, quota_metadata
from server.rpc.unauthenticated import Bounds, Unauthenticated, address_of

if TYPE_CHECKING:
    from runtime.listening import Proxies
    from server.access.admission import Admission, Principal
    from server.rpc.pipeline.admission import AdmissionStage
    from server.rpc.pipeline.boundary import Entrance
    from server.rpc.pipeline.call import Context, RequestState

MOST_BYTES = 64 * 1024
"""The longest request of the demo, on both faces."""


class DemoKey:
    """Admits calls of the demo: one client address has one quota, whichever face it calls.

    The address is the socket's, or what `proxies` forward. `bounds` are those of calls that are open without a key.
    """

    def __init__(
        self, admission: Admission, stage: AdmissionStage, proxies: Proxies, bounds: Bounds | None = None
    ) -> None:
        self._admission = admission
        self._stage = stage
        self._proxies = proxies
        self._open = Unauthenticated(bounds or Bounds(message_bytes=MOST_BYTES))

    def admit(
        self, state: RequestState, entrance: Entrance, handler: grpc.RpcMethodHandler[Any, Any]
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """Return the handler that answers the call; as one of a stream it reads the message when there is quota."""
        serve = handler.unary_stream if handler.response_streaming else handler.unary_unary

        async def answer(_: Any, context: Context) -> Any:
            try:
                principal = state.principal = self._admission.demo_client(self._address_of(context))
                with self._open.open_call(principal.id):
                    message = await self._read(principal, state, context)
                    return await serve(message, context)
            except GatewayError as failure:
                await entrance.fail(state, context, failure)

        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(answer)
        return grpc.stream_unary_rpc_method_handler(answer)

    async def _read(self, principal: Principal, state: RequestState, context: Context) -> bytes:
        charged = self._admission.quotas.charge(principal, 0)
        grant = charged if isinstance(charged, Grant) else await charged
        if not grant.remaining and not principal.policy.unlimited:
            state.quota = quota_metadata(principal, grant)
            refusal = over_quota(principal, grant)
            count_refused(state, refusal)
            raise refusal
        try:
            return await self._open.read_only(context, principal.id)
        except BodyTooLarge as failure:
            await self._stage.charge_refused(principal, state, failure.reason)
            raise

    def _address_of(self, context: Context) -> str:
        def forwarded() -> list[str]:
            metadata = context.invocation_metadata() or ()
            return [str(value) for name, value in metadata if name == "x-forwarded-for"]

        return self._proxies.client_of(address_of(context.peer()), forwarded)
