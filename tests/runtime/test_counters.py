from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from runtime.counters import CounterFamily, HistogramFamily

if TYPE_CHECKING:
    from collections.abc import Sequence

BOUNDS = (0.001, 0.5, 1, 10)


def lines(registry: CollectorRegistry) -> set[str]:
    """Return what is reported, without the library's own moments of creation."""
    return {line for line in generate_latest(registry).decode().splitlines() if "_created" not in line}


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 5))))
def test_counters_tell_what_the_librarys_own_tell(adds: Sequence[tuple[str, int]]) -> None:
    ours, theirs = CollectorRegistry(auto_describe=True), CollectorRegistry(auto_describe=True)
    family, counter = (
        CounterFamily("calls", "Calls.", ("kind",), ours),
        Counter("calls", "Calls.", ("kind",), registry=theirs),
    )
    for kind, number in adds:
        family.of(kind).count += number
        counter.labels(kind).inc(number)
    assert lines(ours) == lines(theirs)


@given(st.lists(st.sampled_from([0.0, 0.001, 0.0011, 0.25, 0.5, 1, 2, 10, 10.5, 1e6])))
def test_histograms_tell_what_the_librarys_own_tell(values: Sequence[float]) -> None:
    ours, theirs = CollectorRegistry(auto_describe=True), CollectorRegistry(auto_describe=True)
    family = HistogramFamily("seconds", "Seconds.", ("chain",), BOUNDS, ours)
    histogram = Histogram("seconds", "Seconds.", ("chain",), buckets=BOUNDS, registry=theirs)
    for value in values:
        family.of("base").observe(value)
        histogram.labels("base").observe(value)
    assert lines(ours) == lines(theirs)


def test_a_name_is_taken_once() -> None:
    registry = CollectorRegistry(auto_describe=True)
    CounterFamily("calls", "Calls.", (), registry)
    with pytest.raises(ValueError, match="calls"):
        CounterFamily("calls", "Calls.", (), registry)
