"""MarketplaceService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import common_pb2, marketplace_pb2, marketplace_pb2_grpc

from server.rpc.published import described, find_app, selected

if TYPE_CHECKING:
    from server.catalog.apps import Catalogue


class MarketplaceServicer(marketplace_pb2_grpc.MarketplaceServiceServicer):
    """Published contract methods (contract section 4.16)."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    async def ListMarketplaceMethods(
        self, request: marketplace_pb2.ListMarketplaceMethodsRequest, context: Any
    ) -> marketplace_pb2.ListMarketplaceMethodsResponse:
        """Return the published methods that pass the filters."""
        methods = selected(
            self._catalogue,
            chain=request.chain,
            app_id=request.app_id,
            abi_type=request.abi_type,
        )
        return marketplace_pb2.ListMarketplaceMethodsResponse(methods=map(described, methods))

    async def GetMarketplaceContract(
        self, request: marketplace_pb2.GetMarketplaceContractRequest, context: Any
    ) -> marketplace_pb2.GetMarketplaceContractResponse:
        """Return one app with its deployments, their methods and ABIs."""
        app = find_app(self._catalogue, request.app_id)
        return marketplace_pb2.GetMarketplaceContractResponse(
            app_id=app.app_id,
            name=app.name,
            is_template=app.is_template,
            deployments=[
                marketplace_pb2.MarketplaceDeployment(
                    name=deployment.name,
                    chain=deployment.chain,
                    address=deployment.address,
                    methods=[described(self._catalogue.methods[name]) for name in deployment.methods],
                    abi=common_pb2.NativeJson(json=deployment.abi),
                )
                for deployment in app.deployments
            ],
        )
