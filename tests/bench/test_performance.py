"""The page and the picture show what two runs found."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from bench import performance
from bench.results import Figure, Goal, Result, Run
from bench.rows import OF_ECHO

if TYPE_CHECKING:
    from pathlib import Path

GOAL = Goal(OF_ECHO, 0.85, True)
MACHINE = {"processors": "2"}


def run(commit: str, *results: Result) -> Run:
    return Run(commit, "2026-01-02", MACHINE, list(results))


BEFORE = run("aaaa0000", Result("old", "old block", (GOAL,), {OF_ECHO: Figure(0.5, 0.4, 0.6)}))
AFTER = run(
    "bbbb1111",
    Result("old", "old block", (GOAL,), {OF_ECHO: Figure(0.9, 0.8, 1.1)}, "233 bytes"),
    Result("execute", "fifty & one", (Goal("us", 45, False),), {"us": Figure(44, 43, 46)}),
)


def test_the_page_has_every_goal_before_and_now() -> None:
    text = performance.render(BEFORE, AFTER)
    assert "| old block | of the echo >= 0.85 | 0.50 (0.40 to 0.60) | 0.90 (0.80 to 1.10) | reached |" in text
    assert "| fifty & one | us <= 45 | none | 44.0 (43.0 to 46.0) | reached |" in text
    assert "| commit | aaaa0000 | bbbb1111 |" in text
    assert "- old block: now: 233 bytes" in text


def test_the_picture_has_a_bar_for_each_run_and_a_line_for_the_goal() -> None:
    picture = ElementTree.fromstring(performance.draw(BEFORE, AFTER))
    space = "{http://www.w3.org/2000/svg}"
    bars = [float(one.get("width", "0")) for one in picture.iter(f"{space}rect") if one.get("height") == "14"][2:]
    assert len(bars) == 2
    assert bars[1] / bars[0] == pytest.approx(0.9 / 0.5, rel=1e-3)
    assert any(one.text == "old block" for one in picture.iter(f"{space}text"))


def test_only_what_stands_between_the_markers_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, picture = tmp_path / "performance.md", tmp_path / "performance.svg"
    page.write_text(f"# Title\n\n{performance.START}\nold\n{performance.END}\n\nend\n")
    monkeypatch.setattr(performance, "PAGE", page)
    monkeypatch.setattr(performance, "PICTURE", picture)
    BEFORE.write(tmp_path / "before.json")
    AFTER.write(tmp_path / "after.json")
    assert performance.main(tmp_path / "before.json", tmp_path / "after.json") == 0
    text = page.read_text()
    assert text.startswith(f"# Title\n\n{performance.START}\n| row |")
    assert text.endswith(f"{performance.END}\n\nend\n")
    assert picture.read_text() == performance.draw(BEFORE, AFTER)
