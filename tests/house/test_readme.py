"""The README is short, and what it and docs/operations.md list of operations is what the descriptors say."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

from runtime.operations import load_operations, load_watches
from scripts.operations_table import END, README, START, main, render_groups, render_page

_WORDS = 600
EVERYTHING = (*load_operations(), *load_watches())


def test_the_list_of_operations_is_current() -> None:
    text = README.read_text()
    assert START in text
    assert END in text
    assert main(check=True) == 0, "run `make operations`"


def test_operations_that_do_not_answer_are_not_listed_as_working() -> None:
    table, _, _ = render_page().partition("Not built yet")
    for operation in EVERYTHING:
        assert (f"| `{operation.name}` |" in table) == bool(operation.available), operation.name


def test_the_readme_has_a_line_for_each_group_and_few_words() -> None:
    groups = {operation.options.group for operation in EVERYTHING if operation.available}
    assert len(re.findall(r"^- \[", render_groups(), re.MULTILINE)) == len(groups)
    assert all(f"\n## {group}\n" in render_page() for group in groups)
    assert len(README.read_text().split()) <= _WORDS


def test_its_pictures_are_there_and_load_nothing_from_elsewhere() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+\.svg)\)", README.read_text())
    assert len(pictures) == 2
    for name in pictures:
        text = (Path(README).parent / name).read_text()
        ET.fromstring(text)
        assert set(re.findall(r"https?://[^\s\"<]+", text)) - {"http://www.w3.org/2000/svg"} == set(
            re.findall(r"http://127[^\s\"<]+", text)
        )
