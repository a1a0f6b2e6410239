from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from runtime.fair_share import FairShare


def fill(share: FairShare, holder: str) -> int:
    """Take all that the holder gets, and return how many that were."""
    before = share.held(holder)
    while share.enter(holder):
        pass
    return share.held(holder) - before


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 40, 2000])
def test_one_alone_gets_the_limit_and_another_still_finds_a_place(limit: int) -> None:
    share = FairShare(limit)
    assert share.room("a") == limit
    assert fill(share, "a") == limit
    assert not share.has_room("a")
    assert share.has_room("b")
    assert share.enter("b")


@pytest.mark.parametrize("first", ["a", "b"])
def test_two_who_always_want_more_come_to_the_same(first: str) -> None:
    share = FairShare(2000)
    fill(share, "a")
    turn = (first, "b" if first == "a" else "a")
    for done in range(4000):
        for holder in turn:
            fill(share, holder)
        # Calls end in any order: here the largest holder's, and as many of the other's.
        for holder in ("a", "b") if done % 2 else ("b", "a"):
            if share.held(holder):
                share.leave(holder)
    for holder in turn:
        fill(share, holder)
    assert abs(share.held("a") - share.held("b")) <= 8
    assert min(share.held("a"), share.held("b")) >= 1000


def test_a_hundred_small_ones_are_never_refused_while_one_wants_all() -> None:
    share = FairShare(2000)
    for _ in range(50):
        fill(share, "greedy")
        for number in range(100):
            assert share.enter(f"key:{number}")
            fill(share, "greedy")
        # Each of them ends before its next one; what the greedy one has ends at its own pace.
        for number in range(100):
            share.leave(f"key:{number}")
            share.leave("greedy")
            fill(share, "greedy")
    assert share.held("greedy") > 1800


def test_what_others_leave_is_had_by_one_who_wants_more() -> None:
    share = FairShare(2000)
    for _ in range(10):
        share.enter("small")
    assert fill(share, "greedy") >= 1980


def test_one_over_its_part_differs_from_a_full_process() -> None:
    share = FairShare(20)
    fill(share, "a")
    assert not share.is_over_part("a")
    fill(share, "b")
    assert share.is_over_part("a")
    assert not share.is_over_part("b")
    assert not share.is_over_part("c")


def test_room_is_what_is_then_given() -> None:
    random = Random(5)
    for limit in (1, 3, 20, 99):
        share = FairShare(limit)
        for _ in range(200):
            holder = random.choice("abc")
            if random.random() < 0.3 and share.held(holder):
                share.leave(holder)
            else:
                room = share.room(holder)
                assert share.has_room(holder) is (room > 0)
                # What is reserved and not taken yet is counted like what is taken.
                assert share.room(holder, share.held(holder) + room) == 0
                wanted = random.randint(0, room)
                assert all(share.enter(holder) for _ in range(wanted))
                assert share.room(holder) == room - wanted


@pytest.mark.parametrize("seed", range(20))
def test_whatever_comes_and_ends_the_bounds_hold(seed: int) -> None:
    random = Random(seed)
    limit = random.choice([1, 2, 5, 16, 100])
    share, held = FairShare(limit), Counter[str]()
    holders = [f"key:{number}" for number in range(random.choice([1, 2, 3, 30]))]
    for _ in range(3000):
        holder = random.choice(holders)
        if held[holder] and random.random() < 0.45:
            share.leave(holder)
            held[holder] -= 1
        else:
            given = share.enter(holder)
            if given:
                held[holder] += 1
            else:
                # None with as many gets one, and this is not the smallest while it has less than its part.
                active = sum(count > 0 for count in held.values()) + (held[holder] == 0)
                assert all(not share.has_room(other) for other in holders if held[other] >= held[holder])
                if held[holder] * active < limit:
                    assert share.total >= limit
                    assert max(held.values()) > held[holder]
        assert share.total == held.total() <= -(-5 * limit // 4)
        assert all(share.held(one) == held[one] for one in holders)
    for holder in holders:
        for _ in range(held[holder]):
            share.leave(holder)
    assert share.total == 0
    assert share.room("anyone") == limit
