"""Which report of an aggregator is a week older than its current one, found in few rounds of calls."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.protocols.data_feeds import Round
from server.protocols.hyperbeat.rounds import PERIOD, find_earlier, next_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NOW = 1_793_491_200
PHASE = 1 << 64
_MOST_CALLS = 130
# Rounds of calls: the first two answer, what they leave open comes with the next question.
MOST_STEPS = 3


def search(rounds: Mapping[int, Round], latest: Round) -> tuple[Round | None, list[int]]:
    """Return what a search finds, and how many rounds each of its steps asked for."""
    known: dict[int, Round | None] = {latest.number: latest}
    steps = []
    for _ in range(MOST_STEPS):
        wanted = next_numbers(known, latest)
        if not wanted:
            break
        assert not known.keys() & set(wanted), "a round is asked for twice"
        assert len(set(wanted)) == len(wanted) <= _MOST_CALLS
        assert all((latest.number >> 64 << 64) < number < latest.number for number in wanted)
        steps.append(len(wanted))
        known |= {number: rounds.get(number) for number in wanted}
    return find_earlier(known, latest), steps


def every(seconds: int, count: int, *, first: int = 1, gaps: Sequence[int] = ()) -> dict[int, Round]:
    """Return so many rounds, the last one now, without those of some numbers."""
    last = first + count - 1
    return {
        number: Round(number, 10**8, NOW - (last - number) * seconds)
        for number in range(first, last + 1)
        if number not in gaps
    }


def newest_old_enough(rounds: Mapping[int, Round], latest: Round) -> Round | None:
    old = [one for one in rounds.values() if one.at <= latest.at - PERIOD and one.number < latest.number]
    return max(old, key=lambda one: one.number, default=None)


@pytest.mark.parametrize(
    ("seconds", "count", "steps"),
    [
        (86_400, 12, 1),
        (7 * 86_400, 3, 1),
        (40 * 86_400, 2, 1),
        (86_400, 7, 1),  # six days: none is old enough
        (86_400, 1, 0),
        (21_600, 400, 1),  # 28 rounds a week
        (3_600, 4_000, 2),  # 168
        (600, 30_000, 3),  # 1,008
        (180, 40_000, 3),  # 3,360
    ],
)
def test_the_newest_round_that_is_a_week_older(seconds: int, count: int, steps: int) -> None:
    rounds = every(seconds, count)
    found, asked = search(rounds, rounds[count])
    assert found == newest_old_enough(rounds, rounds[count])
    assert len(asked) == steps


def test_numbers_of_a_phase_are_never_left() -> None:
    """A proxy that has replaced its aggregator counts anew, from 2^64 on."""
    for phase in (1, 2, 65_535):
        rounds = every(86_400, 40, first=phase * PHASE + 1)
        latest = rounds[phase * PHASE + 40]
        assert search(rounds, latest)[0] == rounds[phase * PHASE + 33]
    young = every(86_400, 3, first=7 * PHASE + 1)
    assert search(young | every(86_400, 100, first=6 * PHASE + 1), young[7 * PHASE + 3])[0] is None


def test_gaps_are_passed_over() -> None:
    rounds = every(86_400, 60, gaps=range(45, 56))
    found, _ = search(rounds, rounds[60])
    assert found == rounds[44]
    empty = {60: rounds[60]}
    assert search(empty, rounds[60])[0] is None


def test_an_absurd_number_costs_no_more_calls() -> None:
    latest = Round((1 << 80) - 1, 1, NOW)
    found, asked = search({}, latest)
    assert found is None
    assert sum(asked) <= MOST_STEPS * _MOST_CALLS


@given(
    st.lists(st.integers(60, 10 * 86_400), min_size=0, max_size=300),
    st.sets(st.integers(1, 300)),
    st.sampled_from([0, PHASE, 3 * PHASE]),
    st.integers(1, 40),
)
def test_whatever_is_found_is_old_enough_and_nearly_always_the_newest_such(
    pauses: list[int], gaps: set[int], phase: int, stretch: int
) -> None:
    """Rounds at any pace, with any gaps, spread over any numbers."""
    number, at = phase + len(pauses) * stretch + 1, NOW
    latest = Round(number, 5, at)
    rounds = {number: latest}
    for place, pause in enumerate(pauses):
        number, at = number - stretch, at - pause
        if place not in gaps:
            rounds[number] = Round(number, 5, at)
    found, _ = search(rounds, latest)
    best = newest_old_enough(rounds, latest)
    if found is not None:
        assert best is not None
        assert found in rounds.values()
        assert found.at <= latest.at - PERIOD
    if stretch == 1:
        assert found == best


@given(st.lists(st.integers(1, 86_400), min_size=1, max_size=2_400), st.sampled_from([0, PHASE]))
def test_without_gaps_the_search_is_exact(pauses: list[int], phase: int) -> None:
    times = [NOW]
    for pause in pauses:
        times.append(times[-1] - pause)
    times.reverse()
    rounds = {phase + place: Round(phase + place, 5, at) for place, at in enumerate(times, 1)}
    latest = rounds[phase + len(times)]
    older = bisect_right(times, NOW - PERIOD)
    found, _ = search(rounds, latest)
    assert (found.number - phase if found else 0) == older


@given(
    st.dictionaries(st.integers(1, 200), st.tuples(st.integers(-5, 5), st.integers(0, 2 * NOW))), st.integers(2, 200)
)
def test_nonsense_ends_too(reported: dict[int, tuple[int, int]], last: int) -> None:
    """Times in no order: whatever comes out is a round that is old enough."""
    rounds = {number: Round(number, answer, at) for number, (answer, at) in reported.items() if answer > 0 and at > 0}
    latest = Round(last, 3, NOW)
    found, _ = search(rounds, latest)
    assert found is None or (found == rounds[found.number] and found.at <= NOW - PERIOD and found.number < last)


def test_kept_rounds_serve_when_time_goes_on() -> None:
    rounds = every(86_400, 40)
    known: dict[int, Round | None] = {40: rounds[40]}
    known |= {number: rounds.get(number) for number in next_numbers(known, rounds[40])}
    later = Round(41, 10**8, NOW + 86_400)
    assert next_numbers(known, later) == []
    assert find_earlier(known, later) == rounds[34]
