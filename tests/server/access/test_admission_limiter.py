from __future__ import annotations

from contextlib import suppress

import pytest

from server.access.admission import LOCAL, ConcurrencyLimiter, Policy, Principal, decode
from server.errors import RateLimited, UpstreamUnavailable

POLICY = Policy("default", 50, 100)
ONE, TWO = Principal("key:1", POLICY), Principal("key:2", POLICY)


def fill(limiter: ConcurrencyLimiter, principal: Principal) -> int:
    """Have all calls in flight that the principal may have; return how many were added."""
    before = limiter.total
    with suppress(RateLimited, UpstreamUnavailable):
        while True:
            limiter.enter(principal)
    return limiter.total - before


def test_a_key_beyond_its_limit_is_reported_to_wait() -> None:
    limiter = ConcurrencyLimiter(limit=100, limit_per_principal=2)
    limiter.enter(ONE)
    assert limiter.room(ONE) == 1
    limiter.enter(ONE)
    with pytest.raises(RateLimited) as refused:
        limiter.enter(ONE)
    assert refused.value.retry_after_ms == 250
    limiter.enter(TWO)
    limiter.leave(ONE)
    limiter.enter(ONE)
    assert fill(limiter, LOCAL) > 50


@pytest.mark.parametrize("principal", [LOCAL, ONE], ids=["unlimited", "key"])
def test_one_alone_has_the_whole_process_and_is_unavailable_beyond(principal: Principal) -> None:
    limiter = ConcurrencyLimiter(limit=300)
    for _ in range(300):
        limiter.enter(principal)
    with pytest.raises(UpstreamUnavailable) as refused:
        limiter.enter(principal)
    assert refused.value.retry_after_ms == 1000
    limiter.enter(TWO)
    limiter.leave(TWO)
    for _ in range(300):
        limiter.leave(principal)
    assert limiter.total == 0
    assert limiter.room(TWO) == 300


def test_a_key_over_its_part_is_reported_to_wait_while_others_are_there() -> None:
    limiter = ConcurrencyLimiter(limit=20)
    fill(limiter, ONE)
    limiter.enter(TWO)
    with pytest.raises(RateLimited) as refused:
        limiter.enter(ONE)
    assert refused.value.retry_after_ms == 250
    fill(limiter, TWO)
    # It is not its fault.
    with pytest.raises(UpstreamUnavailable):
        limiter.enter(TWO)


def test_all_clients_of_the_demo_are_one_principal_with_a_tenth() -> None:
    limiter = ConcurrencyLimiter(limit=1000)
    clients = [Principal(f"demo:192.0.2.{number}", Policy("demo", 0, 0)) for number in range(50)]
    assert fill(limiter, clients[0]) == 100
    for client in clients[1:]:
        fill(limiter, client)
    assert limiter.total <= 125
    with pytest.raises(RateLimited):
        limiter.enter(clients[0])
    assert fill(limiter, ONE) > 850
    # As the transcoder's calls name it.
    client = decode(clients[0].encode())
    assert client is not None
    for _ in range(100):
        limiter.leave(client)
    assert fill(limiter, client) <= 100


def test_a_client_of_the_demo_that_the_process_refuses_holds_nothing() -> None:
    limiter = ConcurrencyLimiter(limit=20)
    keys = [Principal(f"key:{number}", POLICY) for number in range(30)]
    for key in keys:
        fill(limiter, key)
    client = Principal("demo:192.0.2.1", Policy("demo", 1, 1))
    for _ in range(10):
        with pytest.raises(UpstreamUnavailable):
            limiter.enter(client)
    while limiter.total:
        for key in keys:
            while limiter._calls.held(key.label):
                limiter.leave(key)
    assert fill(limiter, client) == 2
