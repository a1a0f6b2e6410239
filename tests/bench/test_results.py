"""Figures, goals, and the files that runs are kept in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.results import Figure, Goal, Result, Run, number, spread

if TYPE_CHECKING:
    from pathlib import Path


def test_a_spread_is_the_median_and_the_range() -> None:
    assert spread([5.0, 1.0, 9.0]) == Figure(5.0, 1.0, 9.0)
    assert spread([4.0, 1.0, 2.0, 9.0]) == Figure(3.0, 1.0, 9.0)
    with pytest.raises(ValueError, match="no round"):
        spread([])


@pytest.mark.parametrize(
    ("bound", "at_least", "verdict"),
    [(2.0, True, "reached"), (2.1, True, "missed"), (2.0, False, "reached"), (1.9, False, "missed")],
)
def test_a_goal_is_judged_by_the_median(bound: float, at_least: bool, verdict: str) -> None:
    goal = Goal("us", bound, at_least)
    assert Result("row", "a row", (goal,), {"us": Figure(2.0, 0.0, 9.0)}).verdict(goal) == verdict


def test_a_goal_whose_figure_is_not_there_is_not_measured() -> None:
    goal = Goal("us", 1.0, True)
    result = Result("row", "a row", (goal,), remark="there is no such rpc")
    assert result.verdict(goal) == "not measured"
    assert list(result.lines()) == ["a row", "    there is no such rpc", "    goal: us >= 1: not measured"]


@pytest.mark.parametrize(
    ("value", "text"), [(12345.6, "12,346"), (47.25, "47.2"), (0.3849, "0.38"), (0.004, "0.00"), (100.0, "100")]
)
def test_figures_have_the_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    goal = Goal("us", 47.0, False)
    results = [
        Result("old", "an old block", (goal,), {"us": Figure(46.0, 44.0, 51.0)}, "so"),
        Result("none", "nothing"),
    ]
    run = Run("0123abcd", "2026-01-02", {"processors": "2"}, results)
    run.write(tmp_path / "folder" / "run.json")
    assert Run.read(tmp_path / "folder" / "run.json") == run


def test_rows_of_the_same_commit_stay_until_they_are_measured_again() -> None:
    earlier = Run("0123abcd", "2026-01-02", {}, [Result("old", "an old block"), Result("fresh", "a fresh one")])
    again, other = Run("0123abcd", "2026-01-03", {}, []), Run("89abcdef", "2026-01-03", {}, [])
    again.keep(earlier, {"fresh"})
    other.keep(earlier, set())
    assert (again.results, other.results) == ([Result("old", "an old block")], [])
