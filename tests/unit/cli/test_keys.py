from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import pytest

from cli.__main__ import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "store" / "waypost.db"
    monkeypatch.delenv("WAYPOST_CONFIG", raising=False)
    monkeypatch.setenv("WAYPOST_STORAGE__URL", f"sqlite:///{path}")
    return path


def create(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["keys", "create", *arguments]) == 0
    return capsys.readouterr().out.strip()


def rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    assert main(["keys", "list", "--json"]) == 0
    listed: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return listed


def test_a_key_is_printed_once_and_stored_as_a_hash(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = create(capsys, "alice", "--rate", "2.5", "--burst", "9")
    assert key.startswith("wp_")
    assert len(key) == 46
    (row,) = rows(capsys)
    assert (row["id"], row["name"], row["rate"], row["burst"], row["revoked"]) == (1, "alice", 2.5, 9, None)
    assert key not in json.dumps(row)
    assert store.stat().st_mode & 0o077 == 0
    with sqlite3.connect(store) as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    assert "alice" in dump
    assert key not in dump


def test_keys_differ(capsys: pytest.CaptureFixture[str]) -> None:
    assert create(capsys, "a") != create(capsys, "b")


@pytest.mark.parametrize("by", ["id", "prefix", "key"])
def test_a_key_is_revoked(by: str, capsys: pytest.CaptureFixture[str]) -> None:
    key = create(capsys, "alice")
    create(capsys, "bob")
    named = {"id": "1", "prefix": str(rows(capsys)[0]["key"]), "key": key}[by]
    assert main(["keys", "revoke", named]) == 0
    assert key not in capsys.readouterr().out
    assert [row["revoked"] is None for row in rows(capsys)] == [False, True]


def test_the_list_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "list"]) == 0
    assert "no keys yet" in capsys.readouterr().err
    create(capsys, "alice")
    assert main(["keys", "list"]) == 0
    assert "default" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["create", "demo"], "own name"),
        (["create", " Local"], "own name"),
        (["create", ""], "1 to 100"),
        (["create", "a\nb"], "printable"),
        (["create", "a", "--rate", "0"], "rate"),
        (["create", "a", "--rate", "nan"], "rate"),
        (["create", "a", "--burst", "0"], "burst"),
        (["revoke", "77"], "no key"),
        (["revoke", "wp_nothing"], "no key"),
    ],
)
def test_refusals(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", *arguments]) == 1
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""


def test_a_store_that_cannot_be_opened_is_a_config_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("WAYPOST_STORAGE__URL", f"sqlite:///{tmp_path}/file/waypost.db")
    assert main(["keys", "list"]) == 1
    assert "config error: storage.url = (hidden)" in capsys.readouterr().err
