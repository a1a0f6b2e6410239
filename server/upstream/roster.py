"""The endpoints of a pool as they are now, and how others take their place while calls are in flight.

New endpoints are opened and prove their chain beside those in use; then all change places at once. Whoever chooses an
endpoint reads one list, so that from that moment none that left is asked anew. It answers what it was asked before, and
then its connections end.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from server.upstream.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime.settings import RemoteSettings
    from server.upstream.connector import Connector
    from server.upstream.identity import Identity
    from server.upstream.transport import Session

PROOF_SECONDS = 8.0
"""How long a new endpoint may take to prove which chain it serves."""

LEAVING_SECONDS = 120.0
"""Longer than any call: an endpoint that left is given up after it, whatever it still owes."""

_TICK = 0.05


class Roster:
    """The endpoints of one pool by label, with their connectors and identity checks (none where chains have none)."""

    def __init__(
        self,
        open_connector: Callable[[Endpoint], Connector[Any]],
        open_identity: Callable[[Endpoint], Identity] | None,
        http: Session,
        clock: Callable[[], float],
    ) -> None:
        self.endpoints: list[Endpoint] = []
        """Those in use, in the order of the configuration: the one list that all choose from."""
        self.by_label: dict[str, Endpoint] = {}
        self.connectors: dict[Endpoint, Connector[Any]] = {}
        """Of those in use, of new ones that prove themselves, and of those that still owe an answer."""
        self.identities: dict[Endpoint, Identity] = {}
        self._settings: dict[Endpoint, RemoteSettings] = {}
        self._open_connector = open_connector
        self._open_identity = open_identity
        self._http = http
        self._clock = clock
        self._leaving: set[asyncio.Task[None]] = set()

    def open(self, settings: RemoteSettings) -> Endpoint:
        """Return a new endpoint with its connector, not in use yet; nothing is sent."""
        endpoint = Endpoint.from_settings(settings, self._clock)
        self._settings[endpoint] = settings
        if self._open_identity is not None:
            self.identities[endpoint] = self._open_identity(endpoint)
        self.connectors[endpoint] = self._open_connector(endpoint)
        return endpoint

    def find(self, settings: RemoteSettings) -> Endpoint | None:
        """Return the endpoint in use that is asked just as the settings say, whatever its weight and rate are."""
        endpoint = self.by_label.get(settings.label)
        if endpoint is None or self._settings[endpoint].route_key != settings.route_key:
            return None
        return endpoint

    def enter(self, endpoints: Sequence[Endpoint], settings: Sequence[RemoteSettings]) -> None:
        """Put these endpoints in the place of those in use, under the terms of their settings; the others leave."""
        left = [endpoint for endpoint in self.endpoints if endpoint not in endpoints]
        for endpoint, wanted in zip(endpoints, settings, strict=True):
            if endpoint not in self.endpoints:
                endpoint.entered_at = self._clock()
            endpoint.set_terms(wanted.weight, wanted.rate)
            self._settings[endpoint] = wanted
        self.endpoints[:] = endpoints
        self.by_label.clear()
        self.by_label.update((endpoint.label, endpoint) for endpoint in endpoints)
        for endpoint in left:
            endpoint.is_removed = True
            task = asyncio.get_running_loop().create_task(self._leave(endpoint))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def discard(self, endpoint: Endpoint) -> None:
        """Close an endpoint that is not in use: its checks, its connector, its connections."""
        endpoint.is_removed = True
        if endpoint.watch is not None:
            await endpoint.watch.close()
        identity = self.identities.pop(endpoint, None)
        if identity is not None:
            await identity.close()
        connector = self.connectors.pop(endpoint, None)
        if connector is not None:
            await connector.close()
        self._settings.pop(endpoint, None)
        self._http.retire(endpoint.address.origin)

    async def close(self) -> None:
        """Close everything at once."""
        for task in self._leaving:
            task.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)
        for endpoint in [*self.connectors]:
            await self.discard(endpoint)

    async def _leave(self, endpoint: Endpoint) -> None:
        """Close an endpoint once it owes no answer; its idle connections are closed now."""
        self._http.retire(endpoint.address.origin)
        until = self._clock() + LEAVING_SECONDS
        # What a call chose a moment ago has not left yet.
        await asyncio.sleep(_TICK)
        while endpoint.is_used and self._clock() < until:  # noqa: ASYNC110  # no event costs a call nothing
            await asyncio.sleep(_TICK)
        await self.discard(endpoint)


class Replacement:
    """The endpoints that a pool is to have: prepared beside those in use, then applied or given up.

    `changed` is called after the change, with the labels that are gone and those of new endpoints.
    """

    def __init__(
        self,
        roster: Roster,
        settings: Sequence[RemoteSettings],
        changed: Callable[[frozenset[str], frozenset[str]], None],
    ) -> None:
        self._roster = roster
        self._settings = settings
        self._changed = changed
        self._endpoints: list[Endpoint] = []
        self._opened: list[Endpoint] = []
        for wanted in settings:
            endpoint = roster.find(wanted)
            if endpoint is None:
                endpoint = roster.open(wanted)
                self._opened.append(endpoint)
            self._endpoints.append(endpoint)

    async def prove(self) -> dict[str, str]:
        """Return why new endpoints cannot be used, by label: of another chain, or no answer. Empty is success."""
        failures = await asyncio.gather(*(self._prove(endpoint) for endpoint in self._opened))
        return {endpoint.label: words for endpoint, words in zip(self._opened, failures, strict=True) if words}

    def apply(self) -> None:
        """Change places: from now on the new endpoints are asked, and those that left are not."""
        before = frozenset(self._roster.by_label)
        self._roster.enter(self._endpoints, self._settings)
        opened, self._opened = self._opened, []
        self._changed(before - set(self._roster.by_label), frozenset(endpoint.label for endpoint in opened))

    async def discard(self) -> None:
        """Close what was opened; the pool stays as it is."""
        opened, self._opened = self._opened, []
        for endpoint in opened:
            await self._roster.discard(endpoint)

    async def _prove(self, endpoint: Endpoint) -> str:
        identity = self._roster.identities.get(endpoint)
        failure = None if identity is None else await identity.prove(PROOF_SECONDS)
        return "" if failure is None else failure.words
