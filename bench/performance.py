"""Writes the figures of docs/performance.md and its picture, from the files of two runs (`make performance`).

`python -m bench.performance BEFORE AFTER`: each file is what `python -m bench --json FILE` wrote. Only what stands
between the two markers of the page changes.
"""

from __future__ import annotations

import argparse
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from bench.results import Result, Run, number
from bench.rows import OF_ECHO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.results import Figure

_DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PICTURE = _DOCS / "performance.md", _DOCS / "performance.svg"
START, END = "<!-- measured -->", "<!-- /measured -->"

_COLOURS = ("#b7bfc9", "#2f6db3")
_LEFT, _WIDTH, _TOP, _STEP, _BAR = 370, 560, 60, 44, 14


def render(before: Run, after: Run) -> str:
    """Return the part of the page between the markers: goals, machine, all figures."""
    pairs = _pairs(before, after)
    lines = ["| row | what is to be reached | before | now | |", "|---|---|---|---|---|"]
    for old, new in pairs:
        for goal in new.goals:
            figures = [_cell(run.figures.get(goal.figure)) if run else "none" for run in (old, new)]
            lines.append(f"| {new.title} | {goal} | {figures[0]} | {figures[1]} | {new.verdict(goal)} |")
    lines += ["", "| | before | now |", "|---|---|---|"]
    lines.append(f"| commit | {before.commit} | {after.commit} |")
    lines.append(f"| day | {before.day} | {after.day} |")
    for name in after.machine:
        lines.append(f"| {name} | {before.machine.get(name, '')} | {after.machine[name]} |")
    lines += ["", "## All figures", "", "| row | figure | before | now |", "|---|---|---|---|"]
    for old, new in pairs:
        names = list(new.figures) or list(old.figures if old else ())
        for name in names:
            cells = [_cell(run.figures.get(name)) if run else "none" for run in (old, new)]
            lines.append(f"| {new.title} | {name} | {cells[0]} | {cells[1]} |")
    remarks = [f"- {new.title}: {_remark(old, new)}" for old, new in pairs if _remark(old, new)]
    return "\n".join([*lines, "", *remarks])


def _pairs(before: Run, after: Run) -> list[tuple[Result | None, Result]]:
    earlier = {result.name: result for result in before.results}
    return [(earlier.get(result.name), result) for result in after.results]


def _cell(figure: Figure | None) -> str:
    return "none" if figure is None else f"{number(figure.median)} ({number(figure.low)} to {number(figure.high)})"


def _remark(old: Result | None, new: Result) -> str:
    """Return what is remarked of the row, and of the version before where that differs."""
    if old is None or old.remark == new.remark:
        return new.remark
    return "; ".join(f"{name}: {text}" for name, text in (("before", old.remark), ("now", new.remark)) if text)


def draw(before: Run, after: Run) -> str:
    """Return the picture as SVG: how near each row comes to its bare echo, and what is to be reached."""
    goals = {
        new.name: bounds
        for new in after.results
        if (bounds := [goal.bound for goal in new.goals if goal.figure == OF_ECHO]) and OF_ECHO in new.figures
    }
    pairs = [pair for pair in _pairs(before, after) if pair[1].name in goals]
    shown = [run.figures[OF_ECHO].high for pair in pairs for run in pair if run and OF_ECHO in run.figures]
    scale = _WIDTH / max([1.0, *shown, *(bound for bounds in goals.values() for bound in bounds)])
    height = _TOP + _STEP * len(pairs) + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 60} {height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="22" font-size="14">processor time of the bare echo, over that of the row</text>',
    ]
    for place, (colour, name) in enumerate(zip(_COLOURS, ("before", "now"), strict=True)):
        parts.append(f'<rect x="{_LEFT + 90 * place}" y="34" width="{_BAR}" height="{_BAR}" fill="{colour}"/>')
        parts.append(f'<text x="{_LEFT + 90 * place + 20}" y="45">{name}</text>')
    parts.append(f'<line x1="{_LEFT + 187}" y1="32" x2="{_LEFT + 187}" y2="50" stroke="#b3402e" stroke-width="3"/>')
    parts.append(f'<text x="{_LEFT + 196}" y="45">to be reached</text>')
    for tenth in range(int(_WIDTH / scale * 5) + 1):
        x = _LEFT + tenth / 5 * scale
        bottom = height - 34
        parts.append(f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{tenth / 5:g}</text>')
    for place, (old, new) in enumerate(pairs):
        top = _TOP + 6 + place * _STEP
        parts.append(f'<text x="{_LEFT - 10}" y="{top + 18}" text-anchor="end">{escape(new.title)}</text>')
        for row, run in enumerate((old, new)):
            figure = run.figures.get(OF_ECHO) if run else None
            if figure is not None:
                parts += _bar(figure, top + row * (_BAR + 2), scale, _COLOURS[row])
        for bound in goals[new.name]:
            x = _LEFT + bound * scale
            parts.append(
                f'<line x1="{x:.1f}" y1="{top - 3}" x2="{x:.1f}" y2="{top + 33}" stroke="#b3402e" stroke-width="3"/>'
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bar(figure: Figure, top: float, scale: float, colour: str) -> Iterator[str]:
    """Yield a bar of the median, and a line from the lowest to the highest round."""
    low, high = _LEFT + figure.low * scale, _LEFT + figure.high * scale
    middle = top + _BAR / 2
    yield f'<rect x="{_LEFT}" y="{top}" width="{figure.median * scale:.1f}" height="{_BAR}" fill="{colour}"/>'
    yield f'<line x1="{low:.1f}" y1="{middle}" x2="{high:.1f}" y2="{middle}" stroke="#333"/>'


def main(before: Path, after: Path) -> int:
    """Rewrite page and picture."""
    runs = Run.read(before), Run.read(after)
    head, _, rest = PAGE.read_text().partition(START)
    _, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{START}\n{render(*runs)}\n{END}{tail}")
    PICTURE.write_text(draw(*runs))
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.performance", description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    given = parser.parse_args()
    sys.exit(main(given.before, given.after))
