"""Promised figures, and how they are printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    Ask = Callable[[], Awaitable["Load"]]

    from bench.http_load import Load

ROUNDS = 3


@dataclass(frozen=True)
class Promise:
    """One promised figure: what it is, what was measured, and the bound it has to keep."""

    name: str
    value: float
    bound: float
    at_least: bool

    @property
    def kept(self) -> bool:
        """Whether the measured figure keeps the bound."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def show(name: str, load: Load) -> Load:
    """Print what one load measured, and return it."""
    print(f"  {name:<52}{load.rate:>10.0f} /s{load.median * 1000:>10.2f} ms", flush=True)
    return load


async def compare(yardstick: str, bare: Ask, name: str, asked: Ask) -> float:
    """Measure both in turn, a few rounds, print the middle of each, and return the middle of the ratios of the rates.

    In turn, because what else the machine does changes from second to second and must fall on both alike.
    """
    rounds = [(await bare(), await asked()) for _ in range(ROUNDS)]
    middle = ROUNDS // 2
    show(yardstick, sorted((left for left, _ in rounds), key=lambda load: load.rate)[middle])
    show(name, sorted((right for _, right in rounds), key=lambda load: load.rate)[middle])
    return sorted(right.rate / left.rate for left, right in rounds)[middle]


def judge(promises: Iterable[Promise]) -> bool:
    """Print the promises; return whether all are kept."""
    all_kept = True
    for promise in promises:
        sign = "at least" if promise.at_least else "at most"
        verdict = "kept" if promise.kept else "BROKEN"
        print(f"  {promise.name:<60}{promise.value:>8.2f}   {sign} {promise.bound:g}   {verdict}")
        all_kept = all_kept and promise.kept
    return all_kept
