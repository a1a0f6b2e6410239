"""MarketplaceService, and PublicationService, by which the transcoder's documents describe published methods."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from waypost.v1 import common_pb2, marketplace_outcome_pb2, marketplace_pb2, marketplace_pb2_grpc
from waypost_internal.v1 import publication_pb2, publication_pb2_grpc

from runtime.config_errors import nearest
from server.errors import NotFound
from server.marketplace.calls import MethodCall
from server.marketplace.catalogue import canonical_type
from server.marketplace.methods import height_of
from server.marketplace.values import json_array, read_arguments
from server.rpc.pipeline.call import current, open_view
from server.rpc.pipeline.permissions import check_chain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from server.marketplace.calls import PublishedCalls, ValueWriter
    from server.marketplace.catalogue import App, Catalogue, MethodOperation, PublishedMethod
    from server.marketplace.methods import Method, Target

ABI_TYPES = {
    "function": marketplace_pb2.ABI_TYPE_FUNCTION,
    "event": marketplace_pb2.ABI_TYPE_EVENT,
}

OPERATIONS: Mapping[MethodOperation, marketplace_pb2.MarketplaceOperation] = {
    "call": marketplace_pb2.MARKETPLACE_OPERATION_CALL,
    "simulateCall": marketplace_pb2.MARKETPLACE_OPERATION_SIMULATE_CALL,
    "getLogs": marketplace_pb2.MARKETPLACE_OPERATION_GET_LOGS,
}

# In units, as the operations that do the same to contracts of the caller's own: simulateCall and getLogs.
COSTS: Mapping[MethodOperation, int] = {"call": 1, "simulateCall": 1, "getLogs": 5}
# The member of the response that holds what came of a call.
_OUTCOMES: Mapping[MethodOperation, str] = {"call": "call", "simulateCall": "simulation", "getLogs": "events"}


class Face(Protocol):
    """One call as it came over a face."""

    @property
    def writer(self) -> ValueWriter:
        """What writes values of the ABI."""
        ...

    def read_arguments(self) -> Sequence[Any]:
        """Return the arguments, see `MethodCall`; InvalidArgument where there are none or too many."""
        ...

    def begin(self, method: Method, target: Target) -> tuple[Any, Any]:
        """Return the response, and the message in it that the outcome is written into."""
        ...


async def answer_call(calls: PublishedCalls, request: marketplace_pb2.CallMethodRequest, face: Face) -> Any:
    """Return the response of a face to a call of a published method, and charge what the call costs."""
    method, target = calls.find(request)
    state = current()
    # A request that names its chain was checked already; of others the published method decides.
    check_chain(None if state.principal is None else state.principal.rights, target.chain, "method")
    state.chain, state.further = target.chain, COSTS[method.published.operation] - 1
    response, outcome = face.begin(method, target)
    call = MethodCall(method, target, request, face.read_arguments(), open_view(height_of(request)))
    await calls.run(call, outcome, face.writer)
    return response


class _JsonWriter:
    statuses = (
        marketplace_outcome_pb2.SIMULATION_STATUS_FAILURE,
        marketplace_outcome_pb2.SIMULATION_STATUS_SUCCESS,
    )

    def write_outputs(self, answer: Any, values: Sequence[Any] | None) -> None:
        """Set the outputs, of a failed simulation none."""
        answer.outputs.json = json_array(values or ()).decode()

    def write_arguments(self, log: Any, values: Sequence[Any]) -> None:
        """Set the arguments of an event."""
        log.args.json = json_array(values).decode()


class _JsonFace:
    """A call whose arguments and outputs are JSON."""

    writer = _JsonWriter()

    def __init__(self, request: marketplace_pb2.CallMethodRequest) -> None:
        self._request = request

    def read_arguments(self) -> Sequence[Any]:
        return read_arguments(self._request.args.json.encode())

    def begin(self, method: Method, target: Target) -> tuple[Any, Any]:
        published = method.published
        response = marketplace_pb2.CallMethodResponse(
            chain=target.chain,
            address=target.address,
            method=published.name,
            abi_name=published.abi_name,
            deployment_name=published.deployment.name,
            operation=OPERATIONS[published.operation],
            abi_type=ABI_TYPES[published.abi_type],
        )
        return response, getattr(response, _OUTCOMES[published.operation])


class MarketplaceServicer(marketplace_pb2_grpc.MarketplaceServiceServicer):
    """Published contract methods (contract section 4.16)."""

    def __init__(self, catalogue: Catalogue, published_calls: PublishedCalls) -> None:
        self.catalogue = catalogue
        """What is published; to be replaced as a whole."""
        self._calls = published_calls

    async def ListMarketplaceMethods(
        self, request: marketplace_pb2.ListMarketplaceMethodsRequest, context: Any
    ) -> marketplace_pb2.ListMarketplaceMethodsResponse:
        """Return the published methods that pass the filters."""
        methods = selected(
            self.catalogue,
            chain=request.chain,
            app_id=request.app_id,
            abi_type=request.abi_type,
        )
        return marketplace_pb2.ListMarketplaceMethodsResponse(methods=map(described, methods))

    async def GetMarketplaceContract(
        self, request: marketplace_pb2.GetMarketplaceContractRequest, context: Any
    ) -> marketplace_pb2.GetMarketplaceContractResponse:
        """Return one app with its deployments, their methods and ABIs."""
        catalogue = self.catalogue
        app = find_app(catalogue, request.app_id)
        return marketplace_pb2.GetMarketplaceContractResponse(
            app_id=app.app_id,
            name=app.name,
            is_template=app.is_template,
            deployments=[
                marketplace_pb2.MarketplaceDeployment(
                    name=deployment.name,
                    chain=deployment.chain,
                    address=deployment.address,
                    methods=[described(catalogue.methods[name]) for name in deployment.methods],
                    abi=common_pb2.NativeJson(json=deployment.abi.decode()),
                )
                for deployment in app.deployments
            ],
        )

    async def CallMethod(
        self, request: marketplace_pb2.CallMethodRequest, context: Any
    ) -> marketplace_pb2.CallMethodResponse:
        """Return what a published method answers."""
        response: marketplace_pb2.CallMethodResponse = await answer_call(self._calls, request, _JsonFace(request))
        return response


def selected(catalogue: Catalogue, *, chain: str, app_id: str, abi_type: int) -> Iterator[PublishedMethod]:
    """Yield the methods that pass the filters, sorted by name; an empty filter keeps everything.

    A chain keeps what can be called on it: its deployments, and the templates where it is an EVM chain. Raises NotFound
    for an appId that is not published.
    """
    if app_id:
        find_app(catalogue, app_id)
    for method in catalogue.methods.values():
        if app_id and method.app.app_id != app_id:
            continue
        if abi_type and ABI_TYPES[method.abi_type] != abi_type:
            continue
        here = chain in catalogue.chains if method.app.is_template else chain == method.deployment.chain
        if not chain or here:
            yield method


def find_app(catalogue: Catalogue, app_id: str) -> App:
    """Return the app of that appId. Raises NotFound, naming the nearest."""
    app = catalogue.apps.get(app_id)
    if app is None:
        near = nearest(app_id, catalogue.apps)
        advice = f"did you mean `{near}`?" if near else f"apps are: {', '.join(catalogue.apps)}"
        raise NotFound(f"no app with that appId is published; {advice}", field="appId")
    return app


def described(method: PublishedMethod) -> marketplace_pb2.MarketplaceMethod:
    """Return the method as the catalogue answers it."""
    is_event = method.abi_type == "event"
    return marketplace_pb2.MarketplaceMethod(
        method=method.name,
        abi_name=method.abi_name,
        abi_type=ABI_TYPES[method.abi_type],
        params=[
            marketplace_pb2.MarketplaceParam(
                name=parameter.get("name", ""),
                type=canonical_type(parameter),
                indexed=bool(parameter["indexed"]) if is_event else None,  # type: ignore[arg-type]  # None leaves it unset
            )
            for parameter in method.abi_item["inputs"]
        ],
        app_id=method.app.app_id,
        deployment_name=method.deployment.name,
        is_template=method.app.is_template,
        chain=method.deployment.chain,
        address=method.deployment.address,
    )


class PublicationServicer(publication_pb2_grpc.PublicationServiceServicer):
    """The published methods, for trusted callers alone."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.publish(catalogue)

    def publish(self, catalogue: Catalogue) -> None:
        """Answer with these from now on."""
        self._answer = publication_pb2.ListPublicationsResponse(
            publications=[
                publication_pb2.Publication(
                    method=method.name,
                    operation=method.operation,
                    app_name=method.app.name,
                    is_template=method.app.is_template,
                    chain=method.deployment.chain or "",
                    address=method.deployment.address or "",
                    abi_item=method.abi_json,
                    is_overloaded=method.is_overloaded,
                )
                for method in catalogue.methods.values()
            ]
        )
        self._answer.version = sha256(self._answer.SerializeToString(deterministic=True)).hexdigest()
        self._unchanged = publication_pb2.ListPublicationsResponse(version=self._answer.version)

    async def ListPublications(
        self, request: publication_pb2.ListPublicationsRequest, context: Any
    ) -> publication_pb2.ListPublicationsResponse:
        """Return every published method; the version alone to a caller that has it already."""
        return self._unchanged if request.known_version == self._answer.version else self._answer
