"""RawService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import common_pb2, raw_pb2, raw_pb2_grpc

from server.chains.capabilities.blocks import PassesCalls
from server.errors import InvalidArgument
from server.rpc.pipeline.call import open_view

if TYPE_CHECKING:
    from server.chains.registry import Chains


class RawServicer(raw_pb2_grpc.RawServiceServicer):
    """Passage to the nodes (contract section 4.15)."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    async def ChainRpc(self, request: raw_pb2.ChainRpcRequest, context: Any) -> raw_pb2.ChainRpcResponse:
        """Return what a node answers to one of its own methods."""
        node = self._chains.capability(request.chain, PassesCalls)
        params = request.params.json.encode() if request.HasField("params") else None
        try:
            result = await node.pass_call(request.method, params, open_view())
        except InvalidArgument as error:
            if error.field is not None:
                raise
            # A node's refusal, which does not know where the parameters came from.
            error.field = "params"
            raise
        return raw_pb2.ChainRpcResponse(
            chain=request.chain, method=request.method, result=common_pb2.NativeJson(json=result.decode())
        )
