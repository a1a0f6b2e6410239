"""Configuration that is refused: the key, the value, what to write instead and which known name is nearest."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from heapq import nlargest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# Comparing is quadratic in length, and no name of ours is longer.
_LONGEST = 120
# So many are compared letter by letter: those that have most letters in common, which is found out in linear time.
_MOST_COMPARED = 16
# What names of thousands are found again by, and so many of these of an unknown name: it may be of any length.
_RUN = 3
_MOST_RUNS = 32


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


class NameIndex:
    """Thousands of names by their runs of three letters: which ones an unknown name may mean, without a look at each.

    A look at each takes 10 us. Here the time goes with the names that hold a run of the unknown one, a tenth of a
    microsecond for each run and name.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(names)
        self._by_run: dict[str, list[int]] = {}
        for place, name in enumerate(self._names):
            for run in _runs(name.lower()):
                self._by_run.setdefault(run, []).append(place)

    def similar(self, name: str) -> list[str]:
        """Return the few names that share most runs with this one, for `nearest_few` to choose from."""
        runs = sorted(_runs(name[:_LONGEST].lower()))
        step = -(-len(runs) // _MOST_RUNS)
        shared: Counter[int] = Counter()
        for run in runs[:: step or 1]:
            shared.update(self._by_run.get(run, ()))
        return [self._names[place] for place, _ in shared.most_common(_MOST_COMPARED)]


def _runs(name: str) -> set[str]:
    return {name[at : at + _RUN] for at in range(max(1, len(name) - _RUN + 1))}


class ConfigError(Exception):
    """A configuration mistake, reported so that the operator can correct it without reading code.

    `key` is the dotted key (`http.port`, `chains.ethereum.endpoints[0].url`), `value` the value as it may be shown
    (secrets and URLs hidden), `fix` what to write instead, `origin` where the value came from (a file, an environment
    variable, a command-line option) when that is known. `others` are further mistakes of the same configuration.
    """

    def __init__(
        self, key: str, value: str, fix: str, *, origin: str | None = None, others: Sequence[ConfigError] = ()
    ) -> None:
        super().__init__(key, value, fix)
        self.key = key
        self.value = value
        self.fix = fix
        self.origin = origin
        self.others = tuple(others)

    def __str__(self) -> str:
        stated = f"{self.key} = {self.value}" if self.value else self.key
        return f"{stated} (from {self.origin}): {self.fix}" if self.origin else f"{stated}: {self.fix}"

    def every(self) -> tuple[ConfigError, ...]:
        """Return this mistake and the others found with it."""
        return (self, *self.others)


class Refusal(ValueError):
    """What a settings validator raises: the member it is about, the value as it may be shown, and the fix.

    `member` is relative to the model that raises, empty for the model or field itself; `value` None leaves showing the
    value to the caller, which hides what is secret.
    """

    def __init__(self, fix: str, *, member: str = "", value: str | None = None) -> None:
        super().__init__(fix)
        self.fix = fix
        self.member = member
        self.value = value


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean "x"?)` for the nearest known word, or an empty text."""
    match = nearest(word, known)
    return f' (did you mean "{match}"?)' if match else ""
