"""GasService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import gas_pb2, gas_pb2_grpc

from server.chains.capabilities import CallRequest, EstimatesGas
from server.rpc.views import open_view

if TYPE_CHECKING:
    from server.chains.registry import Chains


class GasServicer(gas_pb2_grpc.GasServiceServicer):
    """Gas estimates (contract section 4.9)."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

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
