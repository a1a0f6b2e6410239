"""Key and quota of a call, and what it costs beyond its admission.

Callers bring a key, the transcoder's single requests too; its batches and demo requests arrive admitted already, under
the principal that `AccessService.Admit` named.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from runtime.metrics import count_refusal
from runtime.operations import cost_of
from server.access.admission import decode, over_quota
from server.access.quotas import Grant
from server.errors import GatewayError, KeyInvalid, RateLimited
from server.rpc.pipeline.boundary import CREDENTIAL
from server.rpc.pipeline.call import REQUEST, Stage
from server.rpc.pipeline.permissions import check_operation

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any

    from server.access.admission import Admission, Policy, Principal
    from server.access.quotas import ChargesQuotas
    from server.access.usage import Usage
    from server.rpc.pipeline.call import Check, Context, Gate, Handler, Identify, Method, RequestState, Step
    from server.rpc.pipeline.response_cache import ResponseCache


PRINCIPAL = "x-waypost-principal"
_BEARER = "bearer "
# What is no caller's request, though it is about one.
_ABOUT_CALLERS = "/waypost_internal.v1.AccessService/"


class AdmissionStage:
    """Admits one call: a trusted caller's principal as it is, all others by key and quota, one unit a call.

    An admitted request that equals one answered a moment ago gets that answer, if any are kept: without waiting, and
    so without ever being in flight.
    """

    def __init__(self, admission: Admission, cache: ResponseCache | None = None, usage: Usage | None = None) -> None:
        self._admission = admission
        self._cache = cache
        self._usage = usage

    def bind(self, method: Method, inner: Step) -> Gate:
        """Return `inner` for admitted callers only; rpcs outside the public surface are for trusted callers."""
        if method.carries:
            return self._carrying(inner)
        if method.operation is None:
            return _trusted_only(method, inner)
        admission, charge, path, cache = self._admission, self._admission.quotas.charge, method.path, self._cache
        find = cache.find if cache is not None and cache.keeps(method) else None

        def admit(request: bytes, context: Context, state: RequestState) -> bytes | Step:
            principal = _vouched(state) if state.trusted and PRINCIPAL in state.metadata else None
            if principal is not None:
                state.principal = principal
            else:
                principal = state.principal
                try:
                    if principal is None:
                        given = state.metadata.get("x-api-key")
                        key = given if given and isinstance(given, str) else _bearer_token(state)
                        principal = admission.peek(key)
                        if principal is None:
                            return look_up
                        state.principal = principal
                    if not principal.policy.unlimited:
                        grant = charge(principal, 1)
                        if not isinstance(grant, Grant):
                            return partial(wait, grant, principal)
                        _settle(state, principal, grant)
                except GatewayError as refusal:
                    count_refused(state, refusal)
                    raise
            return answer(principal, request, state)

        def answer(principal: Principal, request: bytes, state: RequestState) -> bytes | Step:
            state.units = 1
            rights = principal.rights
            if rights is None:
                kept = find(path, request, state) if find is not None else None
                return inner if kept is None else kept
            try:
                check_operation(method, rights)
            except GatewayError as refusal:
                count_refused(state, refusal)
                raise
            kept = find(path, request, state, rights.chains) if find is not None else None
            return inner if kept is None else kept

        async def wait(
            granted: Awaitable[Grant], principal: Principal, request: bytes, context: Context, state: RequestState
        ) -> bytes:
            try:
                _settle(state, principal, await granted)
            except GatewayError as refusal:
                count_refused(state, refusal)
                raise
            answered = answer(principal, request, state)
            return answered if isinstance(answered, bytes) else await answered(request, context, state)

        async def look_up(request: bytes, context: Context, state: RequestState) -> bytes:
            try:
                state.principal = await admission.identify(key_of(state))
            except GatewayError as refusal:
                count_refused(state, refusal)
                raise
            admitted = admit(request, context, state)
            return admitted if isinstance(admitted, bytes) else await admitted(request, context, state)

        return admit

    def _carrying(self, inner: Step) -> Gate:
        """Return `inner` for callers with a key; it charges what it carries by itself.

        A request that is refused before that, such as one that cannot be parsed, costs one unit (docs/decisions/0046).
        """
        admission = self._admission

        async def carry(request: bytes, context: Context, state: RequestState) -> bytes:
            principal = state.principal
            if principal is None:
                try:
                    principal = state.principal = await admission.identify(key_of(state))
                except GatewayError as refusal:
                    count_refused(state, refusal)
                    raise
            try:
                return await inner(request, context, state)
            except GatewayError as failure:
                if not state.units:
                    await self.charge_refused(principal, state, failure.reason)
                raise

        def admit(request: bytes, context: Context, state: RequestState) -> Step:
            state.carries = True
            return carry

        return admit

    async def charge_refused(self, principal: Principal, state: RequestState, reason: str) -> None:
        """Charge the unit of a request that is refused before it is a call. Raises RateLimited beyond the quota."""
        charged = self._admission.quotas.charge(principal, 1)
        grant = charged if isinstance(charged, Grant) else await charged
        try:
            if not principal.policy.unlimited:
                _settle(state, principal, grant)
            state.units = 1
        except RateLimited as refusal:
            count_refused(state, refusal)
            reason = refusal.reason
            raise
        finally:
            if self._usage is not None:
                self._usage.refuse(principal.label, reason, 1, units=state.units)

    def identifier(self, method: Method) -> Identify:
        """Return what identifies a call's principal by its metadata alone, and raises KeyMissing or KeyInvalid.

        A key's owner becomes the principal of the call, which is charged later; what a trusted caller vouches for is
        left to that as well.
        """
        if method.operation is None and not method.carries:
            return _trusted_by_metadata
        admission = self._admission

        def identify(state: RequestState) -> Awaitable[None] | None:
            if state.trusted and _vouched(state) is not None:
                return None
            key = key_of(state)
            try:
                state.principal = admission.peek(key)
            except GatewayError as refusal:
                count_refused(state, refusal)
                raise
            return None if state.principal is not None else find_out(key, state)

        async def find_out(key: str, state: RequestState) -> None:
            try:
                state.principal = await admission.identify(key)
            except GatewayError as refusal:
                count_refused(state, refusal)
                raise

        return identify


def _settle(state: RequestState, principal: Principal, grant: Grant) -> None:
    """Report to the caller what is left of the quota; raises RateLimited where the call was not admitted."""
    state.quota = quota_metadata(principal, grant)
    if not grant.admitted:
        raise over_quota(principal, grant)


class Costs(Stage):
    """Charges what a valid call costs beyond the one unit of its admission.

    The call has been admitted, so it is not refused here: the caller's later calls wait for the debt.
    """

    def __init__(self, quotas: ChargesQuotas) -> None:
        self._quotas = quotas

    def check(self, method: Method) -> Check | None:
        """Return what charges by cost and number of items where that is more than one unit."""
        operation = method.operation
        if method.is_stream:
            # It is charged as it goes.
            return None
        if operation is None:
            cost, takes_items = cost_of(method.path), False
        elif operation.stands_for_many:
            return None
        else:
            cost, takes_items = operation.cost, operation.takes_items
        if cost == 1 and not takes_items:
            return None

        def charge(request: Any, state: RequestState) -> None:
            principal = state.principal
            if principal is not None:
                items = state.items = len(request.items) if takes_items else 1
                self._owe(state, principal, (cost if principal.policy.weighs_costs else 1) * items - 1)

        return charge

    def wrap(self, method: Method, servicer: Handler) -> Handler:
        """Return the servicer of an operation that stands for many, charged by what it states of the call."""
        if method.operation is None or not method.operation.stands_for_many:
            return servicer

        async def charge(request: Any, context: Context) -> Any:
            state = REQUEST.get()
            try:
                return await servicer(request, context)
            finally:
                principal = state.principal
                if principal is not None and principal.policy.weighs_costs:
                    self._owe(state, principal, state.further)

        return charge

    def _owe(self, state: RequestState, principal: Principal, units: int) -> None:
        if units > 0:
            state.units += units
            # What the caller is shown of the quota, where the call itself brought a key, is what is left now.
            grant = self._quotas.owe(principal, units)
            if state.quota:
                state.quota = (quota_metadata(principal, grant)[0], *state.quota[1:])


def quota_metadata(principal: Principal, grant: Grant) -> tuple[tuple[str, str], ...]:
    """Return the quota as `ratelimit` and `ratelimit-policy` metadata (draft-ietf-httpapi-ratelimit-headers)."""
    policy = principal.policy
    return (
        ("ratelimit", f'"{policy.name}";r={grant.remaining};t={grant.reset_seconds}'),
        ("ratelimit-policy", _policy_text(policy)),
    )


@lru_cache(maxsize=256)
def _policy_text(policy: Policy) -> str:
    return f'"{policy.name}";q={policy.limit};w={policy.window_seconds}'


def count_refused(state: RequestState, refusal: GatewayError) -> None:
    """Count a call that is refused for its key or quota."""
    count_refusal("jsonrpc" if state.trusted else "grpc", refusal.reason)


def _vouched(state: RequestState) -> Principal | None:
    text = state.metadata.get(PRINCIPAL)
    return decode(text) if isinstance(text, str) else None


def key_of(state: RequestState) -> str:
    """Return the key that the call's metadata bring, empty where there is none."""
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


def _trusted_only(method: Method, inner: Step) -> Gate:
    is_about_callers = method.path.startswith(_ABOUT_CALLERS)

    def admit(request: bytes, context: Context, state: RequestState) -> Step:
        _trusted_by_metadata(state)
        # The principal that it is requested for, if any: the caller of the OpenRPC document pays for it.
        if not is_about_callers:
            state.principal = _vouched(state)
            state.units = 0 if state.principal is None else 1
        return inner

    return admit
