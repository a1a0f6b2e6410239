"""Key and quota of a call, and what it costs beyond its admission.

Callers bring a key, the transcoder's single requests too; its batches and demo requests arrive admitted already, under
the principal that `AccessService.Admit` named.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from runtime.metrics import count_refusal
from server.access.principals import decode
from server.errors import GatewayError, KeyInvalid, RateLimited
from server.rpc.pipeline.boundary import CREDENTIAL

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any

    from server.access.admission import Admission
    from server.access.principals import Policy, Principal
    from server.access.quotas import Grant
    from server.rpc.pipeline.call import Context, Gate, Identify, Method, RequestState, Step
    from server.rpc.pipeline.response_cache import Recall


_BEARER = "bearer "


class AdmissionStage:
    """Admits one call: a trusted caller's principal as it is, everybody else by key and quota, one unit a call.

    An admitted request that equals one answered a moment ago gets that answer, if any are kept: without waiting, and
    so without ever being in flight.
    """

    def __init__(self, admission: Admission, recall: Recall | None = None) -> None:
        self._admission = admission
        self._recall = recall

    def bind(self, method: Method, inner: Step) -> Gate:
        """Return `inner` for admitted callers only; rpcs outside the public surface are for trusted callers."""
        if method.operation is None:
            return _trusted_only(inner)
        admission, flights = self._admission, self._admission.flights
        charge = self._charge
        shelf = self._recall.shelf(method) if self._recall is not None else None

        def admit(request: bytes, context: Context, state: RequestState) -> Awaitable[Any] | bytes:
            vouched = _vouched(state) if state.trusted else None
            if vouched is not None:
                return let_in(request, context, state, vouched)
            principal = state.principal
            try:
                if principal is None:
                    key = _key_of(state)
                    principal = admission.peek(key)
                    if principal is None:
                        return find_out(key, request, context, state)
                charge(state, principal)
            except GatewayError as refusal:
                _count_refusal(state, refusal)
                raise
            return let_in(request, context, state, principal)

        async def find_out(key: str, request: bytes, context: Context, state: RequestState) -> Any:
            try:
                principal = await admission.identify(key)
                charge(state, principal)
            except GatewayError as refusal:
                _count_refusal(state, refusal)
                raise
            answer = let_in(request, context, state, principal)
            return answer if isinstance(answer, bytes) else await answer

        def let_in(
            request: bytes, context: Context, state: RequestState, principal: Principal
        ) -> Awaitable[Any] | bytes:
            state.principal = principal
            kept = shelf.find(request, state) if shelf is not None else None
            return fly(request, context, state, principal) if kept is None else kept

        async def fly(request: bytes, context: Context, state: RequestState, principal: Principal) -> Any:
            flights.enter(principal)
            try:
                response = await inner(request, context, state)
            finally:
                flights.leave(principal)
            if shelf is not None:
                shelf.keep(request, state, response)
            return response

        return admit

    def identifier(self, method: Method) -> Identify:
        """Return what finds out whose a call is by its metadata alone, and raises KeyMissing or KeyInvalid.

        A key's owner becomes the principal of the call, which is charged later; what a trusted caller vouches for is
        left to that as well.
        """
        if method.operation is None:
            return _trusted_by_metadata
        admission = self._admission

        def identify(state: RequestState) -> Awaitable[None] | None:
            if state.trusted and _vouched(state) is not None:
                return None
            key = _key_of(state)
            try:
                state.principal = admission.peek(key)
            except GatewayError as refusal:
                _count_refusal(state, refusal)
                raise
            return None if state.principal is not None else find_out(key, state)

        async def find_out(key: str, state: RequestState) -> None:
            try:
                state.principal = await admission.identify(key)
            except GatewayError as refusal:
                _count_refusal(state, refusal)
                raise

        return identify

    def _charge(self, state: RequestState, principal: Principal) -> None:
        """Charge one unit, and tell the caller what is left; raises RateLimited where nothing is."""
        if principal.policy.unlimited:
            return
        grant = self._admission.quotas.charge(principal, 1)
        state.quota = quota_metadata(principal, grant)
        if not grant.admitted:
            raise RateLimited(
                f"the quota of {principal.policy.rate:g} calls a second is used up;"
                f" try again in {grant.retry_after_ms} ms",
                retry_after_ms=grant.retry_after_ms,
            )


def quota_metadata(principal: Principal, grant: Grant) -> tuple[tuple[str, str], ...]:
    """Return the quota as `ratelimit` and `ratelimit-policy` metadata (draft-ietf-httpapi-ratelimit-headers)."""
    policy = principal.policy
    return (
        ("ratelimit", f'"{policy.name}";r={grant.remaining};t={grant.reset_seconds}'),
        ("ratelimit-policy", _policy_text(policy)),
    )


def restate_quota(state: RequestState, principal: Principal, grant: Grant) -> None:
    """Let what the caller is told of the quota be `grant`, if anything is told: where the call itself brought a key."""
    if state.quota:
        state.quota = (quota_metadata(principal, grant)[0], *state.quota[1:])


@lru_cache(maxsize=256)
def _policy_text(policy: Policy) -> str:
    return f'"{policy.name}";q={policy.limit};w={policy.window_seconds}'


def _count_refusal(state: RequestState, refusal: GatewayError) -> None:
    count_refusal("jsonrpc" if state.trusted else "grpc", refusal.reason)


def _vouched(state: RequestState) -> Principal | None:
    text = state.metadata.get("x-waypost-principal")
    return decode(text) if isinstance(text, str) else None


def _key_of(state: RequestState) -> str:
    key = state.metadata.get("x-api-key")
    return key if key and isinstance(key, str) else _bearer_token(state)


def _bearer_token(state: RequestState) -> str:
    bearer = state.metadata.get("authorization")
    if isinstance(bearer, str) and bearer[: len(_BEARER)].lower() == _BEARER:
        return bearer[len(_BEARER) :].strip()
    return ""


def _trusted_by_metadata(state: RequestState) -> None:
    if not state.trusted:
        message = f"this listener serves the transcoder; send its credential as `{CREDENTIAL}`"
        raise KeyInvalid(message, field=CREDENTIAL)


def _trusted_only(inner: Step) -> Step:
    def admit(request: Any, context: Context, state: RequestState) -> Awaitable[Any]:
        _trusted_by_metadata(state)
        # Whom it is asked for, where that is anybody: who asked for the OpenRPC document pays for it.
        state.principal = _vouched(state)
        return inner(request, context, state)

    return admit
