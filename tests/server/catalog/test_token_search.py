"""Searching tokens: canonical ones first, one per symbol, ranked as the page says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.catalog.token_search import TokenSearch
from server.catalog.tokens import load_tokens

CATALOGUE = load_tokens()
SEARCH = TokenSearch(CATALOGUE)


def symbols(text: str, limit: int = 100) -> list[str]:
    return [match.symbol for match in SEARCH.find(text, limit)]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("usdc", ["USDC", "USDC.e", "USDC.inj"]),
        ("USDC.E", ["USDC.e"]),
        ("  usd   coin ", ["USDC"]),
        ("eth", ["ETH", "ETHV", "ETHW", "WETH", "wstETH"]),
        ("link", ["LINK", "stLINK", "LINK.e", "allLINK"]),
        ("chainlink", ["LINK"]),
        ("staked", ["wstETH", "sUSDe", "cbETH", "stETH"]),
        ("sss", ["SSS"]),
        ("tether usd", ["USDT", "USDT0"]),
        ("nothing of that name", []),
        ("   ", []),
    ],
)
def test_the_best_come_first(text: str, first: list[str]) -> None:
    assert symbols(text)[: len(first)] == first
    assert bool(symbols(text)) == bool(first)


def test_forms_name_the_token_that_they_are_of() -> None:
    form = SEARCH.find("USDC.e", 1)[0]
    assert (form.id, form.name, form.price, form.is_canonical) == ("usdc:usdc.e", "USD Coin", "USDC", False)
    assert {row.symbol for row in form.deployments} == {"USDC.e"}
    token = SEARCH.find("usdc", 1)[0]
    assert (token.id, token.is_canonical) == ("usdc", True)
    assert token.deployments == CATALOGUE.by_symbol["USDC"].deployments
    assert SEARCH.find("BTCB", 1)[0].price is None


@given(st.text(max_size=12), st.integers(1, 100))
def test_whatever_is_asked(text: str, limit: int) -> None:
    found = SEARCH.find(text, limit)
    assert len(found) <= limit
    keys = [match.symbol.casefold() for match in found]
    assert len(set(keys)) == len(keys)
    canonical = [match.is_canonical for match in found]
    assert canonical == sorted(canonical, reverse=True)
    wanted = " ".join(text.split()).casefold()
    assert all(wanted in match.symbol.casefold() or wanted in match.name.casefold() for match in found)
    everything = SEARCH.find(text, 1000)
    assert found == everything[:limit]


@given(st.sampled_from([token.symbol for token in CATALOGUE]), st.data())
def test_casing_does_not_matter(symbol: str, data: st.DataObject) -> None:
    written = "".join(letter.swapcase() if data.draw(st.booleans()) else letter for letter in symbol)
    assert symbols(written) == symbols(symbol)
    assert symbols(written)[0] == symbol
