"""The known names that are most like an unknown one, for messages that say what was probably meant."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Comparing is quadratic in length, and no name of ours is longer.
_LONGEST = 120


def nearest(name: str, known: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """Return the known name most like `name`, whatever its casing; None when none is near.

    `likeness` is how alike names have to be, from 0 to 1.
    """
    near = nearest_few(name, known, most=1, likeness=likeness)
    return near[0] if near else None


def nearest_few(name: str, known: Iterable[str], *, most: int, likeness: float = 0.6) -> list[str]:
    """Return at most so many of the known names, the most like `name` first; see `nearest`."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    return [by_lower[near] for near in get_close_matches(name[:_LONGEST].lower(), by_lower, n=most, cutoff=likeness)]
