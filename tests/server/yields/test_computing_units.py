"""Pendle's quota: no minute and no week holds more computing units than it allows."""

from __future__ import annotations

import random

import pytest

from server.errors import UpstreamUnavailable
from server.yields.computing_units import ComputingUnits, Quota


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_no_minute_and_no_week_holds_more_units_than_the_quota() -> None:
    chance, clock = random.Random(7), Clock()
    units = ComputingUnits("it", Quota(100, 3_000), clock)
    spent: list[tuple[float, float]] = []
    for _ in range(3_000):
        clock.now += chance.expovariate(1.0) * chance.choice((0.01, 1, 600))
        cost = chance.randrange(1, 6)
        try:
            units.check(cost)
        except UpstreamUnavailable as error:
            later = Clock()
            later.now = clock.now + (error.retry_after_ms or 0) / 1000
            assert later.now > clock.now
            if chance.random() < 0.2:
                clock.now = later.now
                units.check(cost)
                units.count(cost)
                spent.append((clock.now, cost))
        else:
            # Counted as the dearest first, and less once it is known.
            units.count(5)
            units.count(cost - 5)
            spent.append((clock.now, cost))
    for seconds, most in ((60, 100), (604_800, 3_000)):
        for place, (at, _) in enumerate(spent):
            within = sum(cost for when, cost in spent[place:] if when < at + seconds)
            assert within <= most
    assert len(spent) > 800


def test_another_quota_counts_what_was_spent_before() -> None:
    units = ComputingUnits("it", Quota(100, 3_000), Clock())
    units.count(90)
    units.set_quota(Quota(200, 3_000))
    units.check(110)
    for quota in (Quota(99, 3_000), Quota(200, 99)):
        units.set_quota(quota)
        with pytest.raises(UpstreamUnavailable):
            units.check(10)
