from __future__ import annotations

import pytest

from server.access.flights import Flights
from server.access.principals import LOCAL, Policy, Principal
from server.errors import RateLimited, UpstreamUnavailable

POLICY = Policy("default", 50, 100)


def test_a_key_beyond_its_limit_is_told_to_wait() -> None:
    flights = Flights(limit=100, limit_per_principal=2)
    one = Principal("key:1", POLICY)
    flights.enter(one)
    flights.enter(one)
    with pytest.raises(RateLimited) as refused:
        flights.enter(one)
    assert refused.value.retry_after_ms
    flights.enter(Principal("key:2", POLICY))
    flights.leave(one)
    flights.enter(one)


def test_the_process_beyond_its_limit_is_unavailable_for_all() -> None:
    flights = Flights(limit=3, limit_per_principal=2)
    for _ in range(3):
        flights.enter(LOCAL)
    with pytest.raises(UpstreamUnavailable) as refused:
        flights.enter(Principal("key:1", POLICY))
    assert refused.value.retry_after_ms
    for _ in range(3):
        flights.leave(LOCAL)
    assert flights.total == 0
    assert not flights._by_principal
