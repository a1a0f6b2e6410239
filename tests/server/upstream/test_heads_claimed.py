"""Heads that are claims until they are proved: beyond what time explains, of a time to come, or of no time at all."""

from __future__ import annotations

from server.upstream.heads import HeadGrowth, HeadTracker
from tests.server.upstream.test_heads import LABELS, Clock, see


def growing(*labels: str, block_time: float = 2.0, **growth: float) -> tuple[HeadTracker, Clock]:
    """A tracker that wants proofs, whose wall clock is its own."""
    clock = Clock()
    limits = HeadGrowth(**growth)  # type: ignore[arg-type]
    return HeadTracker(labels or LABELS, block_time, clock=clock, growth=limits, wall=clock), clock


def dated(*labels: str) -> tuple[HeadTracker, Clock]:
    """A tracker whose looks tell the times of blocks."""
    clock = Clock()
    return HeadTracker(labels or LABELS, 2.0, clock=clock, growth=HeadGrowth(), has_times=True, wall=clock), clock


def test_of_several_endpoints_numbers_without_a_time_move_no_head() -> None:
    heads, clock = dated()
    for label in LABELS:
        heads.observe(label, 100, clock.now)
        heads.admit(label, 100, clock.now)
    assert see(heads, 101, 140, 164) == 100
    assert heads.of("alpha") == 101
    assert not heads.is_behind("alpha", 101)
    clock.now += 2
    heads.observe("alpha", 101, clock.now)
    heads.observe("beta", 101, clock.now)
    assert heads.head() == 101
    assert see(heads, 104, 104, 104) == 101
    # What was reported with its time stays told.
    heads.observe("alpha", 103, clock.now)
    heads.observe("alpha", 104)
    heads.observe("beta", 103, clock.now)
    assert heads.head() == 103


def test_a_number_without_a_time_is_no_look() -> None:
    heads, clock = dated()
    assert heads.look_age("alpha") is None
    heads.observe("alpha", 100, clock.now)
    clock.now += 5
    heads.observe("alpha", 101)
    assert heads.look_age("alpha") == 5
    heads.forget("alpha")
    assert heads.look_age("alpha") is None
    heads.observe("alpha", 101)
    assert heads.age("alpha") == 0
    plain, _ = growing()
    plain.observe("alpha", 101)
    assert plain.look_age("alpha") == 0


def test_an_only_endpoint_moves_its_head_by_numbers_too() -> None:
    heads, clock = dated("alpha")
    heads.observe("alpha", 100, clock.now)
    heads.observe("alpha", 101)
    assert heads.head() == 101
    assert heads.look_age("alpha") == 0


def test_who_reported_a_time_to_come_is_not_believed_by_lower_numbers_either() -> None:
    heads, clock = growing("alpha")
    heads.observe("alpha", 100, clock.now)
    heads.observe("alpha", 150, clock.now + 61)
    heads.observe("alpha", 110)
    assert heads.head() == 100
    assert heads.is_ahead("alpha")
    heads.observe("alpha", 100)
    assert not heads.is_ahead("alpha")
    heads.observe("alpha", 110)
    assert heads.head() == 110


def start(heads: HeadTracker, block: int, made_at: float) -> None:
    heads.observe("alpha", block)
    assert heads.is_claimed("alpha")
    heads.admit("alpha", block, made_at)
    assert see(heads, block, block, block) == block


def test_without_history_a_head_is_a_claim_until_its_header_is_seen() -> None:
    heads, clock = growing()
    heads.observe("alpha", 100, clock.now)
    assert heads.head() is None
    assert heads.is_ahead("alpha")
    heads.admit("alpha", 100, clock.now)
    assert heads.head() == 100
    assert not heads.is_ahead("alpha")


def test_an_only_endpoint_is_believed_by_the_time_of_its_block() -> None:
    heads, clock = growing("alpha")
    heads.observe("alpha", 100, clock.now + 61)
    assert heads.head() is None
    heads.observe("alpha", 100)
    assert heads.head() is None
    heads.observe("alpha", 100, clock.now + 59)
    assert heads.head() == 100


def test_no_majority_moves_the_head_beyond_what_time_explains() -> None:
    heads, clock = growing()
    start(heads, 100, clock.now)
    clock.now += 10
    # 10 s of 2 s, times 4, plus 64.
    limit = 100 + 20 + 64
    see(heads, limit + 1, limit + 1, 101)
    assert heads.head() == 101
    assert heads.is_ahead("alpha")
    assert heads.is_ahead("beta")
    assert not heads.is_out_of_step("gamma")
    clock.now += 1000
    for label in LABELS:
        heads.observe(label, 102)
    assert heads.head() == 102
    assert not heads.is_ahead("alpha")


def test_the_limit_itself_is_believed() -> None:
    heads, clock = growing()
    start(heads, 100, clock.now)
    clock.now += 10
    assert see(heads, 184, 184, 101) == 184


def test_factor_and_slack_are_the_chains_own() -> None:
    heads, clock = growing(factor=1.0, slack=2)
    start(heads, 100, clock.now)
    clock.now += 10
    assert see(heads, 108, 108, 108) == 100
    assert see(heads, 107, 107, 107) == 107


def test_a_block_of_tomorrow_is_a_claim_however_low() -> None:
    heads, clock = growing()
    start(heads, 100, clock.now)
    for label in ("alpha", "beta"):
        heads.observe(label, 101, clock.now + 61)
    assert heads.head() == 100
    assert heads.is_ahead("alpha")
    heads.observe("alpha", 101)  # the same without its time
    assert heads.is_ahead("alpha")
    heads.observe("alpha", 101, clock.now)
    assert not heads.is_ahead("alpha")


def test_a_jump_fits_if_the_time_of_its_header_explains_it() -> None:
    heads, clock = growing()
    start(heads, 100, clock.now - 7200)  # what was believed is two hours old
    assert heads.fits(100 + 3600, clock.now)
    assert not heads.fits(100 + 3600, clock.now - 7200)
    assert not heads.fits(100 + 14_465, clock.now)
    assert not heads.fits(10**6, clock.now + 61)


def test_a_proved_jump_of_most_endpoints_is_the_head() -> None:
    heads, clock = growing()
    start(heads, 100, clock.now - 7200)
    heads.observe("alpha", 3700)
    heads.admit("alpha", 3700, clock.now)
    heads.observe("beta", 3700)
    assert heads.head() == 100
    heads.admit("beta", 3700, clock.now)
    assert heads.head() == 3700
    assert heads.is_lagging("gamma")


def test_what_an_endpoint_of_another_chain_reported_is_taken_back() -> None:
    heads, clock = growing()
    start(heads, 100, clock.now)
    clock.now += 2
    see(heads, 160, 160, 101)
    assert heads.head() == 160
    heads.forget("alpha")
    heads.forget("beta")
    assert heads.head() == 101
    assert heads.of("alpha") is None


def test_nobody_has_a_block_beyond_the_limit() -> None:
    heads, clock = growing()
    assert not heads.is_beyond(10**9)
    start(heads, 100, clock.now)
    assert heads.is_beyond(165)
    assert not heads.is_beyond(164)
