"""How many workers `waypost serve` is asked for, and what its workers are given of that."""

from __future__ import annotations

import argparse

import pytest

from cli.__main__ import main
from cli.options import given_overrides, read_settings, worker_environment
from cli.serve import add_arguments
from runtime.settings import load_settings


@pytest.fixture(autouse=True)
def _six_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.settings.values.usable_processors", lambda: 6)
    for name in ("WAYPOST_CONFIG", "WAYPOST_WORKERS"):
        monkeypatch.delenv(name, raising=False)


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize(("given", "workers"), [("auto", 6), ("3", 3), ("1", 1), ("256", 256)])
def test_a_number_or_auto(given: str, workers: int) -> None:
    assert read_settings(parsed("--workers", given)).workers == workers


def test_without_the_option_there_is_one() -> None:
    assert read_settings(parsed()).workers == 1


def test_a_worker_is_given_the_number_that_its_parent_found() -> None:
    arguments = parsed("--workers", "auto")
    count = read_settings(arguments).workers
    environment = worker_environment({"WAYPOST_WORKERS": "auto"}, {**given_overrides(arguments), "workers": count})
    assert environment["WAYPOST_WORKERS"] == "6"
    assert load_settings(environ=environment).workers == 6


NOT_A_NUMBER = 'give a whole number from 1 to 256, or "auto"'


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ("many", NOT_A_NUMBER),
        ("", NOT_A_NUMBER),
        ("2.5", NOT_A_NUMBER),
        ("0", "give a number not below 1"),
        ("-2", "give a number not below 1"),
        ("257", "give a number not above 256"),
    ],
)
def test_another_value_is_refused_with_key_value_and_fix(
    given: str, fix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", f"--workers={given}"]) == 1
    error = capsys.readouterr().err
    assert f'config error: workers = "{given}"  (from the command line)' in error
    assert f"fix: {fix}" in error


def test_check_shows_the_number(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("WAYPOST_WORKERS", "auto")
    assert main(["check"]) == 0
    assert "workers        6\n" in capsys.readouterr().out
