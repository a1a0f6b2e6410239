"""Tables of readers: read on first use, shared by all requests, kept a day."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from server.upstream.single_flight import SingleFlight

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

KEPT_SECONDS = 86_400.0
MOST_SUBJECTS = 20_000
"""Callers choose the tokens of quotes: what was not used for longest goes."""


class _Kept(NamedTuple):
    tables: Any
    until: float


class TableStore:
    """Keeps tables by reader and subject. `clock` is monotonic, in seconds.

    The calls that a table is read by go through the chain's cache; kept here are the objects made of them, which every
    plan looks into: no bytes, and of no block.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._loads: SingleFlight[Any] = SingleFlight()

    def find(self, key: Hashable) -> _Kept | None:
        """Return what is kept of a subject and not too old."""
        kept = self._kept.get(key)
        if kept is None or kept.until <= self._clock():
            return None
        self._kept.move_to_end(key)
        return kept

    async def load(self, key: Hashable, occasion: Hashable, read: Callable[[], Awaitable[Any]]) -> Any:
        """Return the tables that `read` brings, and keep them under `key`. Loads of one occasion at one time are one.

        The load goes on where its first caller leaves. Raises what `read` raises.
        """
        return await self._loads.share(occasion, lambda: self._load(key, read))

    def drop(self, key: Hashable, tables: object) -> None:
        """Drop tables that proved to be old, unless others were read meanwhile."""
        kept = self._kept.get(key)
        if kept is not None and kept.tables is tables:
            del self._kept[key]

    async def close(self) -> None:
        """Cancel the loads in flight."""
        await self._loads.close()

    def keep(self, key: Hashable, tables: Any) -> None:
        """Keep tables from now on."""
        self._kept[key] = _Kept(tables, self._clock() + KEPT_SECONDS)
        self._kept.move_to_end(key)
        if len(self._kept) > MOST_SUBJECTS:
            self._kept.popitem(last=False)

    async def _load(self, key: Hashable, read: Callable[[], Awaitable[Any]]) -> Any:
        tables = await read()
        self.keep(key, tables)
        return tables
