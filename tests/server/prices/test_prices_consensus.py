"""One price out of several opinions, computed again in exact fractions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.prices.prices import Price, convert, settle
from server.prices.source import Observation

NOW = datetime(2027, 1, 15, 8, tzinfo=UTC)


def reported(publisher: str, value: str, age: int = 0) -> Observation:
    return Observation("ETH", publisher, Decimal(value), NOW - timedelta(seconds=age))


def test_nobody_tells_nothing():
    assert settle([]) is None


def test_one_alone_is_believed():
    price = settle([reported("a", "2512.34567891", 7)])
    assert price == Price(Decimal("2512.34567891"), NOW - timedelta(seconds=7), ("a",))


def test_the_middle_one_counts_and_the_oldest_input_dates_it():
    price = settle([reported("c", "101", 9), reported("a", "99", 3), reported("b", "100", 600)])
    assert price == Price(Decimal(100), NOW - timedelta(seconds=600), ("a", "b", "c"))


@pytest.mark.parametrize("factor", ["10", "0.1", "1.06", "0.94"])
def test_one_that_lies_is_dropped_with_its_time(factor: str):
    lie = reported("liar", str(Decimal(100) * Decimal(factor)), age=5000)
    price = settle([reported("a", "100", 1), lie, reported("b", "100.5", 2)])
    assert price == Price(Decimal("100.25"), NOW - timedelta(seconds=2), ("a", "b"))


def test_of_two_that_contradict_each_other_neither_is_believed():
    assert settle([reported("a", "100"), reported("b", "1000")]) is None
    assert settle([reported("a", "100"), reported("b", "112")]) is None
    assert settle([reported("a", "100"), reported("b", "110")]) is not None


def test_without_a_majority_there_is_no_price():
    assert settle([reported("a", "1"), reported("b", "2"), reported("c", "3")]) is None
    assert settle([reported("a", "100"), reported("b", "100"), reported("c", "10"), reported("d", "10")]) is None


def test_a_publisher_counts_once_by_what_it_reported_last():
    liar_twice = [reported("liar", "1000", 2), reported("liar", "1000", 1), reported("liar", "900", 9)]
    price = settle([*liar_twice, reported("a", "100"), reported("b", "100")])
    assert price is not None
    assert price.value == 100
    assert price.sources == ("a", "b")


@settings(deadline=None)
@given(st.lists(st.decimals("0.000001", "1000000", allow_nan=False, places=6), min_size=1, max_size=9))
def test_the_price_is_the_median_of_those_near_the_median(values: list[Decimal]):
    price = settle([reported(f"p{number}", str(value)) for number, value in enumerate(values)])
    exact = [Fraction(value) for value in values]
    middle = median(exact)
    near = [value for value in exact if abs(value - middle) * 20 <= middle]
    if len(near) * 2 <= len(exact):
        assert price is None
    else:
        assert price is not None
        # The mean of two numbers of 28 digits at most is rounded to 28 digits.
        assert abs(Fraction(price.value) - median(near)) <= median(near) / 10**25
        assert len(price.sources) == len(near)


def test_conversion_divides_and_takes_the_older_time():
    rate = Price(Decimal("1.0845"), NOW - timedelta(hours=3), ("bank",))
    euros = convert(Price(Decimal("2512.34567891"), NOW, ("a", "b")), rate)
    assert abs(Fraction(euros.value) - Fraction("2512.34567891") / Fraction("1.0845")) < Fraction(1, 10**20)
    assert euros.updated_at == NOW - timedelta(hours=3)
    assert euros.sources == ("a", "b", "bank")
