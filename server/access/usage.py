"""What callers use: counted in memory, handed over in intervals, written in the background.

A figure is for an account (a key, the demo, the devnet's key, or the gateway itself), an operation and a chain.
Counting costs a call one look-up and a few additions; nothing of it waits. What an interval holds is written once,
whatever happens to the answer of the database (docs/decisions/0045).
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from runtime.logs import get_logger
from runtime.metrics import count_usage_lost, measure_usage_pending
from server.storage.failures import STORAGE_FAILURES
from server.storage.transactions import Lease, now_utc

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.ext.asyncio import AsyncEngine

    from server.storage.usage_records import UsageRecords


GATEWAY = "gateway"
"""The account of what no caller's read has opened: heads, probes, prices collected beforehand."""

INTERVAL_SECONDS = 5.0
"""How long figures are in memory alone: what a process that is killed loses."""
HELD_SECONDS = 600.0
"""How long intervals wait for a database that is away; then the oldest are given up."""

_LONGEST_WRITE = 30.0
_FAREWELL_SECONDS = 2.0
_FOLD_HOURS = 6.0

_log = get_logger("waypost.usage")


class Tally:
    """The figures of one account, operation and chain within an interval. `errors` are requests by reason."""

    __slots__ = (
        "bytes_received",
        "bytes_sent",
        "cache_hits",
        "errors",
        "folded",
        "items",
        "joined",
        "requests",
        "units",
        "upstream_requests",
    )

    def __init__(self) -> None:
        self.requests = self.items = self.units = self.cache_hits = 0
        self.upstream_requests = self.bytes_sent = self.bytes_received = self.joined = self.folded = 0
        self.errors: dict[str, int] | None = None

    def fail(self, reason: str, requests: int = 1) -> None:
        """Count requests that failed."""
        errors = self.errors
        if errors is None:
            errors = self.errors = {}
        errors[reason] = errors.get(reason, 0) + requests


Tallies = dict[tuple[str, str, str], Tally]


class Interval(NamedTuple):
    """What was counted between two moments of one hour (UTC), by account, operation and chain."""

    number: int
    hour: datetime
    ended: datetime
    tallies: Tallies


class Usage:
    """The figures of this process. `tallies` are those of the present interval: look them up anew at every call."""

    def __init__(self) -> None:
        self.tallies: Tallies = {}

    def of(self, account: str, operation: str, chain: str) -> Tally:
        """Return the tally to add to, now."""
        key = (account, operation, chain)
        tally = self.tallies.get(key)
        if tally is None:
            tally = self.tallies[key] = Tally()
        return tally

    def note(self, account: str, items: int, *, units: int) -> Tally:
        """Count items that are no calls, and return their tally."""
        tally = self.of(account, "", "")
        tally.requests += items
        tally.items += items
        tally.units += units
        return tally

    def refuse(self, account: str, reason: str, items: int, *, units: int) -> None:
        """Count items that ended without a call."""
        self.note(account, items, units=units).fail(reason, items)

    def take(self) -> Tallies:
        """Return what was counted, and count anew."""
        taken, self.tallies = self.tallies, {}
        return taken


class UsageWriter:
    """Writes the usage of a process every few seconds, and folds old hours into days, one gateway at a time.

    `clock` returns the time with its zone.
    """

    def __init__(
        self,
        usage: Usage,
        records: UsageRecords,
        engine: AsyncEngine,
        *,
        interval: float = INTERVAL_SECONDS,
        clock: Callable[[], datetime] = now_utc,
    ) -> None:
        self.process = secrets.token_hex(8)
        self._usage = usage
        self._records = records
        self._lease = Lease(engine, "usage", self.process)
        self._interval = interval
        self._clock = clock
        self._pending: deque[Interval] = deque()
        self._number = 0
        self._hour = _hour_of(clock())
        self._running: asyncio.Task[None] | None = None
        self._folding: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._ending = asyncio.Event()
        self._is_away = False
        self._folded_at: datetime | None = None
        measure_usage_pending(lambda: len(self._pending))

    def start(self) -> None:
        """Begin to write in the background."""
        loop = asyncio.get_running_loop()
        self._running = loop.create_task(self._run())

    async def close(self) -> None:
        """Write what is left, within a few seconds; what the database does not take by then is lost."""
        self._ending.set()
        tasks = [task for task in (self._running, self._folding) if task is not None]
        if tasks:
            # A write under way is left to its end: cancelled, its outcome would be unknown.
            _, late = await asyncio.wait(tasks, timeout=_FAREWELL_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=_FAREWELL_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self.write()
        self._give_up(len(self._pending), "the process ended")

    def collect(self) -> None:
        """Close the interval; what was counted in it waits to be written. One without figures leaves nothing."""
        now = self._clock()
        tallies = self._usage.take()
        if tallies:
            self._number += 1
            self._pending.append(Interval(self._number, self._hour, now, tallies))
        self._hour = _hour_of(now)
        oldest = now - timedelta(seconds=HELD_SECONDS)
        self._give_up(sum(one.ended < oldest for one in self._pending), "the database was away for too long")

    async def write(self) -> bool:
        """Close the interval and write what waits, in one transaction; return whether nothing waits any more."""
        self.collect()
        async with self._writing:
            waiting = tuple(self._pending)
            if not waiting:
                return True
            try:
                async with asyncio.timeout(_LONGEST_WRITE):
                    await self._records.write(self.process, waiting, self._clock())
            except (*STORAGE_FAILURES, TimeoutError) as error:
                if not self._is_away:
                    # The text of a database error may hold its URL.
                    _log.error("usage cannot be written; it is held for ten minutes", error=type(error).__name__)
                self._is_away = True
                return False
            written = waiting[-1].number
            while self._pending and self._pending[0].number <= written:
                self._pending.popleft()
            if self._is_away:
                self._is_away = False
                _log.info("usage is written again", intervals=len(waiting))
            return True

    def _give_up(self, intervals: int, why: str) -> None:
        """Drop the oldest intervals."""
        if intervals <= 0:
            return
        dropped = [self._pending.popleft() for _ in range(intervals)]
        requests = sum(tally.requests for one in dropped for tally in one.tallies.values())
        count_usage_lost(requests)
        _log.error("usage is lost", why=why, intervals=intervals, requests=requests)

    async def _run(self) -> None:
        while not self._ending.is_set():
            # An interval ends with its hour, so that figures are of the hour in which their calls ended.
            now = self._clock()
            to_hour = (_hour_of(now) + timedelta(hours=1) - now).total_seconds()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(self._interval, to_hour)):
                    await self._ending.wait()
            try:
                if await self.write() and not self._ending.is_set():
                    self._fold_now_and_then()
            except Exception as error:
                _log.exception("usage cannot be written", error=type(error).__name__)

    def _fold_now_and_then(self) -> None:
        now = self._clock()
        is_due = self._folded_at is None or now - self._folded_at >= timedelta(hours=_FOLD_HOURS)
        if is_due and (self._folding is None or self._folding.done()):
            self._folded_at = now
            self._folding = asyncio.get_running_loop().create_task(self._fold(now))

    async def _fold(self, now: datetime) -> None:
        try:
            if await self._lease.hold(600.0):
                await self._records.fold(now)
        except STORAGE_FAILURES as error:
            _log.warning("old usage cannot be folded into days yet", error=type(error).__name__)


def _hour_of(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
