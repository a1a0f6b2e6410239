from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from cli.__main__ import COMMANDS, load_command, main
from cli.options import merge
from runtime.operations import load_operations, load_watches
from runtime.version import VERSION

ROOT = Path(__file__).parents[2]
EVERYTHING = (*load_operations(), *load_watches())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = load_command(name)
    assert command.__doc__
    assert f"waypost {name}" in command.__doc__
    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])
    assert caught.value.code == 0
    assert COMMANDS[name] in capsys.readouterr().out


@pytest.mark.parametrize("argv", [[], ["nothing"], ["serve", "--nothing"], ["call"], ["keys"], ["check", "extra"]])
def test_wrong_usage_is_exit_code_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert "usage: waypost" in capsys.readouterr().err


def test_the_wrapper_runs_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "cli.py").write_text("raise SystemExit('shadowed')")
    done = subprocess.run(
        [str(ROOT / "waypost"), "methods", "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == len(EVERYTHING)


def test_what_does_not_serve_chains_does_without_the_server_and_its_database() -> None:
    """Imported they take seconds of a loaded machine's time: of `call`, a transcoder, the parent of workers."""
    program = """
import sys
from cli import __main__
from cli.__main__ import load_command
for name in ("call", "transcoder", "serve", "methods", "devnet"):
    load_command(name)
print(*sorted({"server.app", "sqlalchemy", "alembic"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_methods_lists_every_operation_with_its_state(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows.keys() == {operation.name for operation in EVERYTHING}
    for operation in EVERYTHING:
        row = rows[operation.name]
        assert set(row["available"]) == operation.available
        assert (row["state"] == "planned") == (not operation.available)
        assert (row["state"] == "available") == (operation.available == operation.families)


def test_methods_lists_what_is_published(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "--published"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 133
    assert lines[0].split() == ["svc_cbeth_ethereum_cbeth_call_allowance", "allowance(address,address)"]
    assert main(["methods", "--published", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert len(rows) == 133
    assert rows["svc_erc20_erc20api_getLogs_Transfer"] == {
        "name": "svc_erc20_erc20api_getLogs_Transfer",
        "app": "erc20",
        "operation": "getLogs",
        "signature": "Transfer(address,address,uint256)",
        "chain": None,
        "address": None,
    }


def test_methods_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "--available"]) == 0
    text = capsys.readouterr().out
    assert "not yet" not in text
    for operation in EVERYTHING:
        assert (f"  {operation.name} " in text) == bool(operation.available)


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"Waypost {VERSION}\n"
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "runtime.version.VERSION"}


def test_a_reader_that_goes_away_is_no_crash() -> None:
    script = f"{sys.executable} -m cli methods | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr


def test_merge_keeps_what_the_stronger_does_not_say() -> None:
    weak = {"a": {"b": 1, "c": 2}, "d": 3}
    assert merge(weak, {"a": {"b": 5}, "e": 6}) == {"a": {"b": 5, "c": 2}, "d": 3, "e": 6}
    assert weak == {"a": {"b": 1, "c": 2}, "d": 3}
