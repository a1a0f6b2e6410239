"""New settings for a running gateway: prepared and proved as a whole, then applied in one turn of the event loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from runtime.settings.changes import changed_keys, refuse_fixed
from server.access.admission import policies_of
from server.catalog.calendar import open_calendar
from server.chains.change import ChainsChange
from server.marketplace.folders import open_catalogue
from server.marketplace.methods import Methods
from server.marketplace.typed import CALL_METHOD, TypedServices
from server.rpc.marketplace import MarketplaceServicer, answer_call
from server.rpc.reflection import reflection_servicer, working_services
from server.rpc.system import SystemServicer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.operations import Operation
    from runtime.settings import Settings
    from server.access.admission import Admission
    from server.apis.sources import Sources, SourcesChange
    from server.catalog.calendar import Calendar
    from server.chains.registry import Chains
    from server.marketplace.calls import PublishedCalls
    from server.marketplace.catalogue import Catalogue
    from server.rpc.marketplace import PublicationServicer
    from server.rpc.pipeline.interceptor import StagesInterceptor
    from server.rpc.pipeline.response_cache import ResponseCache
    from server.rpc.reflection import Reflection
    from server.rpc.registration import PathHandlers
    from server.rpc.unauthenticated import HealthServicer, Unauthenticated
    from server.upstream.cache import Cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing:
    """All that the published apps reach: their own services, the methods' names, reflection, health, the documents."""

    operations: Sequence[Operation]
    by_path: dict[str, Operation]
    handlers: PathHandlers
    interceptors: Sequence[StagesInterceptor]
    bounds: Unauthenticated
    health: HealthServicer
    calls: PublishedCalls
    publications: PublicationServicer
    servicers: Sequence[object]

    def publish(self, published: _Published) -> None:
        """Serve these apps from now on, and no others; calls in progress end as they began."""
        typed = published.typed
        handlers = typed.handlers(partial(answer_call, self.calls))
        if published.reflection is not None:
            reflection = published.reflection.handlers()
            handlers |= {path: self.bounds.bound(path, handler) for path, handler in reflection.items()}
        by_path = typed.operations(self.by_path[CALL_METHOD])
        left = self.handlers.replace_apps(handlers)
        for path in left:
            self.by_path.pop(path, None)
        self.by_path.update(by_path)
        for interceptor in self.interceptors:
            interceptor.forget((*left, *handlers))
        self.calls.methods = published.methods
        self.publications.publish(published.catalogue)
        self.health.replace((*working_services(self.operations), *typed.names))
        for servicer in self.servicers:
            if isinstance(servicer, MarketplaceServicer):
                servicer.catalogue = published.catalogue


@dataclass(frozen=True, slots=True)
class _Published:
    catalogue: Catalogue
    typed: TypedServices
    methods: Methods
    reflection: Reflection | None


class GatewayChange:
    """The change from the settings of a gateway to others. Made by `prepare`; ends by `apply` or `discard`."""

    def __init__(
        self,
        settings: Settings,
        keys: tuple[str, ...],
        chains: ChainsChange,
        sources: SourcesChange,
        calendar: Calendar | None,
        published: _Published | None,
    ) -> None:
        self.settings = settings
        self.keys = keys
        """The keys that change, and those whose files were read again."""
        self._chains = chains
        self._sources = sources
        self._calendar = calendar
        self._published = published

    @classmethod
    async def prepare(
        cls,
        before: Settings,
        settings: Settings,
        chains: Chains,
        sources: Sources,
        operations: Sequence[Operation],
    ) -> GatewayChange:
        """Return the change, with new endpoints proved and files read; nothing is changed yet.

        Raises ConfigError with what is wrong, or needs a restart; then nothing is left of it.
        """
        refuse_fixed(before, settings)
        keys = changed_keys(before, settings)
        change = ChainsChange(chains, before, settings)
        of_sources = None
        try:
            of_sources = sources.change(before, settings)
            slugs = [chain.slug for chain in chains]
            evm = [slug for slug, family in chains.families.items() if family == "evm"]
            reread = []
            calendar = published = None
            if before.calendar.entries is not None or settings.calendar.entries is not None:
                reread.append("calendar.entries")
                calendar = await asyncio.to_thread(open_calendar, settings, slugs)
            if before.marketplace.apps is not None or settings.marketplace.apps is not None:
                reread.append("marketplace.apps")
                # Half a second of work, beside which calls go on.
                published = await asyncio.to_thread(_publish, settings, evm, operations)
            await change.prove()
        except BaseException:
            await change.discard()
            if of_sources is not None:
                await of_sources.discard()
            raise
        return cls(settings, tuple(dict.fromkeys((*keys, *reread))), change, of_sources, calendar, published)

    def apply(
        self,
        publishing: Publishing,
        admission: Admission,
        cache: Cache | None,
        responses: ResponseCache | None,
    ) -> None:
        """Change everything, in this turn of the event loop."""
        self._chains.apply()
        self._sources.apply()
        admission.set_policies(*policies_of(self.settings.quotas))
        if cache is not None:
            cache.resize(self.settings.cache.max_bytes)
        if responses is not None:
            responses.resize(self.settings.cache.max_bytes)
            responses.forget()
        for servicer in publishing.servicers:
            if isinstance(servicer, SystemServicer) and self._calendar is not None:
                servicer.announce(self._calendar)
        if self._published is not None:
            publishing.publish(self._published)

    async def discard(self) -> None:
        """Give it up; the gateway stays as it is."""
        await self._chains.discard()
        await self._sources.discard()


def _publish(settings: Settings, chains: Sequence[str], operations: Sequence[Operation]) -> _Published:
    catalogue = open_catalogue(settings, chains)
    typed = TypedServices(catalogue)
    reflection = reflection_servicer(operations, typed) if settings.grpc.reflection else None
    return _Published(catalogue, typed, Methods(catalogue), reflection)
