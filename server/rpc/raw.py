"""RawService."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from waypost.v1 import raw_pb2, raw_pb2_grpc

from server.chains.capabilities.blocks import PassesCalls, PassesPaths
from server.errors import GatewayError, InvalidArgument, NotAvailable, NotSupported
from server.rpc.pipeline.call import open_view

if TYPE_CHECKING:
    from server.chains.registry import Chains
    from server.errors import NodeWords

# Longer texts of nodes are looked through outside of the event loop.
_LONG = 16 * 1024


class RawServicer(raw_pb2_grpc.RawServiceServicer):
    """Passage to the nodes (contract section 4.15)."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

    async def ChainRpc(self, request: raw_pb2.ChainRpcRequest, context: Any) -> raw_pb2.ChainRpcResponse:
        """Return what a node answers to one of its own methods, or at one of its paths."""
        answer = raw_pb2.ChainRpcResponse(chain=request.chain, method=request.method)
        has_path = request.HasField("rest_path")
        try:
            if has_path:
                result = await self._paths_of(request.chain).pass_path(request.rest_path, open_view())
            else:
                node = self._chains.capability(request.chain, PassesCalls)
                params = request.params.json.encode() if request.HasField("params") else None
                result = await node.pass_call(request.method, params, open_view(), is_shared=request.node_errors)
        except GatewayError as error:
            if (request.node_errors or has_path) and error.node is not None and error.node.is_refusal:
                answer.failure.CopyFrom(await _whole(error.node))
                return answer
            if isinstance(error, InvalidArgument) and error.field is None and not has_path:
                # A node's refusal, which does not know where the parameters came from.
                error.field = "params"
            raise
        answer.result.json = result.decode()
        return answer

    def _paths_of(self, slug: str) -> PassesPaths:
        chain = self._chains.get(slug)
        try:
            return chain.capability(PassesPaths)
        except NotAvailable:
            raise NotSupported(
                f"nodes of {slug} have no REST gateway; POST their JSON-RPC calls", field="path"
            ) from None


async def _whole(words: NodeWords) -> raw_pb2.NodeFailure:
    """Return what a node answered, without cuts."""
    if words.whole is not None:
        words = await asyncio.to_thread(words.whole) if words.size > _LONG else words.whole()
    failure = raw_pb2.NodeFailure(code=words.code, message=words.message, http_status=words.status)
    if words.data is not None:
        failure.data.json = words.data.decode()
    return failure
