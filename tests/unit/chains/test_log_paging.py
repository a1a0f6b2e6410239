"""Cursors, learnt ranges and the pace of a scan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.chains.evm.log_cursor import Cursor, Window
from server.chains.evm.log_entries import Place
from server.chains.evm.log_pace import Pace
from server.chains.evm.log_ranges import CEILING, RELEARN_SECONDS, LogRanges, Plan
from server.errors import InvalidArgument, RangeAdvice, RangeHint, RangeTooLarge, UpstreamUnavailable

NUMBERS = st.integers(0, 2**53 - 1)


def test_a_cursor_between_blocks_is_the_number_of_the_next_block() -> None:
    assert Cursor.parse("18000050") == Cursor(Place(18000051, 0))
    assert str(Cursor(Place(18000051, 0))) == "18000050"
    assert str(Cursor(Place(18000051, 7))) == "18000051:7"
    assert str(Cursor(Place(18000051, 0), 17990000)) == "18000051:0:17990000"
    assert Cursor.parse("18000051:0").top == 18000050


@given(NUMBERS, st.integers(0, 10**9 - 1), st.none() | NUMBERS)
def test_a_cursor_survives_its_text(block: int, index: int, low: int | None) -> None:
    cursor = Cursor(Place(block, index), low)
    if cursor.top < 0 or (low is not None and low > cursor.top):
        return
    assert Cursor.parse(str(cursor)) == cursor


@pytest.mark.parametrize(
    "text", ["", "-1", "0x10", "1:", ":1", "1:2:", "1:2:3:4", "1.5", "latest", "5:0:5", "5:1:6", "1" * 17, "٣"]
)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Cursor.parse(text)
    assert caught.value.field == "cursor"


def test_a_window_carries_what_its_cursor_needs() -> None:
    assert Window(5, Place(9, 0)).cursor(Place(8, 3)) == "8:3"
    assert Window(5, Place(9, 0), carried=5).cursor(Place(8, 0)) == "8:0:5"
    assert Window(5, Place(5, 0)).top == 4


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def refusal(blocks: int | None, hint: RangeHint = "blocks") -> RangeTooLarge:
    return RangeTooLarge("refused", advice=RangeAdvice(hint, blocks))


def test_learnt_ranges_steer_to_the_widest_endpoint_and_are_forgotten() -> None:
    clock = Clock()
    ranges = LogRanges(["a", "b"], clock)
    assert ranges.plan() == Plan(None, CEILING)
    assert ranges.note({"a": refusal(1000)}).blocks == 1000
    assert ranges.plan() == Plan("b", CEILING)
    ranges.note({"b": refusal(5000)})
    assert ranges.plan() == Plan("b", 5000)
    assert (ranges.limit("a"), ranges.limit("b")) == (1000, 5000)
    clock.now += RELEARN_SECONDS
    assert ranges.plan() == Plan(None, CEILING)


def test_a_refusal_of_results_teaches_no_limit() -> None:
    ranges = LogRanges(["a"], Clock())
    noted = ranges.note({"a": refusal(64, "window")})
    assert (noted.blocks, noted.vague) == (64, set())
    assert ranges.note({"a": refusal(None, "results")}).vague == set()
    assert ranges.note({"a": UpstreamUnavailable("what?")}).vague == {"a"}
    assert ranges.limit("a") is None


def test_the_pace_grows_over_empty_blocks_and_shrinks_over_full_ones() -> None:
    pace = Pace(10, 1000, 1000)
    pace.found(10, 0, 1000)
    assert pace.span == 80
    pace.found(80, 800, 200)
    assert pace.span == 25
    pace.found(25, 5000, 1)
    assert pace.span == 1


@given(st.integers(1, 10**6), st.none() | st.integers(1, 10**7))
def test_a_refused_span_always_becomes_smaller(blocks: int, advised: int | None) -> None:
    pace = Pace(blocks, CEILING, 1000)
    if pace.refused(blocks, advised):
        assert 1 <= pace.span < blocks
        assert pace.span == pace.most
    else:
        assert blocks == 1


def test_halving_ends_at_one_block() -> None:
    pace, questions = Pace(10_000, CEILING, 1000), 0
    while pace.refused(pace.span, None):
        questions += 1
    assert (pace.span, questions) == (1, 13)
