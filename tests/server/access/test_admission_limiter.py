from __future__ import annotations

import pytest

from server.access.admission import LOCAL, ConcurrencyLimiter, Policy, Principal
from server.errors import RateLimited, UpstreamUnavailable

POLICY = Policy("default", 50, 100)


def test_a_key_beyond_its_limit_is_reported_to_wait() -> None:
    limiter = ConcurrencyLimiter(limit=100, limit_per_principal=2)
    one = Principal("key:1", POLICY)
    limiter.enter(one)
    limiter.enter(one)
    with pytest.raises(RateLimited) as refused:
        limiter.enter(one)
    assert refused.value.retry_after_ms
    limiter.enter(Principal("key:2", POLICY))
    limiter.leave(one)
    limiter.enter(one)


def test_the_process_beyond_its_limit_is_unavailable_for_all() -> None:
    limiter = ConcurrencyLimiter(limit=3, limit_per_principal=2)
    for _ in range(3):
        limiter.enter(LOCAL)
    with pytest.raises(UpstreamUnavailable) as refused:
        limiter.enter(Principal("key:1", POLICY))
    assert refused.value.retry_after_ms
    for _ in range(3):
        limiter.leave(LOCAL)
    assert limiter.total == 0
    assert not limiter._by_principal
