"""Processors by affinity and by quotas of control groups, of files as Linux writes them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.processors import count_processors, parse_quota, usable_processors

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


def groups(folder: Path, own: str | None, quotas: dict[str, str]) -> Path:
    """Write what `/proc` and `/sys` hold of a process in the group `own`; return the root of both."""
    if own is not None:
        (folder / "proc/self").mkdir(parents=True)
        (folder / "proc/self/cgroup").write_text(own)
    for group, text in quotas.items():
        (folder / "sys/fs/cgroup" / group).mkdir(parents=True, exist_ok=True)
        (folder / "sys/fs/cgroup" / group / "cpu.max").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("text", "processors"),
    [
        ("max 100000\n", None),
        ("150000 100000\n", 2),
        ("200000 100000\n", 2),
        ("200001 100000\n", 3),
        ("1000 100000\n", 1),
        ("50000 50000", 1),
        ("12800000 100000", 128),
        *[(odd, None) for odd in ("", "max", "150000", "0 100000", "1 0", "-1 100000", "1.5 1", "a b", "1 2 3", "٣ 1")],
    ],
)
def test_forms_of_a_quota(text: str, processors: int | None) -> None:
    assert parse_quota(text) == processors


def test_without_control_groups_the_affinity_counts(tmp_path: Path, eight: None) -> None:
    assert count_processors(tmp_path) == 8


@pytest.mark.parametrize(
    ("own", "quotas", "processors"),
    [
        ("0::/\n", {"": "max 100000"}, 8),
        ("0::/\n", {"": "150000 100000"}, 2),
        ("0::/\n", {"": "1000 100000"}, 1),
        ("0::/\n", {"": "900000 100000"}, 8),
        ("0::/a/b\n", {"a/b": "max 100000", "a": "300000 100000"}, 3),
        ("0::/a/b\n", {"a/b": "100000 100000", "a": "300000 100000"}, 1),
        ("0::/a/b\n", {"other": "100000 100000"}, 8),
        # A container that sees the path of outside, and its own quota at the root.
        ("0::/docker/0123\n", {"": "250000 100000"}, 3),
        ("0::/../up\n", {"": "250000 100000", "up": "100000 100000"}, 3),
        # Both versions beside each other, and version 1 alone.
        ("4:memory:/x\n1:cpu:/x\n0::/y\n", {"y": "200000 100000", "x": "100000 100000"}, 2),
        ("4:memory:/x\n1:cpu:/x\n", {"x": "100000 100000"}, 8),
        (None, {"": "200000 100000"}, 2),
        ("0::/\n", {"": "nonsense"}, 8),
    ],
)
def test_the_least_quota_of_a_group_and_those_above_it(
    tmp_path: Path, eight: None, own: str | None, quotas: dict[str, str], processors: int
) -> None:
    assert count_processors(groups(tmp_path, own, quotas)) == processors


def test_what_cannot_be_read_bounds_nothing(tmp_path: Path, eight: None) -> None:
    root = groups(tmp_path, "0::/\n", {})
    (root / "sys/fs/cgroup/cpu.max").mkdir(parents=True)
    assert count_processors(root) == 8
    (root / "proc/self/cgroup").write_bytes(b"0::/\xff\n")
    assert count_processors(root) == 8


def test_a_system_without_affinity_has_all_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert count_processors(tmp_path) == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert count_processors(tmp_path) == 1


def test_one_process_goes_by_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    first = usable_processors()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(first + 5)), raising=False)
    assert usable_processors() == first


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_a_process_that_is_kept_to_one_processor_has_one() -> None:
    program = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        " from runtime.processors import count_processors; print(count_processors())"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
