"""Which servicers there are, and the handlers of their rpcs.

A servicer of ours is listed once, in `SERVICERS`. Services of `waypost.v1` without one are registered with the
generated base class, so that every rpc of the contract exists; the availability stage answers before it is reached.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc

from runtime.operations import public_files
from server.protocols import (
    aave_v2,
    aave_v3,
    beefy,
    compound_v2,
    compound_v3,
    curve,
    hyperbeat,
    hyperlend,
    lido,
    llamalend,
    midas,
    morpho,
    pendle,
    uniswap_v2,
    uniswap_v3,
    uniswap_v4,
    yearn,
)
from server.rpc.account import AccountServicer
from server.rpc.approval import ApprovalServicer
from server.rpc.block import BlockServicer
from server.rpc.contract import ContractServicer
from server.rpc.cosmos import CosmosServicer
from server.rpc.funding import FundingServicer
from server.rpc.gas import GasServicer
from server.rpc.log import LogServicer
from server.rpc.marketplace import MarketplaceServicer
from server.rpc.name import NameServicer
from server.rpc.nft import NftServicer
from server.rpc.portfolio import PortfolioServicer
from server.rpc.position import PositionServicer
from server.rpc.price import PriceServicer
from server.rpc.quote import QuoteServicer
from server.rpc.raw import RawServicer
from server.rpc.registry import RegistryServicer
from server.rpc.system import SystemServicer
from server.rpc.token import TokenServicer
from server.rpc.transaction import TransactionServicer
from server.rpc.yields import YieldServicer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AsyncExitStack
    from datetime import datetime
    from types import ModuleType

    from google.protobuf.descriptor import FileDescriptor
    from sqlalchemy.ext.asyncio import AsyncEngine

    from runtime.settings import Settings
    from server.aggregators.jupiter import Jupiter
    from server.apis.documents import DocumentStore
    from server.chains.registry import Chains
    from server.fetch import GuardedFetcher
    from server.marketplace.calls import PublishedCalls
    from server.marketplace.catalogue import Catalogue
    from server.prices import PriceHistory, Prices
    from server.protocols.book import ProtocolReaders
    from server.protocols.reader import ProtocolEntry
    from server.upstream.cache import Cache
    from server.upstream.transport import Session

    Handlers = dict[str, grpc.RpcMethodHandler[Any, Any]]

SERVICERS: tuple[type, ...] = (
    SystemServicer,
    BlockServicer,
    AccountServicer,
    TokenServicer,
    GasServicer,
    ContractServicer,
    TransactionServicer,
    ApprovalServicer,
    LogServicer,
    RawServicer,
    NftServicer,
    CosmosServicer,
    NameServicer,
    PortfolioServicer,
    PriceServicer,
    RegistryServicer,
    MarketplaceServicer,
    PositionServicer,
    QuoteServicer,
    FundingServicer,
    YieldServicer,
)
"""Our servicer classes, each extending the generated `<Service>Servicer` of its service."""

PROTOCOLS: tuple[ProtocolEntry, ...] = tuple(
    folder.PROTOCOL
    for folder in (
        aave_v2,
        aave_v3,
        beefy,
        compound_v2,
        compound_v3,
        curve,
        hyperlend,
        llamalend,
        lido,
        morpho,
        hyperbeat,
        midas,
        pendle,
        uniswap_v2,
        uniswap_v3,
        uniswap_v4,
        yearn,
    )
)
"""What the folders of `server/protocols` export."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What servicers may ask for, by parameter name of their `__init__`.

    `started_at` carries its zone. `cache` is None where it is switched off. `http` is for addresses out of the
    configuration; what a contract or a server it names has chosen goes through `fetcher` alone. What a
    servicer opens it registers with `lifetime`, which is closed when the gateway ends, after the last call.
    """

    chains: Chains
    settings: Settings
    started_at: datetime
    http: Session
    database: AsyncEngine
    cache: Cache | None
    lifetime: AsyncExitStack
    catalogue: Catalogue
    published_calls: PublishedCalls
    fetcher: GuardedFetcher
    prices: Prices
    history: PriceHistory
    protocols: ProtocolReaders
    aggregator: Jupiter
    documents: DocumentStore


class HandlerCollector:
    """Stands where generated `add_..._to_server` functions expect a server, and keeps the handlers by path."""

    def __init__(self) -> None:
        self.handlers: Handlers = {}

    def add_registered_method_handlers(self, service: str, handlers: Handlers) -> None:
        """Keep the handlers of one service."""
        self.handlers.update({f"/{service}/{name}": handler for name, handler in handlers.items()})

    def add_generic_rpc_handlers(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """Do nothing: the same handlers arrive by name."""


class PathHandlers(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """All handlers behind one look-up.

    They are not registered one by one with the server: grpc.aio keeps a pending future for every registered method and
    re-arms its wait on all of them at every call, which for ninety methods costs more than the call itself.
    """

    def __init__(self, handlers: Mapping[str, grpc.RpcMethodHandler[Any, Any]]) -> None:
        self._handlers = handlers

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Return the handler of the path, None for one that does not exist."""
        return self._handlers.get(handler_call_details.method)


def public_handlers(dependencies: Dependencies, servicers: Iterable[type] = SERVICERS) -> Handlers:
    """Return the handlers of every rpc of `waypost.v1` by path.

    Raises TypeError when a servicer extends no generated servicer, two serve the same service, or one asks for a
    dependency that does not exist.
    """
    own: dict[Any, type] = {}
    for servicer in servicers:
        base = _generated_base(servicer)
        if base in own:
            raise TypeError(f"{servicer.__name__} and {own[base].__name__} both serve {base.__name__}")
        own[base] = servicer
    collector = HandlerCollector()
    for file in public_files():
        for service in file.services_by_name.values():
            module = _stubs(file)
            base = getattr(module, f"{service.name}Servicer")
            servicer = own.get(base, base)
            register: Callable[[Any, Any], None] = getattr(module, f"add_{service.name}Servicer_to_server")
            register(build(servicer, dependencies), collector)
    return collector.handlers


def build(servicer: type, dependencies: Dependencies) -> Any:
    """Return an instance of the servicer, given the dependencies that its `__init__` names."""
    wanted = list(inspect.signature(servicer).parameters)
    unknown = [name for name in wanted if not hasattr(dependencies, name)]
    if unknown:
        raise TypeError(f"{servicer.__name__} asks for {', '.join(unknown)}, which is no dependency")
    return servicer(**{name: getattr(dependencies, name) for name in wanted})


def _generated_base(servicer: type) -> type:
    for base in servicer.__mro__:
        if base.__module__.startswith("waypost.v1.") and base.__name__.endswith("Servicer"):
            return base
    raise TypeError(f"{servicer.__name__} extends no generated servicer of waypost.v1")


def _stubs(file: FileDescriptor) -> ModuleType:
    name = file.name.removesuffix(".proto").replace("/", ".")
    return importlib.import_module(f"{name}_pb2_grpc")
