"""Tests are grouped for workers: every test once, a file in one group, few groups for what is dear to start."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.groups import LONG, SHARES, TOGETHER, arrange, plain_name

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[3]


class Item(SimpleNamespace):
    """As much of a collected test as its group is chosen by."""

    group: str

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        (self.group,) = mark.args


def collected(files: dict[str, int], fixtures: Iterable[str] = (), name: str = "test_x") -> list[Any]:
    return [
        Item(nodeid=f"{file}::{name}_{number}", name=name, fixturenames=list(fixtures))
        for file, count in files.items()
        for number in range(count)
    ]


def test_dear_files_are_dealt_evenly_and_begin_first() -> None:
    alike = {f"tests/faults/test_{letter}.py": 3 for letter in "abcdefgh"}
    on_postgresql = collected({"tests/unit/test_database.py": 2}, name="test_keys[postgresql]")
    items = [
        *collected({"tests/unit/test_few.py": 1, "tests/unit/test_many.py": 5}),
        *on_postgresql,
        *collected(alike, ["devnet"]),
        *collected({min(LONG): 1}, ["devnet"]),
    ]
    before = list(items)
    arrange(items)
    assert sorted(map(id, items)) == sorted(map(id, before))
    groups = list(dict.fromkeys(item.group for item in items))
    assert groups == [
        "long-0",
        *(f"devnet-{number}" for number in range(SHARES["devnet"])),
        "postgresql-0",
        "tests/unit/test_many.py",
        "tests/unit/test_few.py",
    ]
    assert {sum(item.group == group for item in items) for group in groups if "devnet" in group} == {
        len(alike) * 3 // SHARES["devnet"]
    }
    for file in alike:
        assert len({item.group for item in items if item.nodeid.startswith(file)}) == 1


def test_a_folder_that_stays_together_is_one_group() -> None:
    folder = min(TOGETHER)
    items = collected({f"{folder}/test_a.py": 1, f"{folder}/test_b.py": 1})
    arrange(items)
    assert {item.group for item in items} == {folder}


@pytest.mark.parametrize(
    ("reported", "plain"),
    [
        ("tests/a.py::test_x@tests/a.py", "tests/a.py::test_x"),
        ("tests/a.py::test_x[b@c]@devnet-1", "tests/a.py::test_x[b@c]"),
        ("tests/a.py::test_x[b@c]", "tests/a.py::test_x[b@c]"),
        ("tests/a.py::test_x", "tests/a.py::test_x"),
    ],
)
def test_reports_name_tests_without_their_group(reported: str, plain: str) -> None:
    assert plain_name(reported) == plain


def test_files_and_folders_that_are_named_exist() -> None:
    assert [name for name in (*LONG, *TOGETHER) if not (ROOT / name).exists()] == []
