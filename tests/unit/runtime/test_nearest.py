"""What an unknown name was probably meant to be."""

from __future__ import annotations

import pytest

from runtime.nearest import nearest, nearest_few


@pytest.mark.parametrize(
    ("name", "near"), [("adress", "address"), ("CHAIN", "chain"), ("qqq", None), ("a" * 10**6, None)]
)
def test_the_nearest_name(name: str, near: str | None) -> None:
    assert nearest(name, ["chain", "address", "blockHeight"]) == near


def test_the_nearest_few_come_in_their_order() -> None:
    known = ["uniswap-v2", "Uniswap-v3", "aave-v3"]
    assert nearest_few("uniswap-V3", known, most=2) == ["Uniswap-v3", "uniswap-v2"]
    assert nearest_few("zzz", known, most=2) == []
    assert nearest("uniswap-v3", known, likeness=1.0) == "Uniswap-v3"
    assert nearest("uniswap-v4", known, likeness=1.0) is None


def test_long_names_are_compared_by_their_beginning() -> None:
    assert nearest("a" * 1_000_000, ["a" * 120]) == "a" * 120
