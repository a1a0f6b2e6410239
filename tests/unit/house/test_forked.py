"""Tests in forked processes: each is run once and reported, also where its process does not live to do so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import HOLDERS, LONG, TOGETHER, Group, Queue

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]
CONFTEST = """
import os
import pytest
from tests import forked

def pytest_addoption(parser):
    forked.add_options(parser)

@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    forked.run(session, forked.count(session.config))
    return True

@pytest.fixture(scope="session")
def held():
    yield os.getpid()
    raise RuntimeError("the session's fixture does not end")
"""
TESTS = """
import os
import pytest

def test_passes(tmp_path):
    (tmp_path / "mine").touch()

def test_fails():
    print("what was printed")
    assert 1 == 2

def test_is_skipped():
    pytest.skip("it says why")

def test_ends_its_process():
    os._exit(3)

def test_after_it():
    pass
"""
HELD = """
def test_first(held):
    pass

def test_second(held):
    pass
"""
ALONE = """
import pytest
from pathlib import Path

@pytest.mark.alone("it says why")
def test_alone():
    assert Path("beside").exists()
"""
BESIDE = """
import time
from pathlib import Path

def test_beside():
    time.sleep(0.2)
    Path("beside").touch()
"""


def run(folder: Path, *options: str, **files: str) -> str:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = alone(why)\n")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-ra", *options]
    environ = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=100)
    return done.stdout + done.stderr


def test_each_test_is_reported_once_and_what_follows_a_lost_process_is_run(tmp_path: Path) -> None:
    told = run(tmp_path, "--processes=2", test_one=TESTS, test_two=TESTS)
    assert "4 failed, 4 passed, 2 skipped" in told
    for file in ("test_one", "test_two"):
        assert f"FAILED {file}.py::test_fails - assert 1 == 2" in told
        assert f"FAILED {file}.py::test_ends_its_process" in told
    assert len(re.findall(r"test process \d+ ended by itself \(exit code 3\)", told)) >= 2
    assert told.count("what was printed") == 4  # the line of the source, and what is captured, of both


def test_the_sessions_fixtures_end_with_their_process_and_their_failures_are_reported(tmp_path: Path) -> None:
    told = run(tmp_path, "--processes=1", test_held=HELD)
    assert "2 passed, 1 error" in told
    assert "the session's fixture does not end" in told


def test_those_that_stand_alone_run_at_the_end(tmp_path: Path) -> None:
    assert "2 passed" in run(tmp_path, "--processes=2", test_alone=ALONE, test_beside=BESIDE)


def test_a_run_stops_at_the_first_failure_where_it_shall(tmp_path: Path) -> None:
    told = run(tmp_path, "--processes=1", "-x", test_one=TESTS)
    assert "1 failed, 1 passed" in told
    assert "stopping after 1 failures" in told


@pytest.mark.parametrize("asked", ["-1", "many"])
def test_a_number_of_processes_that_is_none_is_refused(tmp_path: Path, asked: str) -> None:
    assert f"--processes {asked}: give a number or `auto`" in run(tmp_path, f"--processes={asked}", test_held=HELD)


def test_what_is_dear_is_held_by_few_and_nothing_is_left_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HOLDERS, "nodes", 1)
    queue = Queue([Group("plain", [0]), Group("one", [1], dear={"nodes"}), Group("two", [2], dear={"nodes"})])
    first, second, third = queue.take(0), queue.take(1), queue.take(0)
    assert [group.name for group in (first, second, third) if group] == ["one", "plain", "two"]
    assert queue.take(0) is None
    again = Queue([Group("one", [1], dear={"nodes"}), Group("two", [2], dear={"nodes"})])
    held = again.take(0)
    assert held is not None
    assert again.take(1) is None  # the holder comes for it
    again.put_back(held)
    again.forget(0)
    assert again.take(1) is held


def test_files_and_folders_that_are_named_exist() -> None:
    assert [name for name in (*LONG, *TOGETHER) if not (ROOT / name).exists()] == []
