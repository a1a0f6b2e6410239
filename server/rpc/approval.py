"""ApprovalService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import approval_pb2, approval_pb2_grpc

from server.chains.capabilities.accounts import ReadsApprovals
from server.contracts.words import decimal_text
from server.rpc.pipeline.call import open_view

if TYPE_CHECKING:
    from server.chains.registry import Chains


class ApprovalServicer(approval_pb2_grpc.ApprovalServiceServicer):
    """Approvals of a wallet (contract section 4.11)."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    async def GetApprovals(
        self, request: approval_pb2.GetApprovalsRequest, context: Any
    ) -> approval_pb2.GetApprovalsResponse:
        """Return what the known spenders may move of a wallet's tokens."""
        reader = self._chains.capability(request.chain, ReadsApprovals)
        view = open_view(request.block_height if request.HasField("block_height") else None)
        found = await reader.read_approvals(request.address, view)
        return approval_pb2.GetApprovalsResponse(
            chain=request.chain,
            address=found.address,
            block_height=found.block,
            approvals=[
                approval_pb2.Approval(
                    token=approval_pb2.ApprovalToken(symbol=row.symbol, address=row.token),
                    spender=approval_pb2.ApprovalSpender(name=row.spender_name, address=row.spender),
                    allowance=decimal_text(row.raw, row.decimals),
                    allowance_raw=str(row.raw),
                    is_unlimited=row.is_unlimited,
                )
                for row in found.rows
            ],
        )

    async def GetApprovalsRevoke(
        self, request: approval_pb2.GetApprovalsRevokeRequest, context: Any
    ) -> approval_pb2.GetApprovalsRevokeResponse:
        """Return the unsigned transaction that takes an allowance back."""
        reader = self._chains.capability(request.chain, ReadsApprovals)
        call = reader.revoke_approval(request.address, request.token, request.spender)
        return approval_pb2.GetApprovalsRevokeResponse(
            to=call.to, from_address=call.sender, data="0x" + call.data.hex(), value="0"
        )
