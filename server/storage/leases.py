"""Leases: of several gateways on one database, one does what need not be done twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import delete, or_, update

from server.storage.dialects import insert_new
from server.storage.tables import leases
from server.storage.turns import write_in_turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.ext.asyncio import AsyncEngine


def now_utc() -> datetime:
    """Return the time with its zone."""
    return datetime.now(UTC)


class Lease:
    """One holder's claim to a lease. A holder that dies loses it when its time is over. `clock` tells UTC."""

    def __init__(self, engine: AsyncEngine, name: str, holder: str, *, clock: Callable[[], datetime] = now_utc) -> None:
        self._engine = engine
        self._name = name
        self._holder = holder
        self._clock = clock

    async def hold(self, seconds: float) -> bool:
        """Return whether the lease is this holder's for so long from now; False while it is another one's."""
        now = self._clock()
        until = now + timedelta(seconds=seconds)
        row = {"name": self._name, "holder": self._holder, "until": until}
        async with write_in_turn(self._engine) as connection:
            mine = or_(leases.c.holder == self._holder, leases.c.until <= now)
            renewed = await connection.execute(
                update(leases).where(leases.c.name == self._name, mine).values(holder=self._holder, until=until)
            )
            if renewed.rowcount:
                return True
            taken = await connection.execute(insert_new(self._engine, leases).values(row))
            return taken.rowcount > 0

    async def release(self) -> None:
        """Leave the lease to the next one at once, if it is this holder's."""
        async with write_in_turn(self._engine) as connection:
            await connection.execute(delete(leases).where(leases.c.name == self._name, leases.c.holder == self._holder))
