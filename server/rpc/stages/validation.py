"""Checks the request by the options of its fields and fills in defaults; then charges what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.operations import cost_of
from server.rpc.stages.admission import restate_quota
from server.rpc.stages.paths import item_root
from server.rpc.stages.rules import compile_rules

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any

    from google.protobuf.message import Message

    from server.access.principals import Principal
    from server.access.quotas import Quotas
    from server.rpc.stages.state import Context, Method, RequestState, Step


class Validation:
    """Lets valid requests through, with absent parameters set to their default values."""

    def bind(self, method: Method, inner: Step) -> Step:
        """Return `inner` behind the rules of its request type."""
        operation = method.operation
        if operation is None:
            return inner
        rules = compile_rules(operation.method.input_type, item_root(operation))
        if not rules:
            return inner

        def validate(request: Message, context: Context, state: RequestState) -> Awaitable[Any]:
            for rule in rules:
                rule(request, "")
            return inner(request, context, state)

        return validate


class Costs:
    """Charges what a valid call costs beyond the one unit of its admission.

    The call has been admitted, so it is not refused here: the caller's later calls wait for the debt.
    """

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas

    def bind(self, method: Method, inner: Step) -> Step:
        """Return `inner`, charged by cost and number of items where that is more than one unit."""
        operation = method.operation
        if operation is None:
            cost, takes_items = cost_of(method.path), False
        elif operation.name.endswith("*"):
            return self._charge_told(inner)
        else:
            cost, takes_items = operation.cost, operation.takes_items
        if cost == 1 and not takes_items:
            return inner

        def charge(request: Any, context: Context, state: RequestState) -> Awaitable[Any]:
            principal = state.principal
            if principal is not None:
                items = len(request.items) if takes_items else 1
                self._owe(state, principal, (cost if principal.policy.weighs_costs else 1) * items - 1)
            return inner(request, context, state)

        return charge

    def _charge_told(self, inner: Step) -> Step:
        """Return `inner` of an operation that stands for many, charged by what its servicer tells of the call."""

        async def charge(request: Any, context: Context, state: RequestState) -> Any:
            try:
                return await inner(request, context, state)
            finally:
                principal = state.principal
                if principal is not None and principal.policy.weighs_costs:
                    self._owe(state, principal, state.further)

        return charge

    def _owe(self, state: RequestState, principal: Principal, units: int) -> None:
        if units > 0:
            restate_quota(state, principal, self._quotas.owe(principal, units))
