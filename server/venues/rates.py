"""Funding rates in one shape for all venues, and the decimal figures that venues write as text."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from server.apis.endpoints import changed_shape

if TYPE_CHECKING:
    from collections.abc import Iterable

LIFETIME = 5.0
"""For how long rates are answered without reading the venue, in seconds."""

STALE_FOR = 300.0
"""How old rates get where the venue fails: their rows carry no time of their own."""

ANSWER_SECONDS = 10.0
"""How long a venue may take."""

HOURS_OF_YEAR = 24 * 365

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?")
_LONGEST = 80
_LONGEST_NAME = 128
# More than everything within an hour is none that a venue charges.
_LARGEST_RATE = 1


class FundingRate(NamedTuple):
    """The funding of one contract.

    `rate` is that of one hour as a fraction, `annualized` the same over a year, simple, in percent. `rate`,
    `mark_price` (US dollars) and `open_interest` (coins) are the venue's own figures as decimal text; "" where they are
    not read.
    """

    name: str
    rate: str
    annualized: float
    mark_price: str = ""
    open_interest: str = ""


def read_name(text: str, venue: str, member: str) -> str:
    """Return the name of a contract; UpstreamUnavailable (naming the member) for what can be none."""
    if not text or len(text) > _LONGEST_NAME or not text.isprintable():
        raise changed_shape(venue, f"`{member}` is no name")
    return text


def read_rate(text: str | None, venue: str, member: str) -> tuple[str, Decimal]:
    """Return the rate of an hour as text without exponent and as a number; UpstreamUnavailable for what is none."""
    written, rate = _read_number(text, venue, member)
    if abs(rate) > _LARGEST_RATE:
        raise changed_shape(venue, f"`{member}` is no rate of an hour")
    return written, rate


def read_amount(text: str | None, venue: str, member: str) -> str:
    """Return a price or an amount as text without exponent; UpstreamUnavailable for what is none."""
    written, amount = _read_number(text, venue, member)
    if amount < 0:
        raise changed_shape(venue, f"`{member}` is negative")
    return written


def annualize(rate: Decimal) -> float:
    """Return the rate of an hour over a year, simple, in percent."""
    # Not -0.0, as which a venue may write that nothing is paid.
    return float(rate * HOURS_OF_YEAR * 100) + 0.0


def in_order(rates: Iterable[FundingRate], venue: str, member: str) -> tuple[FundingRate, ...]:
    """Return the rates, largest absolute annualised rate first, equal ones by name.

    Raises:
        UpstreamUnavailable: there are none, or two of one name, where `member` lists the contracts.
    """
    ordered = tuple(sorted(rates, key=lambda one: (-abs(one.annualized), one.name)))
    if not ordered:
        raise changed_shape(venue, f"`{member}` has nothing that is traded")
    if len({one.name for one in ordered}) < len(ordered):
        raise changed_shape(venue, f"`{member}` names a contract twice")
    return ordered


def _read_number(text: str | None, venue: str, member: str) -> tuple[str, Decimal]:
    if text is None:
        raise changed_shape(venue, f"`{member}` is null")
    if len(text) <= _LONGEST and _NUMBER.fullmatch(text):
        number = Decimal(text)
        written = format(number, "f") if "e" in text.lower() else text
        if len(written) <= _LONGEST:
            return written, number
    raise changed_shape(venue, f"`{member}` is no decimal text")
