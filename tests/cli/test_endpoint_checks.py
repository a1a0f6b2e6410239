"""What the doctor says of this machine's clock."""

from __future__ import annotations

import pytest

from cli.endpoint_checks import MOST_SECONDS_OFF, check_clock


@pytest.mark.parametrize(
    ("offsets", "words"),
    [
        ([0.4, -0.2, 0.0], "right within 5 s by the Date headers of 3 endpoints"),
        # One endpoint's clock that is wrong is not this machine's.
        ([0.4, 3600.0, 0.1], "right within 5 s by the Date headers of 3 endpoints"),
        ([61.0, 60.0, 62.0, 0.0], "60 s behind by the Date headers of 4 endpoints"),
        ([-7.2], "7 s ahead by the Date headers of 1 endpoints"),
    ],
)
def test_the_clock_is_judged_by_most_endpoints(offsets: list[float], words: str) -> None:
    found = check_clock(offsets)
    assert found is not None
    assert found.words == words
    assert found.is_right == words.startswith("right")
    assert bool(found.fix) == (not found.is_right)


def test_without_a_header_nothing_is_known() -> None:
    assert check_clock([]) is None
    assert MOST_SECONDS_OFF < 60
