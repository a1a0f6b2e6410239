from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from pydantic import SecretStr

from runtime.settings import EndpointSettings
from server.upstream.breaker import FAILURES_TO_OPEN, Breaker, Circuit
from server.upstream.connector import CallPolicy
from server.upstream.endpoint import Endpoint, LatencyWindow
from server.upstream.failover import Selection
from server.upstream.heads import HeadTracker
from server.upstream.http.answer import parse_retry_after

URL = "https://node.example/v2/very-secret"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def endpoint(clock: Clock, label: str = "alpha", **options: float) -> Endpoint:
    return Endpoint(label, URL, clock=clock, **options)  # type: ignore[arg-type]


def test_an_endpoint_never_shows_its_url(clock: Clock) -> None:
    settings = EndpointSettings(label="alpha", url=SecretStr(URL))
    made = Endpoint.from_settings(settings, clock)
    assert repr(made) == str(made) == "Endpoint('alpha')"
    assert repr(made.address) == str(made.address) == "Address()"
    assert repr(made.address.origin) == "Origin()"
    assert made.address.post(b"{}").startswith(b"POST /v2/very-secret HTTP/1.1\r\nHost: node.example\r\n")


def test_the_breaker_opens_after_failures_in_a_row_and_probes_one_at_a_time() -> None:
    breaker = Breaker()
    for _ in range(FAILURES_TO_OPEN - 1):
        assert not breaker.fail(0.0)
    assert breaker.state(0.0) is Circuit.CLOSED
    assert breaker.fail(0.0)
    assert breaker.state(0.5) is Circuit.OPEN
    assert not breaker.claim_probe(0.5)
    assert breaker.state(1.0) is Circuit.HALF_OPEN
    assert breaker.claim_probe(1.0)
    assert not breaker.claim_probe(1.0)
    breaker.release_probe()
    assert breaker.succeed()
    assert breaker.state(1.0) is Circuit.CLOSED


def test_a_fresh_failure_is_doubted_for_a_second_each() -> None:
    breaker = Breaker()
    breaker.fail(10.0)
    assert [breaker.is_doubted(at) for at in (10.0, 10.9, 11.0)] == [True, True, False]
    breaker.fail(20.0)
    assert [breaker.is_doubted(at) for at in (21.9, 22.0)] == [True, False]
    breaker.fail(30.0)
    breaker.succeed()
    assert not breaker.is_doubted(30.0)


def test_the_breaker_rests_longer_while_probes_fail_but_never_for_good() -> None:
    breaker = Breaker()
    for _ in range(FAILURES_TO_OPEN):
        breaker.fail(0.0)
    now, rests = 0.0, []
    for _ in range(10):
        rest = 0.0
        while breaker.state(now + rest) is Circuit.OPEN:
            rest += 0.5
        rests.append(rest)
        now += rest
        breaker.fail(now)
    assert rests == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0, 30.0]


def test_the_breaker_opens_when_every_other_attempt_fails() -> None:
    breaker = Breaker()
    opened = []
    for number in range(80):
        breaker.succeed()
        opened.append(breaker.fail(float(number)))
    assert any(opened)
    steady = Breaker()
    for number in range(400):
        assert not (number % 10 == 0 and steady.fail(float(number)))
        steady.succeed()


def test_throttling_lasts_as_long_as_asked_within_bounds(clock: Clock) -> None:
    one = endpoint(clock)
    assert one.paused_for == 0
    one.pause(None)
    assert one.paused_for == 1
    one.pause(7)
    one.pause(2)
    assert one.paused_for == 7
    one.pause(10**6)
    assert one.paused_for == 60
    clock.now += 60
    assert one.paused_for == 0


def test_a_configured_rate_is_kept_with_a_second_of_burst(clock: Clock) -> None:
    one = endpoint(clock, rate=5.0)
    sent = 0
    for _ in range(100):
        while one.paused_for == 0:
            one.begin(object())
            sent += 1
        clock.now += 0.1
    assert 54 <= sent <= 55


def test_refused_batches_are_remembered_for_ten_minutes(clock: Clock) -> None:
    one = endpoint(clock)
    assert one.batch_items == 100
    one.learn_batch_items(10)
    one.learn_batch_items(50)
    assert one.batch_items == 10
    clock.now += 599
    assert one.batch_items == 10
    clock.now += 2
    assert one.batch_items == 100


def test_an_endpoint_that_keeps_a_cheap_request_too_long_is_stuck(clock: Clock) -> None:
    one = endpoint(clock)
    seen = []
    one.begin("first")
    clock.now += 10
    seen.append(one.is_stuck)  # never measured: slow may be usual
    one.latency.add(0.01)
    seen.append(one.is_stuck)
    one.end("first")
    one.begin("second")
    clock.now += 0.09
    seen.append(one.is_stuck)
    clock.now += 0.02
    seen.append(one.is_stuck)
    assert seen == [False, True, False, True]


def test_latency_figures() -> None:
    window = LatencyWindow()
    assert window.median is None
    assert window.p95 is None
    for milliseconds in range(1, 101):
        window.add(milliseconds / 1000)
    assert window.median == pytest.approx(0.068, abs=0.006)
    assert window.p95 == pytest.approx(0.096, abs=0.006)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7.0), (" 0 ", 0.0), ("99999999999999", 3600.0), ("soon", None), ("-3", None), ("1.5", None)],
)
def test_retry_after(text: str, seconds: float | None) -> None:
    assert parse_retry_after(text) == seconds


def test_retry_after_as_a_date() -> None:
    at = datetime.now(UTC) + timedelta(seconds=30)
    assert parse_retry_after(format_datetime(at, usegmt=True)) == pytest.approx(29.5, abs=1)
    assert parse_retry_after(format_datetime(at - timedelta(hours=1), usegmt=True)) == 0


class TestSelection:
    PLAIN = CallPolicy()

    @pytest.fixture
    def endpoints(self, clock: Clock) -> list[Endpoint]:
        return [endpoint(clock, label) for label in ("alpha", "beta", "gamma")]

    @pytest.fixture
    def heads(self, clock: Clock) -> HeadTracker:
        return HeadTracker(("alpha", "beta", "gamma"), 2.0, clock=clock)

    @pytest.fixture
    def selection(self, endpoints: list[Endpoint], heads: HeadTracker) -> Selection:
        return Selection(endpoints, heads)

    def order(self, selection: Selection, policy: CallPolicy = PLAIN) -> list[str]:
        tried: list[Endpoint] = []
        while (one := selection.next("eth_call", policy, tried)) is not None:
            tried.append(one)
        return [one.label for one in tried]

    def test_the_quicker_one_per_weight_is_first(self, selection: Selection, endpoints: list[Endpoint]) -> None:
        for one, latency, weight in zip(endpoints, (0.03, 0.01, 0.02), (1, 1, 4), strict=True):
            one.latency.add(latency)
            one.weight = weight
        assert self.order(selection) == ["gamma", "beta", "alpha"]

    def test_the_unmeasured_is_tried_to_be_measured(self, selection: Selection, endpoints: list[Endpoint]) -> None:
        endpoints[0].latency.add(0.001)
        endpoints[1].latency.add(0.002)
        assert self.order(selection) == ["gamma", "alpha", "beta"]

    def test_the_favourite_stays_until_another_is_clearly_better(
        self, selection: Selection, endpoints: list[Endpoint]
    ) -> None:
        for one in endpoints:
            one.latency.add(0.010)
        assert self.order(selection)[0] == "alpha"
        endpoints[1].latency.median = 0.009
        assert self.order(selection)[0] == "alpha"
        endpoints[1].latency.median = 0.007
        assert self.order(selection)[0] == "beta"

    def test_sound_then_late_then_throttled_then_broken(
        self, selection: Selection, endpoints: list[Endpoint], heads: HeadTracker, clock: Clock
    ) -> None:
        for label, block in (("alpha", 100), ("beta", 100), ("gamma", 50)):
            heads.observe(label, block)
        for _ in range(FAILURES_TO_OPEN):
            endpoints[0].breaker.fail(clock.now)
        assert self.order(selection) == ["beta", "gamma", "alpha"]
        endpoints[1].pause(5)
        assert self.order(selection) == ["gamma", "beta", "alpha"]
        assert self.order(selection, CallPolicy(prefer="alpha")) == ["gamma", "beta", "alpha"]
        clock.now += 5
        assert self.order(selection, CallPolicy(min_block=40, prefer="gamma")) == ["gamma", "beta", "alpha"]

    def test_the_excluded_are_never_asked(self, selection: Selection, endpoints: list[Endpoint]) -> None:
        endpoints[1].exclude("serves chain id 5 instead of 1")
        assert self.order(selection, CallPolicy(prefer="beta")) == ["alpha", "gamma"]
