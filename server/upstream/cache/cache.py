"""The cache of a process: memory, bounded in bytes, and behind it a tier that processes share, where there is one.

Two rooms, because a burst of reads at the newest block must not push out what keeps its worth for hours: `near` for
answers that live one block time, which only this process uses, and `lasting` for the others.
"""

from __future__ import annotations

import math
import time
from collections import deque
from typing import TYPE_CHECKING

from server.upstream.cache.lru import ByteLru

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.upstream.cache.shared import SharedTier

FOR_EVER = math.inf

STALE_SECONDS = 24 * 3600.0
"""How long after its lifetime a lasting value may stand in for nodes that fail."""

_NEAR_SHARE = 4
_RECENT_SECONDS = 60.0
_RECENT_VALUES = 8192


class Cache:
    """Bytes by key; every key begins with a `key_prefix`.

    `near_seconds` is the longest that an answer about a block that is not final may be given again.
    """

    def __init__(
        self,
        max_bytes: int,
        *,
        near_seconds: float = 12.0,
        shared: SharedTier | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.near = ByteLru(max_bytes // _NEAR_SHARE, clock=clock)
        self.lasting = ByteLru(max_bytes - max_bytes // _NEAR_SHARE, grace=STALE_SECONDS, clock=clock)
        self.near_seconds = near_seconds
        self.shared = shared
        self.clock = clock
        self._recent: deque[tuple[float, bytes]] = deque(maxlen=_RECENT_VALUES)

    @property
    def size(self) -> int:
        """Bytes held in memory."""
        return self.near.size + self.lasting.size

    async def recall(self, key: bytes) -> bytes | None:
        """Return a lasting value out of memory or else the shared tier, which memory then keeps."""
        value = self.lasting.get(key)
        if value is not None or self.shared is None:
            return value
        found = await self.shared.get(key)
        if found is None:
            return None
        value, seconds = found
        self.lasting.put(key, value, seconds)
        return value

    def keep(self, key: bytes, value: bytes, seconds: float = FOR_EVER) -> None:
        """Keep a lasting value in memory and in the shared tier."""
        self.lasting.put(key, value, seconds)
        self._recent.append((self.clock(), key))
        if self.shared is not None:
            self.shared.put(key, value, seconds)

    def forget_recent(self) -> None:
        """Drop what was kept in the last minute, here and in the shared tier: some of it turned out to be wrong."""
        since = self.clock() - _RECENT_SECONDS
        keys = [key for at, key in self._recent if at >= since]
        self._recent.clear()
        for key in keys:
            self.lasting.drop(key)
        if self.shared is not None and keys:
            self.shared.forget(keys)

    async def close(self) -> None:
        """End the shared tier."""
        if self.shared is not None:
            await self.shared.close()


def key_prefix(kind: str, scope: str) -> bytes:
    """Return what keys of one kind begin with in one scope (a chain's slug, an operation's path).

    Always two words with a zero byte behind each, so that no prefix is the beginning of another one; ValueError for a
    word that holds a zero byte itself.
    """
    if "\0" in kind or "\0" in scope:
        raise ValueError("a zero byte ends a word of a key, so it cannot be in one")
    return f"{kind}\0{scope}\0".encode()
