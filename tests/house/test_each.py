"""Many cases in one test: every one of them is run, every failed one is named."""

from __future__ import annotations

import pytest

from tests.each import each


def test_every_case_runs_and_every_failure_is_named() -> None:
    ran = []

    @each([("a", 1), ("b", 2), ("c", 3)], name=lambda case: f"number {case[1]}")
    def is_even(letter: str, number: int) -> None:
        ran.append(letter)
        assert number % 2 == 0

    with pytest.raises(ExceptionGroup, match="2 of 3 cases failed") as caught:
        is_even()
    assert ran == ["a", "b", "c"]
    assert [failure.__notes__ for failure in caught.value.exceptions] == [["case number 1"], ["case number 3"]]
    assert is_even.__name__ == "is_even"


def test_no_case_is_a_failure() -> None:
    @each([])
    def of_nothing(case: object) -> None:
        raise AssertionError(case)

    with pytest.raises(AssertionError, match="there is no case"):
        of_nothing()


@pytest.fixture
def shared() -> list[int]:
    return []


@each([1, 2, 3])
def test_cases_come_before_fixtures_which_they_share(case: int, shared: list[int]) -> None:
    shared.append(case)
    assert shared == list(range(1, case + 1))


async def test_cases_of_coroutines() -> None:
    ran = []

    @each([1, 2])
    async def fails(case: int) -> None:
        ran.append(case)
        pytest.fail(f"{case} is refused")

    for _ in range(2):
        with pytest.raises(BaseExceptionGroup, match="2 of 2 cases failed"):
            await fails()
    assert ran == [1, 2, 1, 2]
