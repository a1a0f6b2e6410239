"""What is printed on a terminal, and that elsewhere it is plain; errors of every command as JSON."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.__main__ import COMMANDS, main
from cli.terminal import Cell, paint_json, table

ROOT = Path(__file__).parents[2]
ESCAPE = re.compile(r"\x1b\[\d*m")


def on_terminal(folder: Path, *arguments: str, **variables: str) -> str:
    """Return what `waypost` writes to a terminal."""
    master, slave = pty.openpty()
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONUTF8": "1",
        "WAYPOST_STORAGE__URL": f"sqlite:///{folder}/waypost.db",
        **variables,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "cli", *arguments], cwd=ROOT, env=environ, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    written = b""
    while True:
        try:
            part = os.read(master, 1 << 16)
        except OSError:  # what Linux answers once the other side is closed
            break
        if not part:
            break
        written += part
    os.close(master)
    process.wait(60)
    return written.decode().replace("\r\n", "\n")


def piped(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_a_terminal_has_colours_and_lines_and_all_else_is_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = piped("apps", "list", capsys=capsys)
    assert "\x1b" not in plain
    assert plain.isascii()
    shown = on_terminal(tmp_path, "apps", "list", TERM="xterm-256color")
    assert ESCAPE.search(shown)
    heading, rule, *rows = ESCAPE.sub("", shown).splitlines()
    assert set(rule) == {"\u2500", " "}
    assert heading.split() == ["app", "methods", "kind", "name"]
    assert rows == plain.splitlines()


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}, {}])
def test_a_terminal_that_may_have_no_colours_is_as_a_pipe(
    variables: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert on_terminal(tmp_path, "apps", "list", **variables) == piped("apps", "list", capsys=capsys)


def test_errors_are_red_on_a_terminal(tmp_path: Path) -> None:
    shown = on_terminal(tmp_path, "apps", "proto", "none", TERM="xterm")
    assert shown.startswith("\x1b[31mno app with the appId none")


def test_columns_are_as_wide_as_what_they_hold() -> None:
    rows = [("a", Cell("1", "bad")), ("long", Cell("200", "good"))]
    text = table(("name", "n"), rows, right={1}, details=[["more"], []])
    assert text == "name    n\na       1\n      more\nlong  200"
    assert table(("name", "n"), []) == "name  n"


def test_json_is_coloured_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    document = '{"a \\" b": [1, "x: y"], "c": {"d": null}}'
    assert paint_json(document) == document
    monkeypatch.setattr("cli.terminal.is_styled", lambda stream=None: True)
    painted = paint_json(document)
    assert ESCAPE.sub("", painted) == document
    assert painted.count("\x1b[36m") == 3


WITH_JSON = {
    "keys": ["keys", "list"],
    "usage": ["usage"],
    "check": ["check"],
    "doctor": ["doctor"],
    "registry": ["registry", "verify", "--chain", "base"],
    "apps": ["apps", "list"],
    "methods": ["methods", "--published"],
    "reload": ["reload"],
}


@pytest.mark.parametrize("name", sorted(WITH_JSON))
def test_errors_are_one_json_document_where_that_is_asked_for(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert name in COMMANDS
    path = tmp_path / "waypost.toml"
    path.write_text("[http]\nport = 99999\n")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("WAYPOST_STORAGE__URL", f"sqlite:///{tmp_path}/waypost.db")
    assert main([*WITH_JSON[name], "--config", str(path), "--json"]) == 1
    captured = capsys.readouterr()
    if name == "doctor":
        # What it finds is its answer.
        assert "http.port" in json.dumps(json.loads(captured.out))
        return
    assert captured.out == ""
    error = json.loads(captured.err)["error"]
    assert error["message"]
    if name != "reload":
        (mistake,) = error["mistakes"]
        assert (mistake["key"], mistake["value"]) == ("http.port", "99999")
    with pytest.raises(SystemExit) as caught:
        main([*WITH_JSON[name], "--json", "--nothing"])
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert "--nothing" in json.loads(captured.err)["error"]["message"]
    assert captured.out == ""


def test_notes_are_json_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("WAYPOST_CONFIG", raising=False)
    monkeypatch.setenv("WAYPOST_STORAGE__URL", f"sqlite:///{tmp_path}/waypost.db")
    assert main(["keys", "create", "a", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["id"] == 1
    assert all(json.loads(line)["note"] for line in captured.err.splitlines())
    for arguments in (["keys", "revoke", "b"], ["keys", "create", "demo"], ["usage", "--key", "b"]):
        assert main([*arguments, "--json"]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert json.loads(captured.err)["error"]["message"]
