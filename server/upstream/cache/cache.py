"""The cache of a process: memory, bounded in bytes, and behind it a tier that processes share, where there is one.

Two rooms, because a burst of reads at the newest block must not push out what keeps its worth for hours: `near` for
answers that live one block time, which only this process uses, and `lasting` for the others.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from runtime.metrics import measure_cache
from server.upstream.cache.redis_tier import open_redis

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime.settings import Settings

FOR_EVER = math.inf

OVERHEAD = 256
"""Bytes that an entry takes beside its key's and value's contents, as measured on CPython 3.11."""

STALE_SECONDS = 24 * 3600.0
"""How long after its lifetime a lasting value may stand in for nodes that fail."""

# A value may take this part of the room at most, so that one cannot push out everything else.
_LARGEST_SHARE = 8
_NEAR_SHARE = 4
_RECENT_SECONDS = 60.0
_RECENT_VALUES = 8192
# Developers on local nodes want to see at once what a transaction changed.
_DEVNET_SECONDS = 1.0

Status = Literal["hit", "miss", "stale", "bypass"]


class Holding(NamedTuple):
    """How long a whole answer holds: to `until` on the cache's clock, and only while `is_true` returns True."""

    until: float
    is_true: Callable[[], bool]


class CacheContext:
    """What one request wants of the cache, and what it got from it.

    With `bypass` nothing is looked up (what the nodes answer is still kept). `status` is how the answer came about:
    `stale` when any part was past its lifetime, `bypass` when the caller wanted no cache, `miss` when a node was asked
    for any part, else `hit`; None for a request that has nothing to do with the cache. `folded` are the reads of the
    request that travelled with another one's, `joined` those that shared the answer of an equal one. `states_block`
    says that the request itself names the block, or the document, of all that it reads.
    """

    __slots__ = ("bypass", "folded", "holding", "is_provisional", "joined", "longest", "states_block", "status")

    def __init__(self, *, bypass: bool = False) -> None:
        self.bypass = bypass
        self.holding: Holding | None = None
        self.longest: float | None = None
        self.status: Status | None = None
        self.folded = self.joined = 0
        self.states_block = self.is_provisional = False

    def holds(self, until: float, is_true: Callable[[], bool]) -> None:
        """Note for how long the whole answer may be reused for the same request; the last call counts.

        Of a request that states its block every part has a say: what `holds_in_part` noted before counts as well.
        """
        if self.states_block:
            self.holds_in_part(until, is_true)
        else:
            self.holding = Holding(until, is_true)

    def holds_in_part(self, until: float, is_true: Callable[[], bool]) -> None:
        """Note for how long a part holds of an answer to a request that states its block; no others are affected.

        The whole holds as long as all of its parts.
        """
        if not self.states_block:
            return
        before = self.holding
        if before is None:
            self.holding = Holding(until, is_true)
        elif before.is_true is is_true:
            self.holding = Holding(min(until, before.until), is_true)
        else:
            others = before.is_true
            self.holding = Holding(min(until, before.until), lambda: others() and is_true())

    def is_not_final(self) -> None:
        """Note that a part of the answer may yet be another one at the same block: the whole is not kept then."""
        self.is_provisional = self.states_block

    def lasts(self, seconds: float) -> None:
        """Note that the answer may be kept for so long at most, though its operation lets answers live longer.

        With 0 it is not reused at all.
        """
        self.longest = seconds if self.longest is None else min(self.longest, seconds)

    def hit(self) -> None:
        """Note that a part of the answer came out of the cache."""
        if self.status is None:
            self.status = "bypass" if self.bypass else "hit"

    def miss(self) -> None:
        """Note that a part of the answer was not in the cache, or was not looked for."""
        if self.status != "stale":
            self.status = "bypass" if self.bypass else "miss"

    def stale(self) -> None:
        """Note that the nodes failed and an answer past its lifetime was given instead."""
        self.status = "stale"


class ByteLru:
    """The values used last, as many as fit into `max_bytes`.

    Lifetimes are in seconds of `clock`. An entry that ran out is not found any more; for `grace` seconds it still is as
    a stale one.
    """

    def __init__(self, max_bytes: int, *, grace: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._grace = grace
        self._clock = clock
        self._entries: OrderedDict[bytes, tuple[bytes, float]] = OrderedDict()
        self._size = 0

    def resize(self, max_bytes: int) -> None:
        """Have room for so many bytes from now on; what no longer fits goes, the longest unused first."""
        self._max_bytes = max_bytes
        self._shrink()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size(self) -> int:
        """Bytes held, overhead included."""
        return self._size

    def get(self, key: bytes) -> bytes | None:
        """Return the value of the key, None where there is none or it ran out."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        value, until = entry
        now = self._clock()
        if until <= now:
            if until + self._grace <= now:
                self._drop(key)
            return None
        self._entries.move_to_end(key)
        return value

    def until(self, key: bytes) -> float | None:
        """Return when the key's value runs out, on the clock; None where there is none."""
        entry = self._entries.get(key)
        return None if entry is None else entry[1]

    def get_stale(self, key: bytes) -> bytes | None:
        """Return the value of the key, also for `grace` seconds after it ran out."""
        entry = self._entries.get(key)
        return None if entry is None or entry[1] + self._grace <= self._clock() else entry[0]

    def put(self, key: bytes, value: bytes, seconds: float) -> None:
        """Keep a value for so long (infinity: until it is pushed out); one that is too large is not kept."""
        if key in self._entries:
            self._drop(key)
        size = len(key) + len(value) + OVERHEAD
        if size * _LARGEST_SHARE > self._max_bytes or seconds <= 0:
            return
        self._entries[key] = (value, self._clock() + seconds)
        self._size += size
        self._shrink()

    def drop(self, key: bytes) -> None:
        """Keep the value of the key no longer, if there is one."""
        if key in self._entries:
            self._drop(key)

    def _shrink(self) -> None:
        while self._size > self._max_bytes:
            oldest, (dropped, _) = self._entries.popitem(last=False)
            self._size -= len(oldest) + len(dropped) + OVERHEAD

    def _drop(self, key: bytes) -> None:
        value, _ = self._entries.pop(key)
        self._size -= len(key) + len(value) + OVERHEAD


class SharedTier(Protocol):
    """A store outside of the process. It never raises: what fails is a miss, or a value not kept."""

    async def get(self, key: bytes) -> tuple[bytes, float] | None:
        """Return a value and the seconds that it may still be used; None where there is none, or on a failure."""
        ...

    def put(self, key: bytes, value: bytes, seconds: float) -> None:
        """Keep a value for so long (infinity: as long as the tier likes), in the background."""
        ...

    def forget(self, keys: Sequence[bytes]) -> None:
        """Drop values, in the background."""
        ...

    async def close(self) -> None:
        """Close: what is not written yet is dropped."""
        ...


class Cache:
    """Bytes by key; every key begins with a `key_prefix`.

    `near_seconds` is the longest that an answer about a block that is not final may be reused.
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

    def resize(self, max_bytes: int) -> None:
        """Have room in memory for so many bytes from now on."""
        self.near.resize(max_bytes // _NEAR_SHARE)
        self.lasting.resize(max_bytes - max_bytes // _NEAR_SHARE)

    async def get_lasting(self, key: bytes) -> bytes | None:
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
        """Close the shared tier."""
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


def open_cache(settings: Settings) -> Cache | None:
    """Return the cache, None where the settings keep nothing; nothing is connected yet.

    Gateways of one profile share a Redis. Raises ConfigError when the Redis client is not installed.
    """
    wanted = settings.cache
    if wanted.max_bytes == 0:
        return None
    near = min(wanted.near_head, _DEVNET_SECONDS) if settings.profile == "devnet" else wanted.near_head
    shared = None if wanted.redis_url is None else open_redis(wanted.redis_url.get_secret_value(), settings.profile)
    cache = Cache(wanted.max_bytes, near_seconds=near, shared=shared)
    measure_cache("near", lambda: cache.near.size)
    measure_cache("lasting", lambda: cache.lasting.size)
    return cache
