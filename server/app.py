"""The server as a whole: what is built, in which order it opens, and how it ends."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from grpc_health.v1 import health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2_grpc
from waypost.internal.v1 import access_pb2_grpc, publication_pb2_grpc

from runtime.metrics import watch_in_flight
from runtime.operations import load_operations
from server.access.admission import Admission
from server.access.directory import KeyDirectory
from server.access.flights import Flights
from server.access.keys import KeyStore
from server.access.principals import DEMO, Policy
from server.access.quotas import Quotas
from server.access.service import AccessServicer
from server.aggregators.jupiter import open_jupiter
from server.apis.documents import DocumentStore
from server.chains.registry import Chains
from server.fetch import GuardedFetcher
from server.inprocess import InProcessChannel
from server.leaving import refuse_calls
from server.listeners import ListenError, bind, open_listener
from server.marketplace.calls import PublishedCalls
from server.marketplace.folders import open_catalogue
from server.marketplace.typed import CALL_METHOD, TypedServices
from server.prices import open_prices
from server.protocols.book import ProtocolReaders
from server.protocols.runner import Runner
from server.protocols.tables import TableStore
from server.rpc.health import HealthServicer
from server.rpc.interceptor import StagesInterceptor
from server.rpc.marketplace import PublicationServicer, answer_call
from server.rpc.pipeline import build_stages
from server.rpc.reflection import reflection_servicer, working_services
from server.rpc.registration import PROTOCOLS, SERVICERS, Dependencies, HandlerCollector, PathHandlers, public_handlers
from server.rpc.stages.admission import AdmissionStage
from server.rpc.stages.answers import Answers
from server.rpc.stages.frame import Frame
from server.rpc.stages.recall import Recall
from server.rpc.unauthenticated import Unauthenticated
from server.storage.database import open_database
from server.storage.share_records import ShareRecords
from server.upstream.cache import open_cache
from server.upstream.observer import Measured
from server.upstream.transport import open_session
from server.venues import dydx, hyperliquid
from server.yields import rebases, share_prices
from server.yields.opening import open_yield_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import grpc
    from sqlalchemy.ext.asyncio import AsyncEngine

    from runtime.settings import Settings
    from server.apis.documents import DocumentSource
    from server.marketplace.catalogue import Catalogue
    from server.upstream.cache import Cache
    from server.upstream.transport import Session

__all__ = ["Gateway", "ListenError"]

# The venues whose documents tell funding rates.
_VENUES: dict[str, Callable[..., DocumentSource]] = {
    hyperliquid.NAME: hyperliquid.open_hyperliquid,
    dydx.NAME: dydx.open_dydx,
}

# Longer than any drain; `drain` shortens it.
_UNTIL_DRAINED = 3600.0
# For how long calls are held after the server was asked to stop, until it has sent its GOAWAY.
_GOING_AWAY = 0.05


class Gateway:
    """The gRPC server with everything behind it.

    `create` builds and opens nothing public; `channel` serves the same process with or without `start`; `start` binds
    the gRPC face, whose port `port` then is; `leave` takes leave of its callers, `drain` ends it all.
    """

    def __init__(
        self,
        settings: Settings,
        chains: Chains,
        http: Session,
        database: AsyncEngine,
        servicers: Iterable[type],
        catalogue: Catalogue,
        cache: Cache | None = None,
    ) -> None:
        self.chains = chains
        self.keys = KeyStore(database)
        self.port = 0
        self._settings = settings
        self._http = http
        self._database = database
        self._cache = cache
        self._directory = KeyDirectory(self.keys)
        self._lifetime = AsyncExitStack()
        self._draining: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._servers: list[grpc.aio.Server] = []
        admission = _admission(settings, self._directory)
        operations = load_operations()
        self._access = AccessServicer(admission, self.states)
        by_path = {operation.path: operation for operation in operations}
        typed = TypedServices(catalogue)
        self._health = HealthServicer((*working_services(operations), *typed.names))

        collector = HandlerCollector()
        fetcher = GuardedFetcher(settings.fetcher)
        self._lifetime.push_async_callback(fetcher.close)
        prices, history = open_prices(settings, chains, http, database, cache, self._lifetime)
        sources = open_yield_sources(settings, http, self._lifetime, observer=Measured())
        sources |= {
            name: opened(settings, http, self._lifetime, observer=Measured()) for name, opened in _VENUES.items()
        }
        sources[rebases.NAME] = rebases.Rebases(chains.capability)
        shares = sources[share_prices.NAME] = share_prices.SharePrices(ShareRecords(database))
        self._lifetime.push_async_callback(shares.close)
        documents = DocumentStore(sources, is_kept=cache is not None)
        self._lifetime.push_async_callback(documents.close)
        tables = TableStore()
        self._lifetime.push_async_callback(tables.close)
        published_calls = PublishedCalls(catalogue, chains)
        dependencies = Dependencies(
            chains,
            settings,
            datetime.now(UTC),
            http,
            database,
            cache,
            self._lifetime,
            catalogue,
            published_calls,
            fetcher,
            prices,
            history,
            ProtocolReaders(PROTOCOLS, Runner(chains.capability, tables, prices, documents)),
            open_jupiter(settings, http, self._lifetime, is_kept=cache is not None, observer=Measured()),
            documents,
        )
        collector.handlers.update(public_handlers(dependencies, servicers=servicers))
        access_pb2_grpc.add_AccessServiceServicer_to_server(self._access, collector)  # type: ignore[no-untyped-call]
        publications = PublicationServicer(catalogue)
        publication_pb2_grpc.add_PublicationServiceServicer_to_server(publications, collector)  # type: ignore[no-untyped-call]
        staged = dict(collector.handlers)
        collector.handlers.update(typed.handlers(partial(answer_call, published_calls)))
        keyless = HandlerCollector()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, keyless)
        if settings.grpc.reflection:
            reflection = reflection_servicer(operations, typed)
            reflection_pb2_grpc.add_ServerReflectionServicer_to_server(reflection, keyless)
        bounds = Unauthenticated()
        collector.handlers.update((path, bounds.bound(path, handler)) for path, handler in keyless.handlers.items())
        self._handlers = PathHandlers(collector.handlers)

        credential = settings.grpc.credential
        secret = credential.get_secret_value() if credential else None
        answers = None if cache is None else Answers(cache, chains.canonical_address)
        recall = None if cache is None else Recall(cache, settings.cache.max_bytes)
        frame = Frame(secret, AdmissionStage(admission, recall))
        stages = build_stages(chains.families, admission.quotas, answers)
        by_path |= typed.operations(by_path[CALL_METHOD])
        self._public = StagesInterceptor(frame, stages, by_path, private=False)
        self._private = StagesInterceptor(frame, stages, by_path, private=True)
        composed = {path: self._private.compose(path, handler) for path, handler in staged.items()}
        self._channel = InProcessChannel({path: handler for path, handler in composed.items() if handler is not None})
        # In process the gateway answers from now on.
        self._access.ready = True

    @classmethod
    async def create(cls, settings: Settings, *, servicers: Iterable[type] = SERVICERS) -> Gateway:
        """Return a gateway for the settings: database migrated, chains loaded, nothing bound and nothing asked yet.

        Raises what `server.storage.failures.STORAGE_FAILURES` names when the database cannot be opened, ConfigError for
        chains or apps of the settings that cannot be.
        """
        database = await open_database(settings.storage.url.get_secret_value(), settings.profile)
        http = open_session()
        try:
            cache = open_cache(settings)
            chains = Chains.load(settings, http, observer=Measured(), cache=cache)
            catalogue = open_catalogue(settings, [slug for slug, family in chains.families.items() if family == "evm"])
            return cls(settings, chains, http, database, servicers, catalogue, cache)
        except BaseException:
            await http.close()
            await database.dispose()
            raise

    def channel(self) -> InProcessChannel:
        """Return the trusted channel for the transcoder in the same process."""
        return self._channel

    def states(self) -> dict[str, str]:
        """Return the state of every chain as last seen: `ok`, `degraded`, `down`, or `unknown` before its first use."""
        return {chain.slug: (chain.driver and chain.driver.last_state()) or "unknown" for chain in self.chains}

    async def start(self) -> int:
        """Bind the public gRPC face, and the private listener where one is configured; return the public port.

        Raises ListenError when an address cannot be had.
        """
        grpc_settings = self._settings.grpc
        public = open_listener(
            self._handlers,
            self._public,
            shared_port=self._settings.workers > 1,
            streams=grpc_settings.max_streams,
            connections=grpc_settings.max_connections,
        )
        self._servers.append(public)
        port = bind(public, f"{grpc_settings.host}:{grpc_settings.port}", "grpc.host and grpc.port")
        if grpc_settings.private_listen is not None:
            private = open_listener(self._handlers, self._private, shared_port=self._settings.workers > 1)
            self._servers.append(private)
            bind(private, grpc_settings.private_listen, "grpc.private_listen")
        for server in self._servers:
            await server.start()
        self._health.open()
        self.port = port
        return port

    def refuse_readiness(self) -> None:
        """Report not ready, to the transcoder and on gRPC health, while everything is still answered."""
        self._access.ready = False
        self._health.drain()

    async def leave(self, seconds: float) -> None:
        """Take leave of the callers of the public gRPC face, within `seconds` and a moment.

        For the first half everything is answered; then new calls are refused with UNAVAILABLE and RetryInfo, for a
        second at most; then the face is closed. Calls in progress go on until `drain`.
        """
        self.refuse_readiness()
        if not self._servers:
            return
        await asyncio.sleep(seconds / 2)
        release = await refuse_calls(self._public, self.port, seconds / 2)
        self._stopping = asyncio.create_task(self._servers[0].stop(_UNTIL_DRAINED))
        await asyncio.sleep(_GOING_AWAY)
        release()

    async def drain(self, grace: float) -> None:
        """End: readiness goes first, calls in flight may finish for `grace` seconds, then everything is closed.

        Further calls of it wait for the first one.
        """
        if self._draining is None:
            self._draining = asyncio.create_task(self._drain(grace))
        await asyncio.shield(self._draining)

    async def _drain(self, grace: float) -> None:
        self.refuse_readiness()
        await asyncio.gather(*(server.stop(grace) for server in self._servers), self._channel.close(grace))
        if self._stopping is not None:
            await self._stopping
        await self._lifetime.aclose()
        await self.chains.close()
        if self._cache is not None:
            await self._cache.close()
        await self._http.close()
        await self._directory.close()
        await self._database.dispose()


def _admission(settings: Settings, directory: KeyDirectory) -> Admission:
    quotas, limits = settings.quotas, settings.server_limits
    flights = Flights(limits.max_in_flight, limits.max_in_flight_per_key)
    watch_in_flight(lambda: flights.total)
    return Admission(
        directory,
        Quotas(),
        flights,
        accepts_local=settings.profile == "devnet",
        default=Policy("default", quotas.default_rate, quotas.default_burst),
        demo=Policy(DEMO, quotas.demo_rate, quotas.demo_burst),
    )
