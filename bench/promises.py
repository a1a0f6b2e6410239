"""Promised figures, and how they are printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    Ask = Callable[[], Awaitable["Load"]]

    from bench.http_load import Load

ROUNDS = 7
"""Several short ones: two runs of the same program differ by up to a third on a shared machine, gRPC's most of all."""


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
    """Return the middle of the ratios of the two rates."""
    return _middle([right.rate / left.rate for left, right in await _in_turn(yardstick, bare, name, asked)])


async def measure_added(yardstick: str, bare: Ask, name: str, asked: Ask) -> float:
    """Return the middle of what the median latency of `asked` is above that of `bare`, in seconds."""
    return _middle([right.median - left.median for left, right in await _in_turn(yardstick, bare, name, asked)])


async def compare_medians(yardstick: str, bare: Ask, name: str, asked: Ask) -> float:
    """Return the middle of the ratios of the two median latencies."""
    return _middle([right.median / left.median for left, right in await _in_turn(yardstick, bare, name, asked)])


async def _in_turn(yardstick: str, bare: Ask, name: str, asked: Ask) -> list[tuple[Load, Load]]:
    """Measure both in turn, a few rounds, and print the middle of each.

    In turn, because what else the machine does changes from second to second and must fall on both alike.
    """
    rounds = [(await bare(), await asked()) for _ in range(ROUNDS)]
    for label, loads in zip((yardstick, name), zip(*rounds, strict=True), strict=True):
        show(label, sorted(loads, key=lambda load: load.rate)[ROUNDS // 2])
    return rounds


def _middle(figures: list[float]) -> float:
    return sorted(figures)[len(figures) // 2]


def judge(promises: Iterable[Promise]) -> bool:
    """Print the promises; return whether all are kept."""
    all_kept = True
    for promise in promises:
        sign = "at least" if promise.at_least else "at most"
        verdict = "kept" if promise.kept else "BROKEN"
        print(f"  {promise.name:<60}{promise.value:>8.2f}   {sign} {promise.bound:g}   {verdict}")
        all_kept = all_kept and promise.kept
    return all_kept
