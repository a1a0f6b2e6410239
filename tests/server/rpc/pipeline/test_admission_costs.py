"""What a call is charged beyond its admission: cost and items for keys, items alone on the demo."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from waypost.v1 import block_pb2, gas_pb2

from runtime.operations import load_operations
from server.access.admission import Policy, Principal
from server.access.quotas import Quotas
from server.rpc.pipeline.admission import Costs
from server.rpc.pipeline.call import REQUEST, Method, RequestState

OPERATIONS = {operation.name: operation for operation in load_operations()}
COSTLY = OPERATIONS["compareGas"].cost


@pytest.mark.parametrize(
    ("policy", "method", "items", "units"),
    [
        ("default", "compareGas", 0, COSTLY - 1),
        ("demo", "compareGas", 0, 0),
        ("default", "getBlockByNumber", 7, 6),
        ("demo", "getBlockByNumber", 7, 6),
        ("default", "getBlockHeight", 0, 0),
    ],
)
def test_the_debt_of_a_call(policy: str, method: str, items: int, units: int) -> None:
    principal = Principal(f"{policy}:caller", Policy(policy, 1.0, 100))
    quotas = Quotas(clock=lambda: 10**12)
    operation = OPERATIONS[method]
    request: Any = gas_pb2.CompareGasRequest()
    if items:
        request = block_pb2.GetBlockByNumberRequest(items=[block_pb2.GetBlockByNumberItem() for _ in range(items)])

    handler: Any = None
    charge = Costs(quotas).check(Method(operation.path, handler, operation))
    state = RequestState("id", operation, 0.0, {}, principal=principal)
    state.quota = (("ratelimit", f'"{policy}";r=100;t=0'), ("ratelimit-policy", "as it was"))
    if charge is not None:
        charge(request, state)
    assert state.quota == (("ratelimit", f'"{policy}";r={100 - units};t={units}'), ("ratelimit-policy", "as it was"))
    assert quotas.charge(principal, 1).remaining == 100 - 1 - units


@pytest.mark.parametrize(("policy", "units"), [("default", 4), ("demo", 0)])
@pytest.mark.parametrize("fails", [False, True])
async def test_the_debt_that_a_servicer_tells(policy: str, units: int, fails: bool) -> None:
    principal = Principal(f"{policy}:caller", Policy(policy, 1.0, 100))
    quotas = Quotas(clock=lambda: 10**12)
    operation = OPERATIONS["svc_*"]

    async def answer(request: Any, context: Any) -> str:
        state.further = 4
        if fails:
            raise ValueError("after the work")
        return "answer"

    handler: Any = None
    nothing: Any = None
    charged = Costs(quotas).wrap(Method(operation.path, handler, operation), answer)
    state = RequestState("id", operation, 0.0, {}, principal=principal, quota=(("ratelimit", "before"),))
    REQUEST.set(state)
    with contextlib.suppress(ValueError):
        await charged(nothing, nothing)
    assert state.quota == (("ratelimit", f'"default";r={100 - units};t={units}' if units else "before"),)
    assert quotas.charge(principal, 1).remaining == 100 - 1 - units
