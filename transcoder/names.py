"""The nearest known name, for messages about an unknown one."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 80


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name`, whatever its casing; None when none is near."""
    # Comparing is quadratic in length, and no name of ours is long.
    wanted = name[:LONGEST].lower()
    by_lower = {candidate.lower(): candidate for candidate in known}
    near = get_close_matches(wanted, by_lower, n=1, cutoff=0.6)
    return by_lower[near[0]] if near else None


def clipped(text: str) -> str:
    """Return the text, cut where it is too long to repeat in a message."""
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."
