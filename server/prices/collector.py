"""Notes every price in the database from time to time, so that the gateway has a history of its own."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import structlog
from sqlalchemy.exc import SQLAlchemyError

from server.prices.prices import settle
from server.storage.price_records import ObservedPrice, PricedDay

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from server.prices.prices import Prices
    from server.prices.source import Observation
    from server.storage.price_records import PriceRecords
    from server.storage.transactions import Lease

KEPT_DAYS = 400
"""How many days' highest prices are kept."""

SOURCE = "collector"
"""The source of the days that it derives from settled prices."""

_log = structlog.get_logger("waypost.prices")

_READ_SECONDS = 20.0
# A round may come late by that much before another gateway takes over.
_ROUNDS_HELD = 2.5
_SPREAD = 0.1
_FORGET_SECONDS = 3600.0
_RELEASE_SECONDS = 2.0


class PriceCollector:
    """Collects the prices of `symbols` every so many seconds while it holds the lease.

    Single observations are kept for `kept_seconds`. The first round comes after one interval: a gateway that is only
    started sends no request. `wall` returns unix seconds.
    """

    def __init__(
        self,
        prices: Prices,
        records: PriceRecords,
        lease: Lease,
        symbols: Collection[str],
        *,
        every: float,
        kept_seconds: float,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._prices = prices
        self._records = records
        self._lease = lease
        self._symbols = frozenset(symbols)
        self._every = every
        self._kept = timedelta(seconds=kept_seconds)
        self._wall = wall
        self._forgot_at = 0.0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Collect from now on, in the background."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop, and leave the lease to another gateway."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        try:
            async with asyncio.timeout(_RELEASE_SECONDS):
                await self._lease.release()
        except (SQLAlchemyError, OSError):
            # It runs out by itself.
            return

    async def collect(self) -> int | None:
        """Note all prices once and return how many symbols had one; None where another gateway does that.

        Raises SQLAlchemyError or OSError when the database fails.
        """
        if not await self._lease.hold(self._every * _ROUNDS_HELD):
            return None
        observed = await self._prices.observe(self._symbols, time.monotonic() + _READ_SECONDS)
        now = datetime.fromtimestamp(self._wall(), UTC)
        days = _days(observed, now)
        await self._records.note(
            [ObservedPrice(one.symbol, one.publisher, one.told_at, one.value) for one in observed], days
        )
        if self._wall() - self._forgot_at >= _FORGET_SECONDS:
            await self._records.forget(now - self._kept, now.date() - timedelta(days=KEPT_DAYS))
            self._forgot_at = self._wall()
        return len(days)

    async def _run(self) -> None:
        while True:
            # Gateways that were started together do not stay in step.
            await asyncio.sleep(self._every * random.uniform(1 - _SPREAD, 1 + _SPREAD))
            try:
                count = await self.collect()
            except (SQLAlchemyError, OSError) as error:
                # Its text may hold the database's address.
                _log.warning("prices were not collected", failure=type(error).__name__)
            else:
                if count is not None:
                    _log.debug("prices collected", symbols=count)


def _days(observed: Sequence[Observation], now: datetime) -> list[PricedDay]:
    """Return what the observations make of this day: settled prices, so that one wrong source sets no highest price."""
    by_symbol: dict[str, list[Observation]] = {}
    for one in observed:
        by_symbol.setdefault(one.symbol, []).append(one)
    settled = {symbol: settle(observations) for symbol, observations in by_symbol.items()}
    return [
        PricedDay(symbol, now.date(), SOURCE, price.value, price.value, now, 1 << now.hour)
        for symbol, price in settled.items()
        if price is not None
    ]
