"""The server as a whole: what is built, in which order it opens, and how it ends."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from grpc_health.v1 import health_pb2_grpc
from waypost_internal.v1 import access_pb2_grpc, publication_pb2_grpc

from runtime.listening import Proxies
from runtime.metrics import watch_in_flight
from runtime.operations import load_operations, load_watches
from runtime.renewal import WatchedCertificate
from server.access.admission import Admission, ConcurrencyLimiter, policies_of
from server.access.directory import KeyDirectory
from server.access.keys import KeyStore
from server.access.leased_quotas import LeasedQuotas
from server.access.ledger import LedgerSource
from server.access.quotas import Quotas
from server.access.redis_source import open_redis_source
from server.access.service import AccessServicer
from server.access.usage import Usage, UsageWriter
from server.apis.sources import Sources
from server.chains.capabilities.blocks import ReadsHealth
from server.chains.registry import Chains
from server.change import GatewayChange, Publishing
from server.inprocess import InProcessChannel
from server.listeners import PRIVATE_STREAMS, ListenError, bind, open_listener, refuse_calls
from server.marketplace.calls import PublishedCalls
from server.marketplace.folders import open_catalogue
from server.marketplace.typed import CALL_METHOD, TypedServices
from server.rpc.batch import BatchServicer
from server.rpc.demo import DemoKey
from server.rpc.marketplace import PublicationServicer, answer_call
from server.rpc.pipeline.accounting import AccountingObserver
from server.rpc.pipeline.admission import AdmissionStage
from server.rpc.pipeline.boundary import CallBoundary
from server.rpc.pipeline.interceptor import StagesInterceptor, build_execution
from server.rpc.pipeline.open_streams import OpenStreams
from server.rpc.pipeline.response_cache import ResponseCache
from server.rpc.reflection import reflection_servicer, working_services
from server.rpc.registration import (
    HandlerCollector,
    PathHandlers,
    build_servicers,
    public_handlers,
)
from server.rpc.unauthenticated import HealthServicer, Unauthenticated
from server.storage.database import open_database
from server.storage.usage_records import UsageRecords
from server.upstream.cache import open_cache
from server.upstream.transport import open_session

if TYPE_CHECKING:
    from collections.abc import Iterable

    import grpc
    from sqlalchemy.ext.asyncio import AsyncEngine

    from runtime.settings import Settings, TlsSettings
    from server.access.quotas import ChargesQuotas
    from server.marketplace.catalogue import Catalogue
    from server.upstream.cache import Cache
    from server.upstream.transport import Session

__all__ = ["Gateway", "ListenError"]

# Longer than any drain; `drain` shortens it.
_UNTIL_DRAINED = 3600.0
# For how long calls are held after the server was asked to stop, until it has sent its GOAWAY.
_GOING_AWAY = 0.05


class Gateway:
    """The gRPC server with everything behind it.

    `create` builds and opens nothing public; `channel` serves the same process with or without `start`; `start` binds
    the gRPC face, whose port `port` then is; `leave` has its callers go elsewhere, `drain` ends it all.
    """

    def __init__(
        self,
        settings: Settings,
        chains: Chains,
        http: Session,
        database: AsyncEngine,
        catalogue: Catalogue,
        cache: Cache | None = None,
        servicers: Iterable[object] | None = None,
        quotas: ChargesQuotas | None = None,
        usage: Usage | None = None,
    ) -> None:
        self.chains = chains
        self.keys = KeyStore(database)
        self.port = 0
        self._is_encrypted = False
        self._settings = settings
        self._http = http
        self._database = database
        self._cache = cache
        self._directory = KeyDirectory(self.keys)
        usage = self.usage = usage or Usage()
        self._usage_writer = UsageWriter(usage, UsageRecords(database), database)
        self._lifetime = AsyncExitStack()
        self._draining: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._servers: list[grpc.aio.Server] = []
        self._quotas = Quotas() if quotas is None else quotas
        self._admission = admission = _admission(settings, self._directory, self._quotas)
        calls, watches = load_operations(), load_watches()
        self._operations = operations = (*calls, *watches)
        self._access = AccessServicer(admission, self.states, usage)
        by_path = {operation.path: operation for operation in operations}
        typed = TypedServices(catalogue)
        self._health = HealthServicer((*working_services(operations), *typed.names))

        self._sources = Sources(settings, http, self._lifetime, observer=AccountingObserver(usage))
        collector = HandlerCollector()
        published = PublishedCalls(catalogue, chains)
        if servicers is None:
            servicers = build_servicers(self._sources, chains, database, cache, catalogue, published)
        servicers = (*servicers, BatchServicer(calls, watches, self.channel, admission, usage))
        collector.handlers.update(public_handlers(servicers))
        access_pb2_grpc.add_AccessServiceServicer_to_server(self._access, collector)  # type: ignore[no-untyped-call]
        publications = PublicationServicer(catalogue)
        publication_pb2_grpc.add_PublicationServiceServicer_to_server(publications, collector)  # type: ignore[no-untyped-call]
        staged = dict(collector.handlers)
        health, bounds = HandlerCollector(), Unauthenticated()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, health)
        reflection = reflection_servicer(operations, typed).handlers() if settings.grpc.reflection else {}
        collector.handlers.update((path, bounds.bound(path, handler)) for path, handler in health.handlers.items())
        apps = typed.handlers(partial(answer_call, published))
        apps |= {path: bounds.bound(path, handler) for path, handler in reflection.items()}
        self._handlers = PathHandlers(collector.handlers, apps)

        credential = settings.grpc.credential
        secret = credential.get_secret_value() if credential else None
        canonical = chains.canonical_address
        # The whole answers that are kept: both faces are given them.
        self.responses = responses = (
            None if cache is None else ResponseCache(cache, settings.cache.max_bytes, canonical)
        )
        stage = AdmissionStage(admission, responses, usage)
        boundary = CallBoundary(secret, stage, usage)
        self._streams = OpenStreams(settings.streams, admission, usage)
        execution = build_execution(chains.families, admission, responses, self._streams)
        by_path |= typed.operations(by_path[CALL_METHOD])
        demo = DemoKey(admission, stage, Proxies(settings.http.trusted_proxies))
        self._public = StagesInterceptor(boundary, execution, by_path, private=False, demo=demo)
        self._private = StagesInterceptor(boundary, execution, by_path, private=True)
        self._channel = InProcessChannel(self._private.compose_in_process(staged))
        self._directory.listen(database)
        self._usage_writer.start()
        self._publishing = Publishing(
            operations=operations,
            by_path=by_path,
            handlers=self._handlers,
            interceptors=(self._public, self._private),
            bounds=bounds,
            health=self._health,
            calls=published,
            publications=publications,
            servicers=servicers,
        )
        # In process the gateway answers from now on.
        self._access.ready = True

    @classmethod
    async def create(
        cls, settings: Settings, *, servicers: Iterable[object] | None = None, ledger: int | None = None
    ) -> Gateway:
        """Return a gateway for the settings: database migrated, chains loaded, nothing bound and nothing read yet.

        Its servicers are those of `build_servicers` unless others are given. `ledger` is the descriptor of a worker's
        connection to what its parent counts.

        Raises what `server.storage.failures.STORAGE_FAILURES` names when the database cannot be opened, ConfigError for
        chains or apps of the settings that cannot be.
        """
        database = await open_database(settings.storage.url.get_secret_value(), settings.profile)
        http = open_session(settings.outbound)
        try:
            cache = open_cache(settings)
            usage = Usage()
            chains = Chains.load(settings, http, observer=AccountingObserver(usage), cache=cache)
            catalogue = open_catalogue(settings, [slug for slug, family in chains.families.items() if family == "evm"])
            quotas = _open_quotas(settings, ledger)
            gateway = cls(settings, chains, http, database, catalogue, cache, servicers, quotas, usage)
            await quotas.start()
            return gateway
        except BaseException:
            await http.close()
            await database.dispose()
            raise

    def channel(self) -> InProcessChannel:
        """Return the trusted channel for the transcoder in the same process."""
        return self._channel

    def states(self) -> dict[str, str]:
        """Return the state of every chain as last seen: `ok`, `degraded`, `down`, or `unknown` before its first use."""
        return {chain.slug: chain.capability(ReadsHealth).last_state() or "unknown" for chain in self.chains}

    async def prepare(self, settings: Settings) -> GatewayChange:
        """Return the change to other settings, proved; see `GatewayChange.prepare`."""
        return await GatewayChange.prepare(self._settings, settings, self.chains, self._sources, self._operations)

    def apply(self, change: GatewayChange) -> None:
        """Go on with the settings of a change that was prepared."""
        change.apply(self._publishing, self._admission, self._cache, self.responses)
        self._streams.limit(change.settings.streams)
        self._settings = change.settings

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
        certificate = self._certificate("grpc", grpc_settings.tls)
        self._is_encrypted = certificate is not None
        address = f"{grpc_settings.host}:{grpc_settings.port}"
        port = bind(public, address, "grpc.host and grpc.port", certificate)
        if grpc_settings.private_listen is not None:
            private = open_listener(
                self._handlers,
                self._private,
                shared_port=self._settings.workers > 1,
                streams=PRIVATE_STREAMS + self._settings.streams.max_streams,
            )
            self._servers.append(private)
            certificate = self._certificate("private", grpc_settings.private_tls)
            bind(private, grpc_settings.private_listen, "grpc.private_listen", certificate)
        for server in self._servers:
            await server.start()
        self._health.open()
        self.port = port
        return port

    def _certificate(self, listener: str, tls: TlsSettings) -> WatchedCertificate | None:
        """Return the certificate of a listener, followed while the gateway lives; None without TLS."""
        if tls.files is None:
            return None
        certificate = WatchedCertificate(listener, tls.files)
        certificate.watch()
        self._lifetime.push_async_callback(certificate.close)
        return certificate

    def refuse_readiness(self) -> None:
        """Report not ready, to the transcoder and on gRPC health, while everything is still answered."""
        self._access.ready = False
        self._health.drain()

    async def leave(self, seconds: float) -> None:
        """Have the callers of the public gRPC face go elsewhere, within `seconds` and a moment.

        For the first half everything is answered; then streams are ended, of both faces, and new calls are refused
        with UNAVAILABLE and RetryInfo, for a second at most; then the face is closed. Calls in progress go on until
        `drain`.
        """
        self.refuse_readiness()
        if not self._servers:
            return
        await asyncio.sleep(seconds / 2)
        self._streams.end()
        release = await refuse_calls(self._public, self.port, seconds / 2, is_encrypted=self._is_encrypted)
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
        # They would not end by themselves: nothing of the grace is for them.
        await self._streams.close()
        await asyncio.gather(*(server.stop(grace) for server in self._servers), self._channel.close(grace))
        if self._stopping is not None:
            await self._stopping
        await self._lifetime.aclose()
        await self.chains.close()
        if self._cache is not None:
            await self._cache.close()
        await self._http.close()
        await self._quotas.close()
        await self._usage_writer.close()
        await self._directory.close()
        await self._database.dispose()


def _open_quotas(settings: Settings, ledger: int | None) -> ChargesQuotas:
    """Return what counts quotas: Redis, the parent of several workers, or this process alone."""
    url = settings.quota_redis_url
    if url is not None:
        return LeasedQuotas(open_redis_source(url, settings.profile), replicas=settings.workers)
    return Quotas() if ledger is None else LeasedQuotas(LedgerSource(ledger), replicas=settings.workers)


def _admission(settings: Settings, directory: KeyDirectory, shared: ChargesQuotas) -> Admission:
    limits = settings.server_limits
    default, demo = policies_of(settings.quotas)
    limiter = ConcurrencyLimiter(limits.max_in_flight, limits.max_in_flight_per_key)
    watch_in_flight(lambda: limiter.total)
    return Admission(
        directory,
        shared,
        limiter,
        accepts_local=settings.profile == "devnet",
        default=default,
        demo=demo,
    )
