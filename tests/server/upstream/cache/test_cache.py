"""Memory holds what was used last, in as many bytes as it was given, for as long as it was reported."""

from __future__ import annotations

import math
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from server.upstream.cache import OVERHEAD, ByteLru
from tests.server.upstream.cache.conftest import Clock


def test_a_value_is_found_until_its_lifetime_ends(clock):
    lru = ByteLru(1 << 20, clock=clock)
    lru.put(b"key", b"value", 10)
    clock.pass_seconds(9.99)
    assert lru.get(b"key") == b"value"
    clock.pass_seconds(0.01)
    assert lru.get(b"key") is None
    assert (len(lru), lru.size) == (0, 0)


def test_a_value_kept_for_good_never_runs_out(clock):
    lru = ByteLru(1 << 20, clock=clock)
    lru.put(b"key", b"value", math.inf)
    clock.pass_seconds(1e9)
    assert lru.get(b"key") == b"value"


def test_a_value_that_ran_out_is_stale_for_the_grace_and_then_gone(clock):
    lru = ByteLru(1 << 20, grace=100, clock=clock)
    lru.put(b"key", b"value", 10)
    clock.pass_seconds(10)
    assert lru.get(b"key") is None
    assert lru.get_stale(b"key") == b"value"
    clock.pass_seconds(100)
    assert lru.get_stale(b"key") is None
    assert lru.get(b"key") is None
    assert lru.size == 0


def test_the_value_used_longest_ago_leaves_first(clock):
    room = 9 * (OVERHEAD + 2)
    lru = ByteLru(room, clock=clock)
    for name in b"abcdefghi":
        lru.put(bytes([name]), b"1", 10)
    assert lru.get(b"a") == b"1"
    lru.put(b"j", b"1", 10)
    assert lru.get(b"b") is None
    assert lru.get(b"a") == b"1"
    assert lru.size == room


def test_a_large_value_pushes_out_as_many_small_ones_as_it_needs(clock):
    lru = ByteLru(40 * (OVERHEAD + 2), clock=clock)
    for number in range(40):
        lru.put(bytes([number, 0]), b"", 10)
    lru.put(b"large", bytes(3 * OVERHEAD), 10)
    assert lru.get(b"large") == bytes(3 * OVERHEAD)
    assert lru.size <= 40 * (OVERHEAD + 2)
    assert len(lru) == 37


def test_a_value_that_would_push_out_everything_is_not_kept(clock):
    lru = ByteLru(8000, clock=clock)
    lru.put(b"small", b"1", 10)
    lru.put(b"large", bytes(1001), 10)
    assert lru.get(b"large") is None
    assert lru.get(b"small") == b"1"


def test_a_value_that_is_too_large_does_not_leave_the_one_before_it_standing(clock):
    lru = ByteLru(8000, clock=clock)
    lru.put(b"key", b"before", 10)
    lru.put(b"key", bytes(8000), 10)
    assert lru.get(b"key") is None


Puts = st.lists(
    st.tuples(st.binary(max_size=4), st.integers(0, 600), st.sampled_from([0.0, 1.0, 5.0, math.inf])), max_size=80
)


@given(puts=Puts, room=st.integers(0, 6000))
def test_the_bytes_held_are_the_bytes_of_the_entries_and_never_more_than_the_room(puts, room):
    clock = Clock()
    lru = ByteLru(room, grace=3.0, clock=clock)
    for key, size, seconds in puts:
        lru.put(key, bytes(size), seconds)
        clock.pass_seconds(0.5)
        lru.get(key[:1])
        assert lru.size <= room
        assert lru.size == sum(len(key) + len(value) + OVERHEAD for key, (value, _) in lru._entries.items())


def test_the_overhead_counted_is_the_overhead_taken():
    """The bound is worth something only if entries take no more memory than is counted."""
    lru = ByteLru(1 << 30)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(20_000):
        lru.put(number.to_bytes(70), number.to_bytes(40), 1000.0 + number)
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert taken <= lru.size * 1.05
