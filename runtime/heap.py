"""The settings of memory for a process that serves: the garbage collector's, and the C library's."""

from __future__ import annotations

import ctypes
import gc
from time import monotonic

THRESHOLDS = (20_000, 20, 50)
"""Every call makes a few hundred short-lived objects, nearly all of which die by reference counting alone. The default
of 700 looks for cycles among them after every few calls, which costs a tenth of a gRPC call's time [measured]."""

LARGE_BYTES = 128 * 1024
"""Blocks from this size on are mapped one by one, and given back to the system when they are freed."""

GARBAGE_BYTES = 16 * 1024 * 1024
"""How much may wait in cycles for the collector, which counts objects and not what they hold."""

_TRIM_BYTES = 1024 * 1024

# mallopt(3).
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3


def settle_heap() -> None:
    """Take what exists now out of later collections, and collect less often. Call once, when the process is built."""
    _fix_thresholds()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class Garbage:
    """Counts the bytes that are known to end in cycles, and has them collected before they are many.

    Takes at most a twentieth of the time: a collection follows the one before after twenty times what that one took.
    """

    def __init__(self) -> None:
        self._bytes = 0
        self._earliest = 0.0

    def count(self, size: int) -> None:
        """Count so many bytes; collects all generations where there are enough of them."""
        self._bytes += size
        if self._bytes < GARBAGE_BYTES:
            return
        began = monotonic()
        if began < self._earliest:
            return
        gc.collect()
        ended = monotonic()
        self._bytes, self._earliest = 0, ended + 20 * (ended - began)


def _fix_thresholds() -> None:
    """Keep glibc from raising its own thresholds, where it is the C library.

    The first freed body of a few megabytes would: bodies of that size then come out of the heap, and up to 64 MiB of
    what was freed there stay with the process (mallopt(3), M_MMAP_THRESHOLD).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
