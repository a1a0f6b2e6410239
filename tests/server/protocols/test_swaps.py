"""Amounts as callers write them: decimal text to integers and back, without loss."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.contracts.words import decimal_text
from server.errors import InvalidArgument
from server.protocols.swaps import alternatives, parse_amount

MOST = 2**256 - 1
DECIMALS = st.integers(0, 77)


@given(raw=st.integers(1, MOST), decimals=DECIMALS)
def test_integer_to_text_to_integer(raw: int, decimals: int) -> None:
    assert parse_amount(decimal_text(raw, decimals), decimals, MOST) == raw


@given(
    whole=st.text("0123456789", min_size=1, max_size=30),
    fraction=st.text("0123456789", max_size=40),
    decimals=DECIMALS,
)
def test_text_to_integer_to_text(whole: str, fraction: str, decimals: int) -> None:
    text = f"{whole}.{fraction}" if fraction else whole
    with localcontext() as context:
        context.prec = 200
        exact = Decimal(text)
        fits = (
            exact.scaleb(decimals) == exact.scaleb(decimals).to_integral_value() and 0 < exact.scaleb(decimals) <= MOST
        )
        if not fits:
            with pytest.raises(InvalidArgument) as caught:
                parse_amount(text, decimals, MOST)
            assert caught.value.field == "amount"
            return
        raw = parse_amount(text, decimals, MOST)
        assert Decimal(raw) == exact.scaleb(decimals)
        assert Decimal(decimal_text(raw, decimals)) == exact


@given(decimals=DECIMALS, most=st.integers(1, MOST))
def test_the_most_that_fits(decimals: int, most: int) -> None:
    assert parse_amount(decimal_text(most, decimals), decimals, most) == most
    with pytest.raises(InvalidArgument, match="at most"):
        parse_amount(decimal_text(most + 1, decimals), decimals, most)


@pytest.mark.parametrize("text", ["", ".", "-1", "+1", "1e3", " ", "0x1", "1.-5", "\u0661"])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_amount(text, 18, MOST)
    assert caught.value.field == "amount"


def test_alternatives_in_words() -> None:
    assert [alternatives(one) for one in ((500,), (500, 3000), (500, 3000, 10_000))] == [
        *("500", "500 or 3000", "500, 3000 or 10000")
    ]
