"""RegistryService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import common_pb2, registry_pb2, registry_pb2_grpc

from server.catalog.protocols import load_address_book

if TYPE_CHECKING:
    from collections.abc import Iterable

    from server.catalog.protocols import RegisteredContract, RegisteredProtocol
    from server.chains.registry import Chains

_CATEGORIES = {
    "lending": registry_pb2.PROTOCOL_CATEGORY_LENDING,
    "dex": registry_pb2.PROTOCOL_CATEGORY_DEX,
    "staking": registry_pb2.PROTOCOL_CATEGORY_STAKING,
    "aggregator": registry_pb2.PROTOCOL_CATEGORY_AGGREGATOR,
    "derivatives": registry_pb2.PROTOCOL_CATEGORY_DERIVATIVES,
}


class RegistryServicer(registry_pb2_grpc.RegistryServiceServicer):
    """Which protocols are deployed where (contract section 4.15); reads no node."""

    def __init__(self, chains: Chains) -> None:
        self._book = load_address_book()
        self._slugs = [chain.slug for chain in chains]

    async def GetProtocols(
        self, request: registry_pb2.GetProtocolsRequest, context: Any
    ) -> registry_pb2.GetProtocolsResponse:
        """Return the protocols that the filters leave, sorted by slug."""
        kept = [
            protocol
            for protocol in self._book.protocols.values()
            if request.category in (registry_pb2.PROTOCOL_CATEGORY_UNSPECIFIED, _CATEGORIES[protocol.category])
            and (not request.chain or request.chain in protocol.contracts)
        ]
        return registry_pb2.GetProtocolsResponse(protocols=[self._summary(protocol) for protocol in kept])

    async def GetProtocol(
        self, request: registry_pb2.GetProtocolRequest, context: Any
    ) -> registry_pb2.GetProtocolResponse:
        """Return one protocol with everything that is registered of it."""
        protocol = self._book.find_protocol(request.slug)
        return registry_pb2.GetProtocolResponse(
            summary=self._summary(protocol),
            deployments=[
                registry_pb2.ProtocolDeployment(
                    chain=chain,
                    contracts={key: _described(contract) for key, contract in protocol.contracts[chain].items()},
                )
                for chain in self._in_order(protocol.contracts)
            ],
        )

    async def GetRegistryContracts(
        self, request: registry_pb2.GetRegistryContractsRequest, context: Any
    ) -> registry_pb2.GetRegistryContractsResponse:
        """Return a protocol's contracts on one chain, or on all with the chain in their keys (decisions 5.4)."""
        if request.chain:
            found = self._book.find_contracts(request.slug, request.chain)
            listed = {key: _entry(contract) for key, contract in found.items()}
        else:
            protocol = self._book.find_protocol(request.slug)
            listed = {
                f"{chain}/{key}": _entry(contract)
                for chain in self._in_order(protocol.contracts)
                for key, contract in protocol.contracts[chain].items()
            }
        return registry_pb2.GetRegistryContractsResponse(
            protocol=request.slug, chain=request.chain or None, contracts=listed
        )

    async def GetRegistryAddress(
        self, request: registry_pb2.GetRegistryAddressRequest, context: Any
    ) -> registry_pb2.GetRegistryAddressResponse:
        """Return the address of one contract."""
        contract = self._book.find_contract(request.slug, request.chain, request.contract)
        return registry_pb2.GetRegistryAddressResponse(
            protocol=request.slug, contract=request.contract, chain=request.chain, address=contract.address
        )

    async def GetRegistryCategories(
        self, request: registry_pb2.GetRegistryCategoriesRequest, context: Any
    ) -> registry_pb2.GetRegistryCategoriesResponse:
        """Return the categories that hold a protocol, in the contract's order."""
        return registry_pb2.GetRegistryCategoriesResponse(
            categories=[_CATEGORIES[category] for category in self._book.categories]
        )

    async def GetRegistryChains(
        self, request: registry_pb2.GetRegistryChainsRequest, context: Any
    ) -> registry_pb2.GetRegistryChainsResponse:
        """Return the chains on which something is registered, in the order of the contract's table."""
        return registry_pb2.GetRegistryChainsResponse(chains=self._in_order(self._book.chains))

    def _summary(self, protocol: RegisteredProtocol) -> registry_pb2.ProtocolSummary:
        return registry_pb2.ProtocolSummary(
            name=protocol.name,
            slug=protocol.slug,
            url=protocol.url,
            category=_CATEGORIES[protocol.category],
            description=protocol.description,
            version=protocol.version,
            chains=self._in_order(protocol.contracts),
        )

    def _in_order(self, chains: Iterable[str]) -> list[str]:
        wanted = frozenset(chains)
        return [slug for slug in self._slugs if slug in wanted]


def _described(contract: RegisteredContract) -> registry_pb2.ProtocolContract:
    abi = None if contract.abi is None else common_pb2.NativeJson(json=contract.abi.decode())
    return registry_pb2.ProtocolContract(name=contract.name, address=contract.address, abi=abi)


def _entry(contract: RegisteredContract) -> registry_pb2.RegistryContract:
    return registry_pb2.RegistryContract(name=contract.name, address=contract.address)
