from __future__ import annotations

import pytest

from server.upstream.batcher import BatchDelay
from server.upstream.endpoint import LatencyWindow


def hold_for(median: float | None, gaps: list[float]) -> list[float]:
    latency = LatencyWindow()
    if median is not None:
        latency.add(median)
    hold, now, held = BatchDelay(latency), 100.0, []
    for gap in gaps:
        now += gap
        held.append(hold.seconds(now))
    return held


@pytest.mark.parametrize(
    ("median", "held"),
    [(0.03, 0.0015), (0.020, 0.001), (0.019, 0.0), (0.0005, 0.0), (0.2, 0.002), (5.0, 0.002), (None, 0.0)],
)
def test_a_read_among_many_is_held_by_the_nodes_pace_and_two_milliseconds_at_most(
    median: float | None, held: float
) -> None:
    assert hold_for(median, [0.001] * 1000)[-1] == pytest.approx(held)


def test_a_read_is_held_where_every_second_hold_brings_another_one() -> None:
    # 500 a second, then 100.
    assert hold_for(0.03, [0.002] * 1500)[-1] == pytest.approx(0.0015)
    assert set(hold_for(0.03, [0.01] * 1000)) == {0.0}


@pytest.mark.parametrize("median", [0.001, 0.02, 0.03, 0.2])
def test_a_lone_caller_is_never_held(median: float) -> None:
    assert set(hold_for(median, [median] * 2000)) == {0.0}


def test_a_burst_after_a_pause_is_not_held_for_what_came_before_the_pause() -> None:
    held = hold_for(0.03, [*[0.001] * 1000, 5.0, 0.0001, 0.0001])
    assert held[999] > 0.0
    assert held[1000:] == [0.0, 0.0, 0.0]
