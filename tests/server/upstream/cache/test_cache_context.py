"""How an answer came about, whatever was said of its parts and in whatever order."""

from __future__ import annotations

from itertools import product

import pytest

from server.upstream.cache import CacheContext


def rule(said: tuple[str, ...], *, bypass: bool) -> str | None:
    """Say it as the documents do: stale before none, none before bypass, bypass before miss, miss before hit."""
    if "stale" in said:
        return "stale"
    if not said:
        return None
    if bypass:
        return "bypass"
    return "miss" if "miss" in said else "hit"


@pytest.mark.parametrize("bypass", [False, True])
def test_every_order_of_up_to_five_words(bypass: bool) -> None:
    for length in range(6):
        for said in product(("hit", "miss", "stale"), repeat=length):
            use = CacheContext(bypass=bypass)
            for word in said:
                getattr(use, word)()
            assert use.status == rule(said, bypass=bypass), said
