"""The server as a whole: what is built, in which order it opens, and how it ends."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from grpc_health.v1 import health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2_grpc
from waypost.internal.v1 import access_pb2_grpc, publication_pb2_grpc

from runtime.metrics import watch_in_flight
from runtime.operations import load_operations
from server.access.admission import DEMO, Admission, ConcurrencyLimiter, Policy, Quotas
from server.access.keys import KeyDirectory, KeyStore
from server.access.service import AccessServicer
from server.chains.capabilities.blocks import ReadsHealth
from server.chains.registry import Chains
from server.inprocess import InProcessChannel
from server.listeners import ListenError, bind, open_listener, refuse_calls
from server.marketplace.calls import PublishedCalls
from server.marketplace.folders import open_catalogue
from server.marketplace.typed import CALL_METHOD, TypedServices
from server.rpc.marketplace import PublicationServicer, answer_call
from server.rpc.pipeline.admission import AdmissionStage
from server.rpc.pipeline.boundary import CallBoundary
from server.rpc.pipeline.interceptor import StagesInterceptor, build_execution
from server.rpc.pipeline.response_cache import ResponseCache
from server.rpc.registration import (
    HandlerCollector,
    PathHandlers,
    build_servicers,
    public_handlers,
)
from server.rpc.unauthenticated import HealthServicer, Unauthenticated, reflection_servicer, working_services
from server.storage.database import open_database
from server.upstream.cache import open_cache
from server.upstream.transport import PrometheusObserver, open_session

if TYPE_CHECKING:
    from collections.abc import Iterable

    import grpc
    from sqlalchemy.ext.asyncio import AsyncEngine

    from runtime.settings import Settings
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
        published = PublishedCalls(catalogue, chains)
        if servicers is None:
            servicers = build_servicers(
                settings, chains, http, database, cache, catalogue, published, self._lifetime, PrometheusObserver()
            )
        collector.handlers.update(public_handlers(servicers))
        access_pb2_grpc.add_AccessServiceServicer_to_server(self._access, collector)  # type: ignore[no-untyped-call]
        publications = PublicationServicer(catalogue)
        publication_pb2_grpc.add_PublicationServiceServicer_to_server(publications, collector)  # type: ignore[no-untyped-call]
        staged = dict(collector.handlers)
        collector.handlers.update(typed.handlers(partial(answer_call, published)))
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
        canonical = chains.canonical_address
        responses = None if cache is None else ResponseCache(cache, settings.cache.max_bytes, canonical)
        boundary = CallBoundary(secret, AdmissionStage(admission, responses))
        execution = build_execution(chains.families, admission, responses)
        by_path |= typed.operations(by_path[CALL_METHOD])
        self._public = StagesInterceptor(boundary, execution, by_path, private=False)
        self._private = StagesInterceptor(boundary, execution, by_path, private=True)
        self._channel = InProcessChannel(self._private.compose_in_process(staged))
        # In process the gateway answers from now on.
        self._access.ready = True

    @classmethod
    async def create(cls, settings: Settings, *, servicers: Iterable[object] | None = None) -> Gateway:
        """Return a gateway for the settings: database migrated, chains loaded, nothing bound and nothing read yet.

        Its servicers are those of `build_servicers` unless others are given.

        Raises what `server.storage.failures.STORAGE_FAILURES` names when the database cannot be opened, ConfigError for
        chains or apps of the settings that cannot be.
        """
        database = await open_database(settings.storage.url.get_secret_value(), settings.profile)
        http = open_session(settings.outbound)
        try:
            cache = open_cache(settings)
            chains = Chains.load(settings, http, observer=PrometheusObserver(), cache=cache)
            catalogue = open_catalogue(settings, [slug for slug, family in chains.families.items() if family == "evm"])
            return cls(settings, chains, http, database, catalogue, cache, servicers)
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
        """Have the callers of the public gRPC face go elsewhere, within `seconds` and a moment.

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
    limiter = ConcurrencyLimiter(limits.max_in_flight, limits.max_in_flight_per_key)
    watch_in_flight(lambda: limiter.total)
    return Admission(
        directory,
        Quotas(),
        limiter,
        accepts_local=settings.profile == "devnet",
        default=Policy("default", quotas.default_rate, quotas.default_burst),
        demo=Policy(DEMO, quotas.demo_rate, quotas.demo_burst),
    )
