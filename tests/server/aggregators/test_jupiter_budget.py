"""A quota of our own: requests leave evenly spaced, by what they cost."""

from __future__ import annotations

import asyncio
import math

import pytest

from server.aggregators.jupiter import Budget
from server.errors import UpstreamUnavailable


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_requests_that_cost_more_make_the_next_one_wait_longer() -> None:
    clock = Clock()
    budget = Budget("api", 10.0, clock)
    await budget.wait(math.inf, units=100)
    with pytest.raises(UpstreamUnavailable, match="quota of requests to api is used up") as raised:
        await budget.wait(math.inf)
    assert raised.value.retry_after_ms == 10_000
    clock.now += 10.0
    await asyncio.wait_for(budget.wait(math.inf), 0.05)


async def test_the_quota_spaces_requests_and_refuses_what_would_wait_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("server.aggregators.jupiter.asyncio.sleep", sleep)
    budget = Budget("api", 0.5, clock)
    for _ in range(3):
        await budget.wait(clock.now + 30)
    assert waits == [2.0, 4.0]
    with pytest.raises(UpstreamUnavailable, match="quota") as caught:
        await budget.wait(clock.now + 30)
    assert caught.value.retry_after_ms == 6000
    with pytest.raises(UpstreamUnavailable):
        await budget.wait(clock.now + 1)
    clock.now += 60
    await budget.wait(clock.now + 1)
    assert waits == [2.0, 4.0]


async def test_a_turn_of_a_caller_who_left_is_given_back() -> None:
    clock = Clock()
    budget = Budget("api", 0.5, clock)
    await budget.wait(clock.now + 30)
    leaving = asyncio.create_task(budget.wait(clock.now + 30))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    assert budget._next == clock.now + 2
