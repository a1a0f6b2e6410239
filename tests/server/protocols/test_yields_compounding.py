"""Percent per year of a rate that compounds every second, against decimals of a hundred places."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.protocols.yields import YEAR_SECONDS, apy_of_apr

# Of rates below that, hundred places hold less than a float does; they have a test of their own.
RATES = st.floats(min_value=-0.9, max_value=20).filter(lambda apr: apr == 0 or abs(apr) > 1e-60)


def by_decimals(apr: float) -> Decimal:
    """The percent per year of a fraction per year, by a logarithm of a hundred places."""
    with localcontext(prec=100):
        return ((1 + Decimal(apr) / 31_536_000).ln() * 31_536_000).exp() * 100 - 100


@pytest.mark.parametrize(
    ("apr", "percent"),
    [
        (0.0, 0.0),
        (0.035, 3.561970878),
        (0.05, 5.127109634),
        (1.0, 171.828178536),
        (-0.01, -0.995016627),
    ],
)
def test_known_rates(apr: float, percent: float) -> None:
    """The constant is Euler's: interest of 100 % comes to 171.8 %."""
    assert apy_of_apr(apr) == pytest.approx(percent, abs=2e-9)


def test_seconds_of_a_year_are_those_of_365_days() -> None:
    assert YEAR_SECONDS == 365 * 24 * 60 * 60


@given(apr=RATES)
def test_any_rate_is_right_to_twelve_places(apr: float) -> None:
    expected = by_decimals(apr)
    assert abs(Decimal(apy_of_apr(apr)) - expected) <= abs(expected) * Decimal("1e-12")


@given(exponent=st.floats(min_value=-300, max_value=-6))
def test_small_rates_do_not_vanish(exponent: float) -> None:
    """A naive power makes 0 of what is below the precision of one second."""
    apr = 10**exponent
    assert apy_of_apr(apr) == pytest.approx(apr * 100, rel=1e-5)
    assert apy_of_apr(-apr) == pytest.approx(-apr * 100, rel=1e-5)


@given(low=RATES, step=st.floats(min_value=1e-9, max_value=5))
def test_more_interest_is_a_higher_rate_and_never_less_than_simple_interest(low: float, step: float) -> None:
    assert apy_of_apr(low) < apy_of_apr(low + step)
    assert apy_of_apr(low) >= low * 100 - abs(low) * 1e-12


@pytest.mark.parametrize("apr", [1e6, -31_536_000.0, -1e9])
def test_what_cannot_be_a_rate_is_no_number(apr: float) -> None:
    """Readers turn these errors into contracts that returned what cannot be."""
    with pytest.raises((ArithmeticError, ValueError)):
        apy_of_apr(apr)
