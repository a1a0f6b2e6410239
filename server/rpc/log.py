"""LogService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import log_pb2, log_pb2_grpc

from server.chains.capabilities.logs import BlockRange, ReadsLogs, ReadsTransfers
from server.rpc.pipeline.call import open_view

if TYPE_CHECKING:
    from server.chains.registry import Chains


class LogServicer(log_pb2_grpc.LogServiceServicer):
    """Event logs and token transfers (contract section 4.7)."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    async def GetLogs(self, request: log_pb2.GetLogsRequest, context: Any) -> log_pb2.GetLogsResponse:
        """Return one page of logs."""
        reader = self._chains.capability(request.chain, ReadsLogs)
        address = request.address if request.HasField("address") else None
        topic0 = request.topic0 if request.HasField("topic0") else None
        response = await reader.read_logs(_blocks(request), address, topic0, open_view(), request.page_size)
        response.chain = request.chain
        return response

    async def GetTransfers(self, request: log_pb2.GetTransfersRequest, context: Any) -> log_pb2.GetTransfersResponse:
        """Return one page of an account's transfers."""
        reader = self._chains.capability(request.chain, ReadsTransfers)
        response = await reader.read_transfers(_blocks(request), request.address, open_view(), request.page_size)
        response.chain = request.chain
        return response


def _blocks(request: log_pb2.GetLogsRequest | log_pb2.GetTransfersRequest) -> BlockRange:
    return BlockRange(
        from_block=request.from_block if request.HasField("from_block") else None,
        to_block=request.to_block if request.HasField("to_block") else None,
        cursor=request.page_token or None,
    )
