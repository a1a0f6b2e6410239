"""The live keys in memory, so that no request waits for the database.

All of them are held, by hash: a wrong key is known to be wrong without a query of its own, and there is no cache of
wrong keys that a flood could fill. A cheap query asks at most every `FRESH_SECONDS` whether anything changed.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from runtime.logs import get_logger
from server.access.keys import digest, is_key_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.access.keys import KeyRecord, KeyStore

FRESH_SECONDS = 2.0
"""Age from which a look-up asks the database in the background; revocation is seen after this and one query."""
STALE_SECONDS = 4.0
"""Age from which a look-up waits for the database: an idle gateway does not admit a key revoked meanwhile."""
BETWEEN_MISSES_SECONDS = 0.05
"""Unknown keys wait for the next look at the database, which happens this often at most."""

_log = get_logger("waypost.access")


class KeyDirectory:
    """Finds the record of a key. While the database is unreachable, what was last known holds."""

    def __init__(self, store: KeyStore, clock: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._clock = clock
        self._records: dict[bytes, KeyRecord] = {}
        self._version: tuple[int, int] | None = None
        self._refreshed = float("-inf")
        self._refresh: asyncio.Task[None] | None = None
        self._started = self._finished = 0

    def peek(self, api_key: str) -> KeyRecord | None:
        """Return the record if it is known and fresh enough to be believed without waiting."""
        age = self._clock() - self._refreshed
        if age >= STALE_SECONDS:
            return None
        if age >= FRESH_SECONDS:
            self._start_refresh()
        return self._records.get(digest(api_key))

    async def find(self, api_key: str) -> KeyRecord | None:
        """Return the record as the database has it now; None for an unknown or revoked key."""
        if not is_key_text(api_key):
            return None
        # A refresh under way may have read before the key was made: wait for one that starts from now on.
        wanted = self._started + 1
        while self._finished < wanted:
            pause = self._refreshed + BETWEEN_MISSES_SECONDS - self._clock()
            if self._refresh is None and pause > 0:
                await asyncio.sleep(pause)
            else:
                await asyncio.wait((self._start_refresh(),))
        return self._records.get(digest(api_key))

    async def close(self) -> None:
        """End a refresh under way."""
        if self._refresh is not None:
            self._refresh.cancel()
            await asyncio.wait((self._refresh,))

    def _start_refresh(self) -> asyncio.Task[None]:
        if self._refresh is None:
            self._started += 1
            self._refresh = asyncio.create_task(self._load())
            self._refresh.add_done_callback(self._end_refresh)
        return self._refresh

    def _end_refresh(self, task: asyncio.Task[None]) -> None:
        self._refresh = None
        self._finished = self._started

    async def _load(self) -> None:
        started = self._clock()
        try:
            version = await self._store.version()
            if version != self._version:
                # Read after the version: a key made in between is here now, and the next version differs again.
                self._records = await self._store.live_keys()
                self._version = version
        except Exception as error:
            # The text of a database error may hold its URL.
            _log.error("the key store cannot be read; what was last known holds", error=type(error).__name__)
        self._refreshed = started
