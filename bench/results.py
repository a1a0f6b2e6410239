"""What a row of the benchmark came to: figures with their spread, its goal, and the file that keeps them."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Figure:
    """The median of all rounds, and the lowest and highest."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Figure:
    """Return the median of some values with their range; ValueError for none."""
    if not values:
        raise ValueError("no round was measured")
    return Figure(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Goal:
    """What the median of one of a row's figures has to be."""

    figure: str
    bound: float
    at_least: bool

    def is_reached(self, figure: Figure) -> bool:
        """Return whether the median keeps the bound."""
        return figure.median >= self.bound if self.at_least else figure.median <= self.bound

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.figure} {'>=' if self.at_least else '<='} {self.bound:.3g}"


@dataclass(frozen=True)
class Result:
    """A measured row: `figures` by name, in the order in which they are shown.

    `remark` says what else there is to know, or why there are no figures.
    """

    name: str
    title: str
    goals: tuple[Goal, ...] = ()
    figures: dict[str, Figure] = field(default_factory=dict)
    remark: str = ""

    def verdict(self, goal: Goal) -> str:
        """Return whether a goal is reached, or that it was not measured."""
        figure = self.figures.get(goal.figure)
        if figure is None:
            return "not measured"
        return "reached" if goal.is_reached(figure) else "missed"

    def lines(self) -> Iterable[str]:
        """Yield it as text: a line for each figure, and for each goal."""
        yield self.title
        for name, figure in self.figures.items():
            yield f"    {name:<44}{number(figure.median):>10}   ({number(figure.low)} to {number(figure.high)})"
        if self.remark:
            yield f"    {self.remark}"
        for goal in self.goals:
            yield f"    goal: {goal}: {self.verdict(goal)}"


def number(value: float) -> str:
    """Return a figure with three digits that count, and thousands set apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


@dataclass(frozen=True)
class Run:
    """All rows of one run, with what they were measured on."""

    commit: str
    day: str
    machine: dict[str, str]
    results: list[Result]

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2) + b"\n")

    def keep(self, earlier: Run, measured: Collection[str]) -> None:
        """Take over the rows of a run of the same commit that are not measured now."""
        if earlier.commit == self.commit:
            self.results.extend(result for result in earlier.results if result.name not in measured)

    @classmethod
    def read(cls, path: Path) -> Run:
        """Return what `write` wrote."""
        content = orjson.loads(path.read_bytes())
        content["results"] = [_result(one) for one in content["results"]]
        return cls(**content)


def _result(written: dict[str, Any]) -> Result:
    figures = {name: Figure(**figure) for name, figure in written["figures"].items()}
    goals = tuple(Goal(**goal) for goal in written["goals"])
    return Result(written["name"], written["title"], goals, figures, written["remark"])


def describe_machine() -> dict[str, str]:
    """Return what the machine is, and how much others made of it when the run began; it has no name here."""
    kinds = [line for line in _read("/proc/cpuinfo") if line.startswith("model name")]
    memory = next((line for line in _read("/proc/meminfo") if line.startswith("MemTotal")), "")
    gigabytes = f"{int(memory.split()[1]) / 2**20:.0f} GB" if memory else "unknown"
    return {
        "processor": kinds[0].partition(":")[2].strip() if kinds else platform.machine(),
        "processors": str(os.cpu_count()),
        "memory": gigabytes,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "others' load at the beginning (1, 5, 15 minutes)": " ".join(f"{load:.1f}" for load in os.getloadavg()),
    }


def commit_of(tree: Path | None) -> str:
    """Return the commit of a checkout, marked where files differ from it."""
    command = ("git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*")
    found = subprocess.run(command, cwd=tree or _ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def _read(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
