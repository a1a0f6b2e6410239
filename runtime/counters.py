"""Counters and histograms that cost a counted call next to nothing.

The library's own take a lock and a dozen function calls for each figure, and a request has about ten. These are plain
numbers, written on the event loop alone; the library's registry collects them when the metrics are read.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from time import time
from typing import TYPE_CHECKING, Any

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prometheus_client import CollectorRegistry, Metric


class Counter:
    """One counter: add to `count`."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Histogram:
    """How many values fell below each of some bounds, and their sum; of traced values the last of each bucket."""

    __slots__ = ("_bounds", "counts", "exemplars", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        self.exemplars: dict[int, Exemplar] = {}

    def observe(self, value: float) -> None:
        """Count a value; one that equals a bound belongs to it."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    def note_trace(self, value: float, trace_id: str) -> None:
        """Keep the trace of a value that was counted as the example of its bucket."""
        self.exemplars[bisect_left(self._bounds, value)] = Exemplar({"trace_id": trace_id}, value, time())


class CounterFamily(Collector):
    """A counter for each set of label values."""

    def __init__(self, name: str, text: str, labels: Sequence[str], registry: CollectorRegistry) -> None:
        self._name, self._text, self._labels = name, text, labels
        self._series: dict[tuple[str, ...], Counter] = {}
        registry.register(self)

    def of(self, *values: str) -> Counter:
        """Return the counter of these label values, the same one every time."""
        return self._series.setdefault(values, Counter())

    def describe(self) -> Iterator[Metric]:
        """Return the family without samples."""
        yield CounterMetricFamily(self._name, self._text, labels=self._labels)

    def collect(self) -> Iterator[Metric]:
        """Return the family with a sample for each counter."""
        family = CounterMetricFamily(self._name, self._text, labels=self._labels)
        for values, counter in self._series.items():
            family.add_metric(values, counter.count)
        yield family


class HistogramFamily(Collector):
    """A histogram for each set of label values, all with the same ascending bounds."""

    def __init__(
        self, name: str, text: str, labels: Sequence[str], bounds: Sequence[float], registry: CollectorRegistry
    ) -> None:
        self._name, self._text, self._labels = name, text, labels
        self._bounds = bounds
        self._bucket_labels = [*(floatToGoString(bound) for bound in bounds), "+Inf"]  # type: ignore[no-untyped-call]
        self._series: dict[tuple[str, ...], Histogram] = {}
        registry.register(self)

    def of(self, *values: str) -> Histogram:
        """Return the histogram of these label values, the same one every time."""
        return self._series.setdefault(values, Histogram(self._bounds))

    def describe(self) -> Iterator[Metric]:
        """Return the family without samples."""
        yield HistogramMetricFamily(self._name, self._text, labels=self._labels)

    def collect(self) -> Iterator[Metric]:
        """Return the family with the cumulative buckets of each histogram."""
        family = HistogramMetricFamily(self._name, self._text, labels=self._labels)
        for values, histogram in self._series.items():
            buckets: list[Any] = [
                (label, count, histogram.exemplars.get(place))
                for place, (label, count) in enumerate(
                    zip(self._bucket_labels, accumulate(histogram.counts), strict=True)
                )
            ]
            family.add_metric(values, buckets, histogram.total)
        yield family
