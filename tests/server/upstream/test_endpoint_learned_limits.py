"""What is learnt of an endpoint holds for a while and yields to better knowledge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.upstream.endpoint import LEARNED_SECONDS, LearnedLimits

CALL = "eth_call"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def learned(clock: Clock) -> LearnedLimits:
    return LearnedLimits(clock)


def test_nothing_is_lacking_before_anything_was_said(learned: LearnedLimits) -> None:
    assert not learned.lacks(CALL, 1)
    assert not learned.lacks(CALL, None)
    assert learned.oldest(CALL) is None


def test_a_refused_block_stands_for_all_older_ones_of_that_method(learned: LearnedLimits) -> None:
    learned.refuse(CALL, "block", 100)
    assert learned.lacks(CALL, 100)
    assert learned.lacks(CALL, 1)
    assert not learned.lacks(CALL, 101)
    assert not learned.lacks(CALL, None)
    assert not learned.lacks("eth_getLogs", 1)


def test_a_refusal_is_forgotten(learned: LearnedLimits, clock: Clock) -> None:
    learned.refuse(CALL, "block", 100)
    learned.refuse("trace_block", "method", None)
    clock.now += LEARNED_SECONDS - 1
    assert learned.lacks(CALL, 100)
    assert learned.lacks("trace_block", None)
    clock.now += 2
    assert not learned.lacks(CALL, 100)
    assert not learned.lacks("trace_block", None)
    learned.refuse(CALL, "block", 50)
    assert not learned.lacks(CALL, 100)


def test_a_newer_refusal_moves_the_edge_up_and_an_answer_moves_it_down(learned: LearnedLimits) -> None:
    learned.refuse(CALL, "block", 100)
    learned.refuse(CALL, "block", 90)
    assert learned.lacks(CALL, 100)
    learned.refuse(CALL, "block", 120)
    assert learned.lacks(CALL, 120)
    learned.serve(CALL, 110)
    assert not learned.lacks(CALL, 110)
    assert learned.lacks(CALL, 109)


def test_the_oldest_block_answered_is_known_until_it_is_refused(learned: LearnedLimits) -> None:
    learned.serve(CALL, 110)
    learned.serve(CALL, 120)
    assert learned.oldest(CALL) == 110
    learned.refuse(CALL, "block", 100)
    assert learned.oldest(CALL) == 110
    learned.refuse(CALL, "block", 115)
    assert learned.oldest(CALL) is None


def test_an_answer_proves_that_a_method_is_there(learned: LearnedLimits) -> None:
    learned.refuse(CALL, "method", 5)
    assert learned.lacks(CALL, None)
    learned.serve(CALL, None)
    assert not learned.lacks(CALL, None)


def test_a_refusal_without_a_block_teaches_nothing_about_blocks(learned: LearnedLimits) -> None:
    learned.refuse(CALL, "block", None)
    assert not learned.lacks(CALL, 0)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 40)), max_size=30))
def test_what_was_answered_last_is_never_said_to_be_lacking(history: list[tuple[bool, int]]) -> None:
    learned = LearnedLimits(lambda: 0.0)
    for serves, block in history:
        if serves:
            learned.serve(CALL, block)
            assert not learned.lacks(CALL, block)
        else:
            learned.refuse(CALL, "block", block)
            assert learned.lacks(CALL, block)
            oldest = learned.oldest(CALL)
            assert oldest is None or oldest > block
