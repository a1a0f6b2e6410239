"""The servicers of this build, made of explicit arguments, and the handlers of their rpcs by path.

A service of `waypost.v1` without a servicer of ours is registered with the generated base class, so that every rpc of
the contract exists; the availability stage answers before it is reached.
"""

from __future__ import annotations

import importlib
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import grpc

from runtime.operations import public_files
from server.aggregators.jupiter import open_jupiter
from server.apis.documents import DocumentStore
from server.chains.capabilities.following import FollowsBlocks
from server.fetch import GuardedFetcher
from server.prices import open_prices
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
from server.protocols.reader import ProtocolReaders
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
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
from server.rpc.pipeline.stream import charge
from server.rpc.portfolio import PortfolioServicer
from server.rpc.position import PositionServicer
from server.rpc.price import PriceServicer
from server.rpc.quote import QuoteServicer
from server.rpc.raw import RawServicer
from server.rpc.registry import RegistryServicer
from server.rpc.rows import row_error
from server.rpc.stream import StreamServicer
from server.rpc.system import SystemServicer
from server.rpc.token import TokenServicer
from server.rpc.transaction import TransactionServicer
from server.rpc.usage import UsageServicer
from server.rpc.yields import YieldServicer
from server.storage.share_records import ShareRecords
from server.storage.usage_records import UsageRecords
from server.streams.balances import BalanceWatches
from server.streams.follower import Followers
from server.streams.prices import PriceWatches
from server.streams.receipts import ReceiptWatches
from server.venues import dydx, hyperliquid
from server.yields import rebases, share_prices
from server.yields.factory import open_yield_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

    from google.protobuf.descriptor import FileDescriptor
    from sqlalchemy.ext.asyncio import AsyncEngine

    from server.apis.documents import DocumentSource
    from server.apis.sources import Sources
    from server.chains.registry import Chains
    from server.marketplace.calls import PublishedCalls
    from server.marketplace.catalogue import Catalogue
    from server.protocols.reader import ProtocolEntry
    from server.upstream.cache import Cache

    Handlers = dict[str, grpc.RpcMethodHandler[Any, Any]]

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

# The venues whose documents report funding rates.
_VENUES: dict[str, Callable[..., DocumentSource]] = {
    hyperliquid.NAME: hyperliquid.open_hyperliquid,
    dydx.NAME: dydx.open_dydx,
}


def build_servicers(
    sources: Sources,
    chains: Chains,
    database: AsyncEngine,
    cache: Cache | None,
    catalogue: Catalogue,
    published: PublishedCalls,
) -> list[object]:
    """Return the servicers, each with what it reads, which is closed with the sources, after the last call.

    What a contract, or a server that it names, has chosen is asked through the guarded fetcher alone, never by the
    session of the configured addresses. Without a `cache` every read goes to its source. Nothing is sent yet.
    """
    settings, lifetime = sources.settings, sources.lifetime
    is_kept = cache is not None
    fetcher = GuardedFetcher(settings.fetcher)
    lifetime.push_async_callback(fetcher.close)
    prices, history = open_prices(sources, chains, database, cache)
    documents = _open_documents(sources, chains, database, is_kept=is_kept)
    tables = TableStore()
    lifetime.push_async_callback(tables.close)
    protocols = ProtocolReaders(PROTOCOLS, Runner(chains.capability, tables, prices, documents))
    followers = Followers(partial(_follow, chains))
    lifetime.push_async_callback(followers.close)
    watches = (
        BalanceWatches(chains, followers.heads, row_error),
        PriceWatches(prices, row_error),
        ReceiptWatches(chains, followers.heads, row_error),
    )
    for watch in watches:
        lifetime.push_async_callback(watch.close)
    aggregator = open_jupiter(sources, is_kept=is_kept)
    return [
        SystemServicer(chains, datetime.now(UTC), settings),
        BlockServicer(chains),
        AccountServicer(chains),
        TokenServicer(chains, prices),
        GasServicer(chains, prices),
        ContractServicer(chains),
        TransactionServicer(chains),
        ApprovalServicer(chains),
        LogServicer(chains),
        RawServicer(chains),
        NftServicer(chains, settings, fetcher, cache, lifetime),
        CosmosServicer(chains),
        NameServicer(chains, fetcher),
        PortfolioServicer(chains, prices),
        PriceServicer(prices, history),
        RegistryServicer(chains),
        MarketplaceServicer(catalogue, published),
        PositionServicer(chains, protocols),
        QuoteServicer(chains, protocols, aggregator),
        FundingServicer(documents),
        YieldServicer(chains, protocols, lifetime),
        UsageServicer(UsageRecords(database)),
        StreamServicer(followers, chains, charge, *watches),
    ]


def _follow(chains: Chains, slug: str) -> tuple[FollowsBlocks, float]:
    """Return what a chain is followed by, and its block time in seconds."""
    chain = chains.get(slug)
    return chain.capability(FollowsBlocks), chain.facts.block_time


def _open_documents(off_chain: Sources, chains: Chains, database: AsyncEngine, *, is_kept: bool) -> DocumentStore:
    """Return the store of the documents that yields and funding rates are read from, of every source by its name."""
    sources = open_yield_sources(off_chain)
    sources |= {name: opened(off_chain) for name, opened in _VENUES.items()}
    sources[rebases.NAME] = rebases.Rebases(chains.capability)
    shares = sources[share_prices.NAME] = share_prices.SharePrices(ShareRecords(database))
    off_chain.lifetime.push_async_callback(shares.close)
    documents = DocumentStore(sources, is_kept=is_kept)
    off_chain.lifetime.push_async_callback(documents.close)
    return documents


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
    """All handlers behind one look-up: those of the build, and those of the published `apps`, which may change.

    They are not registered one by one with the server: grpc.aio keeps a pending future for every registered method and
    re-arms its wait on all of them at every call, which for ninety methods costs more than the call itself.
    """

    def __init__(
        self,
        handlers: Mapping[str, grpc.RpcMethodHandler[Any, Any]],
        apps: Mapping[str, grpc.RpcMethodHandler[Any, Any]] | None = None,
    ) -> None:
        apps = apps or {}
        self._fixed = handlers
        self._apps = apps
        self._handlers = {**handlers, **apps}

    def replace_apps(self, apps: Mapping[str, grpc.RpcMethodHandler[Any, Any]]) -> list[str]:
        """Serve these paths beside the fixed ones from now on; return those that are gone."""
        left = [path for path in self._apps if path not in apps]
        self._apps, self._handlers = apps, {**self._fixed, **apps}
        return left

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Return the handler of the path, None for one that does not exist."""
        return self._handlers.get(handler_call_details.method)


def public_handlers(servicers: Iterable[object]) -> Handlers:
    """Return the handlers of every rpc of `waypost.v1` by path.

    Raises TypeError when a servicer extends no generated servicer, or two serve the same service.
    """
    own: dict[type, object] = {}
    for servicer in servicers:
        base = _generated_base(type(servicer))
        if base in own:
            raise TypeError(f"{servicer!r} and {own[base]!r} both serve {base.__name__}")
        own[base] = servicer
    collector = HandlerCollector()
    for file in public_files():
        for service in file.services_by_name.values():
            module = _stubs(file)
            base = getattr(module, f"{service.name}Servicer")
            register: Callable[[Any, Any], None] = getattr(module, f"add_{service.name}Servicer_to_server")
            register(own.get(base) or base(), collector)
    return collector.handlers


def _generated_base(servicer: type) -> type:
    for base in servicer.__mro__:
        if base.__module__.startswith("waypost.v1.") and base.__name__.endswith("Servicer"):
            return base
    raise TypeError(f"{servicer.__name__} extends no generated servicer of waypost.v1")


def _stubs(file: FileDescriptor) -> ModuleType:
    name = file.name.removesuffix(".proto").replace("/", ".")
    return importlib.import_module(f"{name}_pb2_grpc")
