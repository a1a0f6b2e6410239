"""A test process that dies costs the run the one test that it was in."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFTEST = """
import tests.distribution

tests.distribution.wants_all_chains = lambda scope: "chains" in scope

def pytest_xdist_make_scheduler(config, log):
    return tests.distribution.FolderOrFile(config, log)
"""
DEADLY = """
import os, signal, pytest

@pytest.mark.parametrize("turn", range(6))
def test_one(turn):
    if turn == {turn}:
        os.kill(os.getpid(), signal.SIGKILL)
"""
QUIET = """
import time, pytest

@pytest.mark.parametrize("turn", range(3))
def test_one(turn):
    time.sleep(0.01)
"""


@pytest.mark.parametrize(
    "deaths",
    [{"test_0.py": 2}, {"test_9.py": 5}, {"test_9_chains.py": 0}, {"test_0_chains.py": 0, "test_5.py": 5}],
    ids=["in the midst", "the very last", "the first with all chains", "two"],
)
def test_what_a_dead_process_had_not_begun_runs_elsewhere(tmp_path: Path, deaths: dict[str, int]) -> None:
    quiet = {f"test_{number}{kind}.py" for number in range(10) for kind in ("", "_chains")} - set(deaths)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name in quiet:
        (tmp_path / name).write_text(QUIET)
    for name, turn in deaths.items():
        (tmp_path / name).write_text(DEADLY.format(turn=turn))
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-n", "3", "--dist", "loadfile", "--color=no"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    passed = re.findall(r"PASSED (\S+)", ran.stdout)
    expected = {f"{name}::test_one[{turn}]" for name in quiet for turn in range(3)}
    expected |= {f"{name}::test_one[{turn}]" for name, dead in deaths.items() for turn in range(6) if turn != dead}
    assert sorted(passed) == sorted(expected), ran.stdout
    failed = set(re.findall(r"crashed while running '(\S+)'", ran.stdout))
    assert failed == {f"{name}::test_one[{dead}]" for name, dead in deaths.items()}
    assert ran.returncode == 1
