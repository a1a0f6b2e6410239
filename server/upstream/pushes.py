"""New blocks as nodes announce them: a WebSocket to each endpoint that has an address for it, while somebody watches.

An announcement is no more than a hint that it is time to look: nothing of it is believed, so one that is repeated,
late, out of order or untrue costs a look and changes nothing. A socket that is open and silent for too long counts as
failed and is opened again; polling goes on all the while.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from server.upstream.push_socket import Push

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from server.upstream.endpoint import Endpoint
    from server.upstream.http import Client
    from server.upstream.identity import IdentityCheck
    from server.upstream.push_socket import Announcement, PushQuery
    from server.upstream.transport import Observer

_TICK = 0.02

SILENT_BLOCKS, SILENT_SECONDS = 5.0, 10.0
"""A chain is silent when no block came for so many block times, and for so many seconds."""


class Pushes:
    """The announcements of a pool's endpoints; sockets are open only while somebody listens."""

    def __init__(
        self,
        chain: str,
        endpoints: Sequence[Endpoint],
        query: PushQuery | None,
        verify: IdentityCheck | None,
        http: Client,
        block_time: float,
        observer: Observer,
        clock: Callable[[], float],
    ) -> None:
        self._chain = chain
        self._endpoints = endpoints
        self._query = query
        self._make = partial(Push, chain, verify, http, observer, clock, self._announce)
        self.silence = max(SILENT_BLOCKS * block_time, SILENT_SECONDS)
        """Seconds without an announcement after which an endpoint counts as silent."""
        self._pushes: dict[Endpoint, Push] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._listeners: dict[object, Callable[[Announcement], None]] = {}

    @property
    def is_healthy(self) -> bool:
        """Whether some endpoint announces blocks at present."""
        return any(push.is_healthy for push in self._pushes.values())

    async def prove(self, seconds: float) -> dict[str, str]:
        """Return why endpoints do not announce blocks, by label, of those that are to; none is waited for longer."""
        with self.listen(lambda _: None):
            pushes = {endpoint.label: push for endpoint, push in self._pushes.items()}
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while any(not push.is_healthy and push.failure is None for push in pushes.values()):  # noqa: ASYNC110
                        await asyncio.sleep(_TICK)
        silent = {label: push.failure for label, push in pushes.items() if not push.is_healthy}
        return {label: "no subscription in time" if why is None else why.words for label, why in silent.items()}

    @contextmanager
    def listen(self, heard: Callable[[Announcement], None]) -> Iterator[None]:
        """Have `heard` called with every announcement while the context is open; it must not raise."""
        token = object()
        self._listeners[token] = heard
        self.follow()
        try:
            yield
        finally:
            del self._listeners[token]
            self.follow()

    def follow(self) -> None:
        """Open and close sockets so that those are open which are wanted: endpoints came or went, or listeners."""
        query = self._query
        wanted = self._endpoints if self._listeners else ()
        for endpoint in [one for one in self._pushes if one not in wanted]:
            task = asyncio.get_running_loop().create_task(self._pushes.pop(endpoint).close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        for endpoint in wanted:
            if query is not None and endpoint.push is not None and endpoint not in self._pushes:
                self._pushes[endpoint] = self._make(endpoint.label, endpoint.push, query, self.silence)

    async def close(self) -> None:
        """Close every socket."""
        self._listeners.clear()
        self.follow()
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _announce(self, announcement: Announcement) -> None:
        for heard in list(self._listeners.values()):
            heard(announcement)
