"""Share prices that outlive the process: one an hour for each vault, for some weeks."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, select

from server.storage.tables import share_prices
from server.storage.transactions import insert_new, write_in_turn

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncEngine


class StoredShare(NamedTuple):
    """What 10^36 of the smallest units of a vault's shares were worth, and the time of that block."""

    chain: str
    vault: str
    observed_at: datetime
    assets: int


class ShareRecords:
    """The share prices in the database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def note(self, prices: Iterable[StoredShare], forget_before: datetime) -> None:
        """Add the prices of hours that have none, and delete those of hours before `forget_before`.

        All of it at once or not at all, in turn with other writers: of several gateways the first one's price stands.
        """
        rows = [
            {**price._asdict(), "hour": hour_of(price.observed_at), "assets": Decimal(price.assets)} for price in prices
        ]
        async with write_in_turn(self._engine) as connection:
            if rows:
                await connection.execute(insert_new(self._engine, share_prices), rows)
            await connection.execute(delete(share_prices).where(share_prices.c.hour < forget_before))

    async def read(self, chain: str, vault: str, first: datetime, last: datetime) -> list[StoredShare]:
        """Return the prices of a vault observed from `first` to `last`, the newest first."""
        wanted = (
            select(share_prices.c.observed_at, share_prices.c.assets)
            .where(
                share_prices.c.chain == chain,
                share_prices.c.vault == vault,
                share_prices.c.observed_at.between(first, last),
            )
            .order_by(share_prices.c.hour.desc())
        )
        async with self._engine.connect() as connection:
            return [StoredShare(chain, vault, at, int(assets)) for at, assets in await connection.execute(wanted)]


def hour_of(moment: datetime) -> datetime:
    """Return the full hour that a moment is in."""
    return moment.replace(minute=0, second=0, microsecond=0)
