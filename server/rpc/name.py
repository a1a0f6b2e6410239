"""NameService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import name_pb2, name_pb2_grpc

from server.chains.capabilities.contracts import CallsContracts
from server.contracts.address import checksum_address
from server.names.gateways import Gateways
from server.names.names import Names
from server.rpc.pipeline.call import current, open_view

if TYPE_CHECKING:
    from server.chains.registry import Chains
    from server.fetch import GuardedFetcher

CHAIN = "ethereum"
"""The chain whose names these are (contract section 4.5)."""


class NameServicer(name_pb2_grpc.NameServiceServicer):
    """Names of Ethereum (contract section 4.5)."""

    def __init__(self, chains: Chains, fetcher: GuardedFetcher) -> None:
        self._chains = chains
        self._gateways = Gateways(fetcher)

    async def ResolveEns(self, request: name_pb2.ResolveEnsRequest, context: Any) -> name_pb2.ResolveEnsResponse:
        """Return the address that a name points to."""
        address = await self._names().resolve(request.name, open_view())
        return name_pb2.ResolveEnsResponse(name=request.name, address=address)

    async def ReverseEns(self, request: name_pb2.ReverseEnsRequest, context: Any) -> name_pb2.ReverseEnsResponse:
        """Return the primary name of an address."""
        address = checksum_address(request.address)
        return name_pb2.ReverseEnsResponse(address=address, name=await self._names().reverse(address, open_view()))

    def _names(self) -> Names:
        current().chain = CHAIN  # which requests do not name
        return Names(self._chains.capability(CHAIN, CallsContracts), self._gateways)
