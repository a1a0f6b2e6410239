"""The live keys in memory.

All live keys are held by hash, so that no request waits for the database: a wrong key is known to be wrong without a
query of its own, and there is no cache of wrong keys that a flood could fill. A cheap query asks at most every
`FRESH_SECONDS` whether anything changed; PostgreSQL announces changes besides, which are then seen at once.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING

from runtime.logs import get_logger
from runtime.metrics import set_store_up
from server.access.keys import CHANNEL, digest, is_key_text, is_ticket_text
from server.errors import UpstreamUnavailable
from server.storage.failures import STORAGE_FAILURES

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.ext.asyncio import AsyncEngine

    from server.access.keys import KeyRecord, KeyStore, Ticket


FRESH_SECONDS = 2.0
"""Age from which a look-up reads the database in the background; revocation is seen after this and one query."""
STALE_SECONDS = 4.0
"""Age from which a look-up waits for the database: an idle gateway does not admit a key revoked meanwhile."""
BETWEEN_MISSES_SECONDS = 0.05
"""Unknown keys wait for the next look at the database, which happens this often at most."""
LONGEST_READ_SECONDS = 2.0
"""A database that does not answer for so long is away."""
LONGEST_WRITE_SECONDS = 3.0
"""How long a ticket waits for its turn to be written."""

_AGAIN_SECONDS = 2.0
_RECENT_SECONDS = 1.0

_log = get_logger("waypost.access")


class KeyDirectory:
    """Finds the record of a key, by its text or a ticket. While the database is away, what was last known holds."""

    def __init__(self, store: KeyStore, clock: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._clock = clock
        self._records: dict[bytes, KeyRecord] = {}
        self._by_id: dict[int, KeyRecord] = {}
        self._tickets: dict[bytes, Ticket] = {}
        self._version: tuple[int, ...] | None = None
        self._newest_ticket: int | None = None
        self._refreshed = float("-inf")
        self._refresh: asyncio.Task[None] | None = None
        self._started = self._finished = 0
        self._is_away = False
        self._is_outdated = False
        self._listening: asyncio.Task[None] | None = None
        self._is_closed = False

    def peek(self, api_key: str) -> KeyRecord | None:
        """Return the record if it is known and fresh enough to be used without waiting."""
        age = self._clock() - self._refreshed
        if age >= STALE_SECONDS:
            return None
        if age >= FRESH_SECONDS:
            self._start_refresh()
        return self.known(api_key)

    async def find(self, api_key: str) -> KeyRecord | None:
        """Return the record as the database has it now; None for an unknown or revoked key.

        While the database is away, as it was last known. Raises UpstreamUnavailable for a key that was not.
        """
        if not (is_key_text(api_key) or is_ticket_text(api_key)):
            return None
        # A refresh under way may have read before the key was made: wait for one that starts from now on.
        wanted = self._started + 1
        while self._finished < wanted:
            pause = self._refreshed + BETWEEN_MISSES_SECONDS - self._clock()
            if self._refresh is None and pause > 0:
                await asyncio.sleep(pause)
            else:
                await asyncio.wait((self._start_refresh(),))
        record = self.known(api_key)
        if record is None and self._is_away:
            raise UpstreamUnavailable(
                "the API key cannot be checked at present, as the gateway's database is away; try again shortly",
                retry_after_ms=2000,
            )
        return record

    async def refresh(self) -> None:
        """Have the records as they are now, or as they were less than a second ago.

        Those of before hold while the database is away.
        """
        if self._refresh is not None or self._clock() - self._refreshed >= _RECENT_SECONDS:
            await asyncio.wait((self._start_refresh(),))

    def known(self, api_key: str) -> KeyRecord | None:
        """Return the record of a key as it was last read, None for one that is unknown or revoked."""
        given = digest(api_key)
        record = self._records.get(given)
        if record is None and given in self._tickets:
            ticket = self._tickets[given]
            if ticket.expires_at > datetime.now(UTC):
                record = self._records.get(ticket.key_hash)
        return record

    def known_by_id(self, number: int) -> KeyRecord | None:
        """Return the record of a key by its number, as `known` does."""
        return self._by_id.get(number)

    async def issue_ticket(self, api_key: str) -> str:
        """Return a fresh ticket for a key's text (`KeyStore.issue_ticket`).

        Raises UpstreamUnavailable where the database does not take it in time.
        """
        try:
            async with asyncio.timeout(LONGEST_WRITE_SECONDS):
                return await self._store.issue_ticket(digest(api_key))
        except STORAGE_FAILURES as error:
            _log.error("no ticket can be issued", error=type(error).__name__)
            raise UpstreamUnavailable(
                "no ticket can be issued at present, as the gateway's database does not take it; try again shortly",
                retry_after_ms=2000,
            ) from None

    def listen(self, engine: AsyncEngine) -> None:
        """Read again as soon as the database announces a change, where it can; for as long as the directory lives."""
        if engine.dialect.name == "postgresql" and self._listening is None:
            self._listening = asyncio.get_running_loop().create_task(self._listen(engine))

    async def close(self) -> None:
        """End what is under way."""
        self._is_closed = True
        running = [task for task in (self._refresh, self._listening) if task is not None]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    def _start_refresh(self) -> asyncio.Task[None]:
        if self._refresh is None:
            self._started += 1
            self._refresh = asyncio.create_task(self._load())
            self._refresh.add_done_callback(self._end_refresh)
        return self._refresh

    def _end_refresh(self, task: asyncio.Task[None]) -> None:
        self._refresh = None
        self._finished = self._started
        if self._is_outdated and not task.cancelled():
            self._is_outdated = False
            self._start_refresh()

    async def _load(self) -> None:
        started = self._clock()
        try:
            async with asyncio.timeout(LONGEST_READ_SECONDS):
                version, newest_ticket = await self._store.version()
                if version != self._version:
                    # Read after the version: a key created in between is here now, and the next version differs again.
                    self._records = await self._store.live_keys()
                    self._by_id = {record.id: record for record in self._records.values()}
                    self._version = version
                if newest_ticket != self._newest_ticket:
                    self._tickets = await self._store.live_tickets()
                    self._newest_ticket = newest_ticket
            self._is_away = False
            set_store_up("database", True)
        except Exception as error:
            self._is_away = True
            set_store_up("database", False)
            # The text of a database error may hold its URL.
            _log.error("the key store cannot be read; what was last known holds", error=type(error).__name__)
        self._refreshed = started

    def _hear(self, *_: object) -> None:
        """Read again; a reading under way may have begun before the change."""
        self._is_outdated = self._refresh is not None
        self._start_refresh()

    async def _listen(self, engine: AsyncEngine) -> None:
        """Keep a connection that listens. While there is none, and behind a proxy that drops it, polling remains."""
        while True:
            try:
                await self._listen_once(engine)
            except Exception as error:
                # A driver may raise its own error where it is cancelled.
                if self._is_closed:
                    return
                _log.warning("changes of keys are not announced; they are polled", error=type(error).__name__)
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _listen_once(self, engine: AsyncEngine) -> None:
        ended = asyncio.Event()
        async with engine.connect() as connection:
            try:
                driver = (await connection.get_raw_connection()).driver_connection
                assert driver is not None
                driver.add_termination_listener(lambda _: ended.set())
                await driver.add_listener(CHANNEL, self._hear)
                self._hear()
                await ended.wait()
            finally:
                # Not the pool's again: it would go on listening.
                await connection.invalidate()
