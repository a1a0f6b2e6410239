"""Share prices of vaults that the gateway stores itself, for rates on chains whose nodes do not have the past.

Readers hand over what they have read anyway: no node is read for it. The first price of an hour is stored,
in the background; of several gateways on one database the first one's. Reading is that of a document: what is stored
is read when a vault is requested, and once an hour as long as it is.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import structlog
from sqlalchemy.exc import SQLAlchemyError

from server.apis.documents import Fetched
from server.errors import UpstreamUnavailable
from server.storage.share_records import StoredShare, hour_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from server.storage.share_records import ShareRecords

NAME = "share_prices"
"""The source of these documents."""

KEPT = timedelta(days=30)
"""How long prices stay in the database: rates are of a week, or of longer where they were not requested."""

_PERIOD = timedelta(days=7)
# Prices that get a week old while what was read is answered from.
_AHEAD = timedelta(hours=8)
_READ_SECONDS = 1.5
_WRITE_SECONDS = 5.0
_PAUSE_SECONDS = 30.0
_FAILURES = (SQLAlchemyError, OSError, TimeoutError)

_log = structlog.get_logger("waypost.shares")


class SharePrice(NamedTuple):
    """What many shares (`MANY_SHARES` of server/protocols) were worth, in smallest units of the asset, when (UTC)."""

    at: datetime
    assets: int


class _Vault(NamedTuple):
    chain: str
    address: str


class SharePrices:
    """See `DocumentSource`; keys are (chain, vault), values `StoredHistory`. `wall` returns unix seconds.

    Where the database fails its documents do, for callers to do without, and prices wait to be stored.
    """

    lifetime = 3600.0
    stale_for = 6 * 3600.0
    is_refreshed = True

    def __init__(self, records: ShareRecords, *, wall: Callable[[], float] = time.time) -> None:
        self._records = records
        self._wall = wall
        # The first price of its hour of each vault, until it is stored; the last hour that was.
        self._waiting: dict[_Vault, SharePrice] = {}
        self._stored: dict[_Vault, datetime] = {}
        self._writing: asyncio.Task[None] | None = None
        self._paused_until = 0.0
        self._fails = False

    async def fetch(self, key: tuple[Any, ...], previous: Fetched | None) -> Fetched:
        """Return what is stored of a vault; UpstreamUnavailable where the database does not answer."""
        vault = _Vault(*key)
        now = self._now()
        try:
            async with asyncio.timeout(_READ_SECONDS):
                rows = await self._records.read(*vault, now - KEPT, now - _PERIOD + _AHEAD)
        except _FAILURES as error:
            self._note_failure(error)
            raise UpstreamUnavailable(
                "the gateway's own database does not answer", retry_after_ms=int(_PAUSE_SECONDS * 1000)
            ) from None
        self._note_success()
        return Fetched(StoredHistory(self, vault, [SharePrice(row.observed_at, row.assets) for row in rows]))

    def observe(self, vault: _Vault, price: SharePrice) -> None:
        """Have a price stored if it is the first of its hour here."""
        hour = hour_of(price.at)
        if self._stored.get(vault) == hour:
            return
        waiting = self._waiting.get(vault)
        if waiting is None or hour_of(waiting.at) < hour:
            self._waiting[vault] = price
        if self._writing is None and self._wall() >= self._paused_until:
            # In a context of its own: it outlives the call that it began with.
            self._writing = asyncio.get_running_loop().create_task(self._write(), context=contextvars.Context())

    async def close(self) -> None:
        """Wait for what is being stored, a moment at most."""
        if self._writing is not None:
            await asyncio.wait((self._writing,), timeout=_WRITE_SECONDS)

    async def _write(self) -> None:
        """Store what waits, and what comes meanwhile, until the database fails."""
        try:
            while self._waiting:
                prices = dict(self._waiting)
                rows = [StoredShare(*vault, price.at, price.assets) for vault, price in prices.items()]
                async with asyncio.timeout(_WRITE_SECONDS):
                    await self._records.note(rows, hour_of(self._now() - KEPT))
                self._note_success()
                for vault, price in prices.items():
                    self._stored[vault] = hour_of(price.at)
                    if self._waiting.get(vault) is price:
                        del self._waiting[vault]
        except _FAILURES as error:
            self._note_failure(error)
        finally:
            self._writing = None

    def _note_failure(self, error: BaseException) -> None:
        self._paused_until = self._wall() + _PAUSE_SECONDS
        if not self._fails:
            # Its text may hold the database's address.
            _log.warning("share prices are neither stored nor read", failure=type(error).__name__)
        self._fails = True

    def _note_success(self) -> None:
        if self._fails:
            _log.info("share prices are stored again")
        self._fails = False
        self._paused_until = 0.0

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._wall(), UTC)


class StoredHistory:
    """What is stored of a vault, and how more is. `prices` are newest first."""

    def __init__(self, source: SharePrices, vault: _Vault, prices: Sequence[SharePrice]) -> None:
        self._source = source
        self._vault = vault
        self._prices = prices

    def last_before(self, moment: datetime) -> SharePrice | None:
        """Return the newest price that is stored of that moment or earlier."""
        return next((price for price in self._prices if price.at <= moment), None)

    def observe(self, price: SharePrice) -> None:
        """Have a price stored, in the background, if none of its hour is."""
        self._source.observe(self._vault, price)
