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
def learnt(clock: Clock) -> LearnedLimits:
    return LearnedLimits(clock)


def test_nothing_is_lacking_before_anything_was_said(learnt: LearnedLimits) -> None:
    assert not learnt.lacks(CALL, 1)
    assert not learnt.lacks(CALL, None)
    assert learnt.oldest(CALL) is None


def test_a_refused_block_stands_for_all_older_ones_of_that_method(learnt: LearnedLimits) -> None:
    learnt.refuse(CALL, "block", 100)
    assert learnt.lacks(CALL, 100)
    assert learnt.lacks(CALL, 1)
    assert not learnt.lacks(CALL, 101)
    assert not learnt.lacks(CALL, None)
    assert not learnt.lacks("eth_getLogs", 1)


def test_a_refusal_is_forgotten(learnt: LearnedLimits, clock: Clock) -> None:
    learnt.refuse(CALL, "block", 100)
    learnt.refuse("trace_block", "method", None)
    clock.now += LEARNED_SECONDS - 1
    assert learnt.lacks(CALL, 100)
    assert learnt.lacks("trace_block", None)
    clock.now += 2
    assert not learnt.lacks(CALL, 100)
    assert not learnt.lacks("trace_block", None)
    learnt.refuse(CALL, "block", 50)
    assert not learnt.lacks(CALL, 100)


def test_a_newer_refusal_moves_the_edge_up_and_an_answer_moves_it_down(learnt: LearnedLimits) -> None:
    learnt.refuse(CALL, "block", 100)
    learnt.refuse(CALL, "block", 90)
    assert learnt.lacks(CALL, 100)
    learnt.refuse(CALL, "block", 120)
    assert learnt.lacks(CALL, 120)
    learnt.serve(CALL, 110)
    assert not learnt.lacks(CALL, 110)
    assert learnt.lacks(CALL, 109)


def test_the_oldest_block_answered_is_known_until_it_is_refused(learnt: LearnedLimits) -> None:
    learnt.serve(CALL, 110)
    learnt.serve(CALL, 120)
    assert learnt.oldest(CALL) == 110
    learnt.refuse(CALL, "block", 100)
    assert learnt.oldest(CALL) == 110
    learnt.refuse(CALL, "block", 115)
    assert learnt.oldest(CALL) is None


def test_an_answer_proves_that_a_method_is_there(learnt: LearnedLimits) -> None:
    learnt.refuse(CALL, "method", 5)
    assert learnt.lacks(CALL, None)
    learnt.serve(CALL, None)
    assert not learnt.lacks(CALL, None)


def test_a_refusal_without_a_block_teaches_nothing_about_blocks(learnt: LearnedLimits) -> None:
    learnt.refuse(CALL, "block", None)
    assert not learnt.lacks(CALL, 0)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 40)), max_size=30))
def test_what_was_answered_last_is_never_said_to_be_lacking(history: list[tuple[bool, int]]) -> None:
    learnt = LearnedLimits(lambda: 0.0)
    for serves, block in history:
        if serves:
            learnt.serve(CALL, block)
            assert not learnt.lacks(CALL, block)
        else:
            learnt.refuse(CALL, "block", block)
            assert learnt.lacks(CALL, block)
            oldest = learnt.oldest(CALL)
            assert oldest is None or oldest > block
