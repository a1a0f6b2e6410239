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

# Fixed by mallopt(3), or glibc raises both with the first freed body of a few megabytes: bodies of that size then
# come out of the heap, and up to 64 MiB of what was freed there stay with the process.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3


def settle_heap() -> None:
    """Take what exists now out of later collections, collect less often, and give free memory back to the system.

    Call once, when the process is built.
    """
    _call_library("mallopt", _M_MMAP_THRESHOLD, LARGE_BYTES)
    _call_library("mallopt", _M_TRIM_THRESHOLD, _TRIM_BYTES)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    # Imports and parsed tables leave some 4 MB in holes, which are not at the end of the heap.
    _call_library("malloc_trim", 0)


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


def _call_library(name: str, *arguments: int) -> None:
    """Call a function of glibc, where that is the C library."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)
