"""What an unknown name was probably meant to be."""

from __future__ import annotations

import random
import time
from difflib import get_close_matches

import pytest

from runtime.config_errors import NameIndex, nearest, nearest_few
from runtime.operations import load_operations


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


def test_names_that_are_like_all_others_cost_little() -> None:
    letters = list("svc_" + "ab_" * 36)
    shuffle = random.Random(3).shuffle
    known = []
    for _ in range(401):
        shuffle(letters)
        known.append("".join(letters))
    name = known.pop()
    began = time.process_time()
    # A batch of fifty such names took a quarter of a minute.
    for _ in range(50):
        nearest(name, known)
    assert time.process_time() - began < 4


def test_every_published_name_is_found_by_one_with_a_letter_wrong() -> None:
    names = [name for operation in load_operations() for name in (operation.name, *operation.aliases)]
    for name in names:
        middle = len(name) // 2
        meant = nearest(name[:middle] + "q" + name[middle + 1 :], names)
        (usual,) = get_close_matches((name[:middle] + "q" + name[middle + 1 :]).lower(), map(str.lower, names), n=1)
        assert meant is not None
        assert meant.lower() == usual


def test_an_index_finds_the_nearest_of_thousands_of_names_quickly() -> None:
    words = [
        "morpho",
        "aerodrome",
        "cow",
        "base",
        "usdc",
        "weth",
        "curve",
        "velodrome",
        "uniswap",
        "pancake",
        "vault",
        "gauntlet",
        "prime",
    ]
    pick = random.Random(5)
    known = sorted({"-".join(pick.choices(words, k=5)) + str(number % 7) for number in range(4000)})
    index = NameIndex(known)
    for name in pick.sample(known, 20):
        mistyped = name[:7] + name[8:]
        assert nearest_few(mistyped, index.similar(mistyped), most=3)[0] == name
    assert index.similar("qqq") == []
    assert index.similar("") == []
    for name in ("x" * 10**6, "morpho-" * 20, "-".join(words)):
        assert len(index.similar(name)) <= 16
        seconds = []
        for _ in range(5):
            began = time.process_time()
            nearest_few(name, index.similar(name), most=3, likeness=0.4)
            seconds.append(time.process_time() - began)
        # A look at each of the names takes 40 ms; this takes one or two.
        assert min(seconds) < 0.01
