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
    [(0.03, 0.003), (0.010, 0.001), (0.009, 0.0), (0.0005, 0.0), (0.2, 0.005), (5.0, 0.005), (None, 0.0)],
)
def test_a_read_close_behind_another_is_held_by_the_nodes_pace(median: float | None, held: float) -> None:
    assert hold_for(median, [0.0, 0.0005]) == [0.0, pytest.approx(held)]


def test_the_first_read_and_reads_far_apart_are_not_held() -> None:
    assert hold_for(0.03, [0.0, 0.0031, 0.1, 0.0029]) == [0.0, 0.0, 0.0, pytest.approx(0.003)]
