from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from server.upstream.heads import HeadTracker

LABELS = ("alpha", "beta", "gamma")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def tracker(*labels: str, block_time: float = 2.0) -> tuple[HeadTracker, Clock]:
    clock = Clock()
    return HeadTracker(labels or LABELS, block_time, clock=clock), clock


def see(heads: HeadTracker, *blocks: int) -> int | None:
    for label, block in zip(LABELS, blocks, strict=False):
        heads.observe(label, block)
    return heads.head()


def test_nothing_heard_is_no_head() -> None:
    heads, _ = tracker()
    assert heads.head() is None
    assert heads.of("alpha") is None
    assert not heads.is_lagging("alpha")
    assert not heads.is_behind("alpha", 10**9)


def test_the_head_is_what_a_strict_majority_has_reached() -> None:
    heads, _ = tracker()
    assert see(heads, 105, 103, 101) == 103
    two, _ = tracker("alpha", "beta")
    assert see(two, 105, 103) == 103
    one, _ = tracker("alpha")
    assert see(one, 105) == 105


def test_the_first_endpoint_heard_gives_a_head_that_the_majority_corrects() -> None:
    heads, _ = tracker()
    assert see(heads, 10**12) == 10**12
    assert see(heads, 10**12, 100, 101) == 101


def test_the_head_moves_forward_only() -> None:
    heads, clock = tracker()
    see(heads, 100, 100, 100)
    clock.now += 2
    assert see(heads, 99, 99, 99) == 100
    clock.now += 2
    assert see(heads, 101, 101, 100) == 101


def test_zero_and_less_say_nothing() -> None:
    heads, _ = tracker()
    assert see(heads, 0, -1, 0) is None
    assert see(heads, 100, 100, 100) == 100
    assert see(heads, 0, 0, 0) == 100
    assert heads.of("alpha") == 100


def test_an_endpoint_at_zero_lags_behind_a_chain_that_was_further_until_it_tells_more() -> None:
    heads, clock = tracker()
    heads.observe("alpha", 0)
    assert not heads.is_lagging("alpha")  # the chain itself may have only begun
    heads.observe("beta", 100)
    assert heads.is_lagging("alpha")
    assert heads.is_behind("alpha", 5)
    assert not heads.is_behind("alpha", 0)
    heads.observe("alpha", 100)
    assert not heads.is_out_of_step("alpha")
    heads.observe("alpha", 0)
    assert heads.is_out_of_step("alpha")
    clock.now += 60
    assert not heads.is_lagging("alpha")  # heard too long ago to tell


def test_a_liar_cannot_move_the_head() -> None:
    heads, clock = tracker()
    for block in range(100, 200):
        clock.now += 2
        assert see(heads, 10**9, block, block) == block


def test_an_implausible_jump_is_believed_only_if_it_lasts() -> None:
    heads, clock = tracker("alpha")
    see(heads, 100)
    clock.now += 2
    assert see(heads, 100_000) == 100
    for _ in range(9):
        clock.now += 2
        assert see(heads, 100_000) == 100
    clock.now += 2
    assert see(heads, 100_000) == 100_000


def test_a_jump_is_judged_by_the_time_that_passed() -> None:
    heads, clock = tracker()
    see(heads, 100, 100, 100)
    clock.now += 3600
    assert see(heads, 1900, 1900, 1900) == 1900


def test_a_rollback_that_lasts_ten_block_times_is_believed() -> None:
    heads, clock = tracker()
    see(heads, 100, 100, 100)
    clock.now += 1
    see(heads, 90, 90, 90)
    clock.now += 19
    assert see(heads, 91, 91, 91) == 100
    clock.now += 1
    assert see(heads, 92, 92, 92) == 92
    clock.now += 2
    assert see(heads, 93, 93, 93) == 93


def test_a_rollback_that_ends_in_time_is_forgotten() -> None:
    heads, clock = tracker()
    see(heads, 100, 100, 100)
    for _ in range(5):
        clock.now += 5
        assert see(heads, 99, 99, 99) == 100
        clock.now += 5
        assert see(heads, 100, 100, 100) == 100


def test_an_endpoint_that_stands_still_does_not_hold_the_head_back() -> None:
    heads, clock = tracker("alpha", "beta")
    see(heads, 100, 100)
    for block in range(101, 115):
        clock.now += 2
        see(heads, block, 100)
    assert heads.head() == 114
    assert heads.is_lagging("beta")


def test_unhealthy_endpoints_have_no_vote() -> None:
    clock = Clock()
    sick = {"gamma", "beta"}
    heads = HeadTracker(LABELS, 2.0, clock=clock, is_healthy=lambda label: label not in sick)
    assert see(heads, 105, 50, 50) == 105


def test_lag_is_reported_apart_from_silence() -> None:
    heads, clock = tracker()
    see(heads, 100, 100, 90)
    assert heads.is_lagging("gamma")
    assert not heads.is_lagging("alpha")
    assert heads.is_behind("gamma", 95)
    assert not heads.is_behind("gamma", 90)
    clock.now += 4
    see(heads, 102)  # beta was not asked: it is credited with the time that passed
    assert not heads.is_lagging("beta")
    assert not heads.is_behind("beta", 102)
    clock.now += 60
    assert not heads.is_lagging("gamma")  # heard too long ago to say
    assert not heads.is_behind("gamma", 10**6)


@given(
    st.lists(
        st.tuples(st.sampled_from(LABELS), st.integers(-5, 400), st.floats(0, 5)),
        max_size=60,
    )
)
def test_no_sequence_of_answers_freezes_the_head(answers: list[tuple[str, int, float]]) -> None:
    heads, clock = tracker()
    for label, block, seconds in answers:
        heads.observe(label, block)
        clock.now += seconds
        head = heads.head()
        assert head is None or head in range(1, 401)
    # Whatever happened before: three endpoints that agree for a while are believed.
    for step in range(30):
        clock.now += 2
        see(heads, 1000 + step, 1000 + step, 1000 + step)
    assert heads.head() == 1029


def test_who_tells_a_block_that_the_others_cannot_have_reached_is_ahead() -> None:
    heads, clock = tracker()
    see(heads, 10**6, 100)
    assert not heads.is_ahead("alpha")  # one against one proves nothing
    assert not heads.is_agreed
    assert see(heads, 10**6, 100, 101) == 101
    assert heads.is_ahead("alpha")
    assert heads.is_out_of_step("alpha")
    assert heads.is_agreed
    assert not heads.is_ahead("beta")
    clock.now += 2
    see(heads, 102, 102, 102)
    assert not heads.is_ahead("alpha")


def test_the_first_to_see_new_blocks_is_not_ahead() -> None:
    heads, clock = tracker()
    see(heads, 100, 100, 100)
    clock.now += 4
    see(heads, 104)  # the others were heard two blocks ago, and keep twice the pace at most
    assert not heads.is_ahead("alpha")


def test_who_was_not_heard_is_doubted_only_while_most_others_agree() -> None:
    heads, clock = tracker()
    assert not heads.is_unreported("gamma")
    see(heads, 100)
    assert not heads.is_unreported("gamma")
    see(heads, 100, 101)
    assert heads.is_unreported("gamma")
    see(heads, 100, 101, 101)
    assert not heads.is_unreported("gamma")
    clock.now += 1000
    assert not heads.is_agreed
    see(heads, 600, 600)
    assert heads.is_unreported("gamma")


def test_one_endpoint_agrees_with_itself() -> None:
    heads, _ = tracker("alpha")
    assert not heads.is_agreed
    see(heads, 100)
    assert heads.is_agreed
    assert not heads.is_out_of_step("alpha")


@given(st.lists(st.integers(1, 1000), min_size=3, max_size=3))
def test_of_three_endpoints_the_middle_one_is_never_out_of_step(blocks: list[int]) -> None:
    heads, _ = tracker()
    see(heads, *blocks)
    middle = LABELS[blocks.index(sorted(blocks)[1])]
    assert not heads.is_ahead(middle)
    assert not heads.is_lagging(middle)


def test_two_of_three_who_differ_do_not_settle_the_head() -> None:
    heads, _ = tracker(block_time=0.4)
    assert see(heads, 10_000, 19_000) == 10_000
    assert see(heads, 10_000, 19_000, 19_001) == 19_000
    assert heads.is_lagging("alpha")
    assert not heads.is_lagging("beta")
