"""ContractService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import contract_pb2, contract_pb2_grpc

from runtime.operations import LATEST_BLOCK
from server.chains.capabilities.contracts import CallRequest, ReadsCode, SimulatesCalls
from server.rpc.pipeline.call import open_view

if TYPE_CHECKING:
    from server.chains.registry import Chains


class ContractServicer(contract_pb2_grpc.ContractServiceServicer):
    """Reads of contracts (contract section 4.10)."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    async def SimulateCall(
        self, request: contract_pb2.SimulateCallRequest, context: Any
    ) -> contract_pb2.SimulateCallResponse:
        """Return what a contract call would return."""
        caller = self._chains.capability(request.chain, SimulatesCalls)
        is_latest = request.block == LATEST_BLOCK or not request.HasField("block")
        call = CallRequest(
            to=request.to,
            data=request.data,
            sender=request.from_address if request.HasField("from_address") else None,
            value=int(request.value, 16) if request.HasField("value") else None,
        )
        result = await caller.simulate_call(call, open_view(None if is_latest else request.block))
        return contract_pb2.SimulateCallResponse(
            chain=request.chain, result="0x" + result.data.hex(), block_height=result.block
        )

    async def GetCode(self, request: contract_pb2.GetCodeRequest, context: Any) -> contract_pb2.GetCodeResponse:
        """Return the code at an address."""
        reader = self._chains.capability(request.chain, ReadsCode)
        view = open_view(request.block_height if request.HasField("block_height") else None)
        code = await reader.read_code(request.address, view)
        return contract_pb2.GetCodeResponse(
            chain=request.chain,
            address=code.address,
            block_height=code.block,
            is_contract=bool(code.code),
            bytecode_size=len(code.code),
            bytecode="0x" + code.code.hex(),
            delegated_to=code.delegated_to,
        )
