"""MarketplaceService."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waypost.v1 import common_pb2, marketplace_pb2, marketplace_pb2_grpc

from server.marketplace.methods import Methods
from server.marketplace.runs import Runs
from server.marketplace.searches import Searches
from server.marketplace.targets import check_members, find_target, height_of
from server.rpc.pipeline.call import current, open_view
from server.rpc.published import ABI_TYPES, described, find_app, selected

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from server.catalog.apps import Catalogue, MethodOperation
    from server.chains.registry import Chains
    from server.chains.view import ReadView
    from server.marketplace.methods import Method
    from server.marketplace.targets import Target

    Answer = Callable[[Method, Target, marketplace_pb2.CallMethodRequest, ReadView], Awaitable[Any]]


OPERATIONS: Mapping[MethodOperation, marketplace_pb2.MarketplaceOperation] = {
    "call": marketplace_pb2.MARKETPLACE_OPERATION_CALL,
    "simulateCall": marketplace_pb2.MARKETPLACE_OPERATION_SIMULATE_CALL,
    "getLogs": marketplace_pb2.MARKETPLACE_OPERATION_GET_LOGS,
}

# In units, as the operations that do the same to contracts of the caller's own: simulateCall and getLogs.
COSTS: Mapping[MethodOperation, int] = {"call": 1, "simulateCall": 1, "getLogs": 5}


class MarketplaceServicer(marketplace_pb2_grpc.MarketplaceServiceServicer):
    """Published contract methods (contract section 4.16)."""

    def __init__(self, chains: Chains, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._methods = Methods(catalogue)
        runs, searches = Runs(chains), Searches(chains)
        # What answers each operation, and the member of the response that holds the answer.
        self._answers: Mapping[MethodOperation, tuple[str, Answer]] = {
            "call": ("call", runs.call),
            "simulateCall": ("simulation", runs.simulate),
            "getLogs": ("events", searches.search),
        }

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

    async def CallMethod(
        self, request: marketplace_pb2.CallMethodRequest, context: Any
    ) -> marketplace_pb2.CallMethodResponse:
        """Return what a published method answers."""
        method = self._methods.find(request.method)
        published = method.published
        target = find_target(published, request)
        check_members(published, request)
        state = current()
        state.chain, state.further = target.chain, COSTS[published.operation] - 1
        member, answer = self._answers[published.operation]
        outcome = await answer(method, target, request, open_view(height_of(request)))
        return marketplace_pb2.CallMethodResponse(
            chain=target.chain,
            address=target.address,
            method=published.name,
            abi_name=published.abi_name,
            deployment_name=published.deployment.name,
            operation=OPERATIONS[published.operation],
            abi_type=ABI_TYPES[published.abi_type],
            **{member: outcome},
        )
