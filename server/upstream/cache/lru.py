"""Values in memory by key, bounded in bytes."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

OVERHEAD = 256
"""Bytes that an entry takes beside its key's and value's contents, as measured on CPython 3.11."""

_LARGEST_SHARE = 8
"""A value may take this part of the room at most, so that one cannot push out everything else."""


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
        while self._size > self._max_bytes:
            oldest, (dropped, _) = self._entries.popitem(last=False)
            self._size -= len(oldest) + len(dropped) + OVERHEAD

    def drop(self, key: bytes) -> None:
        """Keep the value of the key no longer, if there is one."""
        if key in self._entries:
            self._drop(key)

    def _drop(self, key: bytes) -> None:
        value, _ = self._entries.pop(key)
        self._size -= len(key) + len(value) + OVERHEAD
