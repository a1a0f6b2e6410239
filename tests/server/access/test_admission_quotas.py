from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from waypost_internal.v1 import access_pb2

from runtime.settings import SLOWEST_RATE
from server.access.admission import LOCAL, UNLIMITED, Policy, Principal, decode
from server.access.quotas import Quotas

SECOND = 1_000_000_000
FIVE = Principal("key:1", Policy("key", 5, 10))


class Clock:
    def __init__(self) -> None:
        self.now = 1_000 * SECOND

    def __call__(self) -> int:
        return self.now


def test_a_burst_passes_and_the_rate_follows() -> None:
    clock = Clock()
    quotas = Quotas(clock=clock)
    assert [quotas.charge(FIVE, 1).admitted for _ in range(12)] == [1] * 10 + [0] * 2
    clock.now += SECOND
    assert [quotas.charge(FIVE, 1).admitted for _ in range(7)] == [1] * 5 + [0] * 2


def test_a_batch_is_charged_in_one_operation_and_admits_a_prefix() -> None:
    clock = Clock()
    quotas = Quotas(clock=clock)
    first = quotas.charge(FIVE, 7)
    assert (first.admitted, first.remaining, first.retry_after_ms) == (7, 3, 0)
    second = quotas.charge(FIVE, 7)
    assert (second.admitted, second.remaining, second.retry_after_ms) == (3, 0, 200)
    assert second.reset_seconds == 2
    third = quotas.charge(FIVE, 1)
    assert (third.admitted, third.retry_after_ms) == (0, 200)


def test_retry_after_is_when_one_more_passes() -> None:
    clock = Clock()
    quotas = Quotas(clock=clock)
    quotas.charge(FIVE, 10)
    clock.now += 30_000_000
    wait = quotas.charge(FIVE, 1).retry_after_ms
    clock.now += (wait - 1) * 1_000_000
    assert quotas.charge(FIVE, 1).admitted == 0
    clock.now += 1_000_000
    assert quotas.charge(FIVE, 1).admitted == 1


def test_the_demo_admits_the_first_item_of_a_batch() -> None:
    demo = Principal("demo:192.0.2.1", Policy("demo", 1, 1))
    grant = Quotas(clock=Clock()).charge(demo, 50)
    assert (grant.admitted, grant.remaining, grant.retry_after_ms) == (1, 0, 1000)


def test_debt_delays_what_comes_later() -> None:
    clock = Clock()
    quotas = Quotas(clock=clock)
    quotas.charge(FIVE, 1)
    assert quotas.owe(FIVE, 4)[1:] == (5, 0, 1)
    assert quotas.owe(FIVE, 45)[1:] == (0, 8200, 10)
    assert quotas.charge(FIVE, 1).admitted == 0
    clock.now += 8 * SECOND
    assert quotas.charge(FIVE, 1).admitted == 0
    clock.now += SECOND
    assert quotas.charge(FIVE, 1).admitted == 1


def test_what_the_slowest_quota_tells_fits_into_its_message() -> None:
    slowest = Principal("key:1", Policy("key", SLOWEST_RATE, 1_000_000))
    quotas = Quotas(clock=Clock())
    quotas.charge(slowest, 1_000_000)
    left = quotas.owe(slowest, 500)
    reported = access_pb2.AdmitResponse(
        retry_after_ms=left.retry_after_ms,
        reset_seconds=left.reset_seconds,
        window_seconds=slowest.policy.window_seconds,
    )
    assert (reported.retry_after_ms, reported.window_seconds) == (501_000_000, 1_000_000_000)


def test_callers_do_not_share() -> None:
    quotas = Quotas(clock=Clock())
    quotas.charge(FIVE, 10)
    assert quotas.charge(Principal("key:2", FIVE.policy), 10).admitted == 10


def test_unlimited_is_unlimited_and_leaves_nothing_behind() -> None:
    quotas = Quotas(clock=Clock())
    assert quotas.charge(LOCAL, 10_000).admitted == 10_000
    quotas.owe(LOCAL, 10_000)
    assert len(quotas) == 0


def test_the_table_is_bounded_and_full_buckets_leave_first() -> None:
    clock = Clock()
    quotas = Quotas(capacity=100, clock=clock)
    policy = Policy("demo", 1, 1)
    for number in range(1000):
        quotas.charge(Principal(f"demo:{number}", policy), 1)
    assert len(quotas) == 100
    assert quotas.charge(Principal("demo:999", policy), 1).admitted == 0
    clock.now += 2 * SECOND
    for number in range(60):
        quotas.charge(Principal(f"again:{number}", policy), 1)
    assert len(quotas) <= 61


@given(
    st.floats(min_value=0.01, max_value=10_000),
    st.integers(min_value=1, max_value=500),
    st.lists(st.tuples(st.integers(0, 5_000_000_000), st.integers(1, 50)), max_size=60),
)
def test_never_more_than_burst_plus_rate_times_time(rate: float, burst: int, steps: list[tuple[int, int]]) -> None:
    clock = Clock()
    quotas = Quotas(clock=clock)
    principal = Principal("key:7", Policy("key", rate, burst))
    interval = max(1, round(SECOND / rate))
    start, admitted = clock.now, 0
    for pause, units in steps:
        clock.now += pause
        grant = quotas.charge(principal, units)
        assert 0 <= grant.admitted <= units
        assert 0 <= grant.remaining <= burst
        assert (grant.remaining == 0) == (grant.retry_after_ms > 0)
        admitted += grant.admitted
        assert admitted <= burst + (clock.now - start) // interval


@given(st.text(max_size=30), st.floats(min_value=0, max_value=1e6), st.integers(0, 1_000_000))
def test_principals_survive_the_way_through_the_transcoder(name: str, rate: float, burst: int) -> None:
    principal = Principal(f"demo:{name}", Policy("demo", rate, burst))
    assert decode(principal.encode()) == principal


def test_other_text_is_no_principal() -> None:
    for text in ("", "key:1", "a/b/c", "a/b/c/d", "a/1.0/2/", "a/1.0/x/key:1"):
        assert decode(text) is None


def test_windows_are_whole_seconds() -> None:
    assert (Policy("a", 50, 100).limit, Policy("a", 50, 100).window_seconds) == (100, 2)
    assert Policy("a", 100, 10).window_seconds == 1
    assert Policy("a", 3, 10).window_seconds == 4
    assert (UNLIMITED.limit, UNLIMITED.window_seconds) == (0, 0)
