"""GasService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import gas_pb2, gas_pb2_grpc

from server.chains.capabilities.contracts import CallRequest, EstimatesGas
from server.gas import GasComparison
from server.rpc.pipeline.call import current, open_view
from server.rpc.pipeline.permissions import split_allowed

if TYPE_CHECKING:
    from server.chains.registry import Chains
    from server.prices import Prices

GWEI = 10**9
"""Wei in one gwei, the usual unit of gas prices."""


class GasServicer(gas_pb2_grpc.GasServiceServicer):
    """Gas prices and estimates (contract section 4.9)."""

    def __init__(self, chains: Chains, prices: Prices) -> None:
        self._chains = chains
        self._comparison = GasComparison(chains, prices)

    async def CompareGas(self, request: gas_pb2.CompareGasRequest, context: Any) -> gas_pb2.CompareGasResponse:
        """Return what a plain transfer costs on every reachable EVM chain."""
        state = current()
        rows = []
        chosen, not_allowed = split_allowed(self._comparison.slugs)
        for cost in await self._comparison.compare(state.deadline, state.cache, chosen):
            row = gas_pb2.ChainGas(
                chain=cost.chain,
                base_fee_gwei=cost.base_fee / GWEI,
                priority_fee_gwei=cost.priority_fee / GWEI,
                estimated_tx_cost_usd=None if cost.usd is None else float(cost.usd),
                l1_fee_usd=None if cost.l1_usd is None else float(cost.l1_usd),
            )
            row.updated_at.FromDatetime(cost.read_at)
            rows.append(row)
        return gas_pb2.CompareGasResponse(results=rows, not_allowed=not_allowed)

    async def EstimateGas(self, request: gas_pb2.EstimateGasRequest, context: Any) -> gas_pb2.EstimateGasResponse:
        """Return the gas that a transaction would use."""
        estimator = self._chains.capability(request.chain, EstimatesGas)
        call = CallRequest(
            to=request.to,
            data=request.data if request.HasField("data") else None,
            sender=request.from_address if request.HasField("from_address") else None,
            value=int(request.value, 16) if request.HasField("value") else None,
        )
        estimate = await estimator.estimate_gas(call, open_view())
        return gas_pb2.EstimateGasResponse(
            chain=request.chain,
            gas_estimate=estimate.gas,
            gas_estimate_hex=hex(estimate.gas),
            block_height=estimate.block,
        )
