from __future__ import annotations

from runtime.logs import LogLimit


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_one_in_a_minute_is_written_with_the_number_of_the_others() -> None:
    clock = Clock()
    limit = LogLimit(clock=clock)
    assert [limit.count("a") for _ in range(5)] == [0, None, None, None, None]
    assert limit.count("b") == 0
    clock.now += 59.9
    assert limit.count("a") is None
    clock.now += 0.1
    assert [limit.count("a"), limit.count("a")] == [5, None]
    assert limit.count("b") == 0


def test_memory_and_lines_are_bounded() -> None:
    clock = Clock()
    limit = LogLimit(capacity=10, clock=clock)
    written = [limit.count(number) for number in range(1000)]
    assert len(limit) <= 11
    assert [number for number in written if number is not None] == [0] * 11
    clock.now += 60
    # The oldest are forgotten for new ones.
    assert [limit.count(("new", number)) for number in range(5)] == [0] * 5
    assert len(limit) <= 11
