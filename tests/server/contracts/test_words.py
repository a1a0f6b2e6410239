"""Decimal text of amounts is exact."""

from __future__ import annotations

from decimal import Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.contracts.words import decimal_text


@pytest.mark.parametrize(
    ("raw", "decimals", "text"),
    [
        (0, 18, "0"),
        (1, 18, "0.000000000000000001"),
        (10**18, 18, "1"),
        (1_500_000, 6, "1.5"),
        (123, 0, "123"),
        (-5, 1, "-0.5"),
        (2**256 - 1, 18, "115792089237316195423570985008687907853269984665640564039457.584007913129639935"),
        (1, 255, "0." + "0" * 254 + "1"),
    ],
)
def test_known_amounts(raw, decimals, text):
    assert decimal_text(raw, decimals) == text


@given(st.integers(-(2**256), 2**256), st.integers(0, 255))
def test_the_text_is_the_number(raw, decimals):
    text = decimal_text(raw, decimals)
    assert Decimal(text).scaleb(decimals, Context(prec=700)) == raw
    assert "e" not in text.lower()
    assert not ("." in text and text.endswith(("0", ".")))
