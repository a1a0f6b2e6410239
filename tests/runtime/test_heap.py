"""What a process that serves settles of its memory; each time in a process of its own, as it holds for good."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import weakref

import pytest

from runtime import heap
from runtime.heap import THRESHOLDS, Garbage

SETTLE = "from runtime.heap import settle_heap; settle_heap();"
# How many of eight blocks of a megabyte are mapped one by one after a larger one was freed (mallinfo(3)).
COUNT_MAPPED = """
import ctypes
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd u f uord ford keep".split()]
libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info
freed = bytes(8 << 20)
del freed
before = libc.mallinfo2().hblks
held = [bytes(1 << 20) for _ in range(8)]
print(libc.mallinfo2().hblks - before)
"""
WITHOUT_MALLOPT = """
import ctypes
class Nothing:
    def __init__(self, name):
        pass
ctypes.CDLL = Nothing
"""


def printed(script: str) -> str:
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="the C library is not glibc 2.33 or newer")
def test_large_blocks_go_back_to_the_system_one_by_one_whatever_was_freed_before() -> None:
    assert int(printed(SETTLE + COUNT_MAPPED)) == 8
    assert int(printed(COUNT_MAPPED)) < 8, "glibc does so by itself: the setting is not needed any more"


@pytest.mark.parametrize("before", ["", WITHOUT_MALLOPT], ids=["this C library", "one without mallopt"])
def test_the_collector_comes_less_often(before: str) -> None:
    reported = "import gc; print(gc.get_threshold(), gc.get_freeze_count() > 0)"
    assert printed(before + SETTLE + reported) == f"{THRESHOLDS} True"


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_much_that_waits_in_cycles_is_collected_early(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(heap, "monotonic", lambda: now[0])
    garbage = Garbage()
    gc.disable()
    try:
        waiting = weakref.ref(Cycle())
        garbage.count(heap.GARBAGE_BYTES - 1)
        assert waiting() is not None
        garbage.count(1)
        assert waiting() is None
        # From the beginning again.
        waiting = weakref.ref(Cycle())
        garbage.count(heap.GARBAGE_BYTES - 1)
        assert waiting() is not None
    finally:
        gc.enable()


def test_collecting_takes_a_twentieth_of_the_time_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    now, collections = [1000.0], []
    monkeypatch.setattr(heap, "monotonic", lambda: now[0])

    def collect() -> None:
        collections.append(now[0])
        now[0] += 2.0

    monkeypatch.setattr(heap.gc, "collect", collect)
    garbage = Garbage()
    for _ in range(100):
        garbage.count(heap.GARBAGE_BYTES)
        now[0] += 1.0
    assert collections == [1000.0, 1042.0, 1084.0]
