"""One price out of several opinions (design section 7: a price that is disputed is absent, never 0)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from server.sources.prices.source import Observation

TOLERANCE = Decimal("0.05")
"""How far from the median, as a part of it, an opinion may lie and still count."""


@dataclass(frozen=True, slots=True)
class Price:
    """A price of one token.

    `value` is in the currency asked for; `updated_at` when the oldest input used was told (UTC); `sources` who told
    them, in alphabetical order.
    """

    value: Decimal
    updated_at: datetime
    sources: tuple[str, ...]


def settle(observations: Iterable[Observation]) -> Price | None:
    """Return the median of what the publishers tell, None where too few agree.

    Each publisher counts once, by what it told last. Opinions further from the median than `TOLERANCE` are dropped, and
    the median of the others counts if they are the majority; of two that contradict each other neither is believed.
    """
    latest: dict[str, Observation] = {}
    for one in observations:
        known = latest.get(one.publisher)
        if known is None or one.told_at > known.told_at:
            latest[one.publisher] = one
    if not latest:
        return None
    middle = median([one.value for one in latest.values()])
    agreed = [one for one in latest.values() if abs(one.value - middle) <= middle * TOLERANCE]
    if len(agreed) * 2 <= len(latest):
        return None
    return Price(
        value=median([one.value for one in agreed]),
        updated_at=min(one.told_at for one in agreed),
        sources=tuple(sorted(one.publisher for one in agreed)),
    )


def median(values: Sequence[Decimal]) -> Decimal:
    """Return the middle one of the values, the mean of the two middle ones where their number is even."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
