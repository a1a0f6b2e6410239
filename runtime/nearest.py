"""The known names that are most like an unknown one, for messages that say what was probably meant."""

from __future__ import annotations

from difflib import SequenceMatcher
from heapq import nlargest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Comparing is quadratic in length, and no name of ours is longer.
_LONGEST = 120
# So many are compared letter by letter: those that have most letters in common, which is found out in linear time.
_MOST_COMPARED = 16


def nearest(name: str, known: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """Return the known name most like `name`, whatever its casing; None when none is near.

    `likeness` is how alike names have to be, from 0 to 1.
    """
    near = nearest_few(name, known, most=1, likeness=likeness)
    return near[0] if near else None


def edits_between(name: str, other: str, *, most: int) -> int | None:
    """Return how many letters have to be added, removed, replaced or swapped with the next one; None beyond `most`."""
    if abs(len(name) - len(other)) > most:
        return None
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for row, letter in enumerate(name, 1):
        this = [row]
        for column, opposite in enumerate(other, 1):
            cost = min(last[column] + 1, this[column - 1] + 1, last[column - 1] + (letter != opposite))
            is_swapped = row > 1 and column > 1 and letter == other[column - 2] and name[row - 2] == opposite
            this.append(min(cost, before[column - 2] + 1) if is_swapped else cost)
        before, last = last, this
    return last[-1] if last[-1] <= most else None


def nearest_few(name: str, known: Iterable[str], *, most: int, likeness: float = 0.6) -> list[str]:
    """Return at most so many of the known names, the most like `name` first; see `nearest`."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    matcher = SequenceMatcher()
    matcher.set_seq2(name[:_LONGEST].lower()[:_LONGEST])
    hopeful: list[tuple[float, str]] = []
    for candidate in by_lower:
        matcher.set_seq1(candidate)
        if matcher.real_quick_ratio() >= likeness and (bound := matcher.quick_ratio()) >= likeness:
            hopeful.append((bound, candidate))
    rated: list[tuple[float, str]] = []
    for _, candidate in nlargest(_MOST_COMPARED, hopeful):
        matcher.set_seq1(candidate)
        rated.append((matcher.ratio(), candidate))
    return [by_lower[near] for ratio, near in nlargest(most, rated) if ratio >= likeness]
