from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from datetime import UTC, datetime, timedelta
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


def test_terms_are_set_and_a_key_rotates(capsys: pytest.CaptureFixture[str]) -> None:
    first = create(
        capsys, "alice", "--expires", "30d", "--allow", "getBalance, getAaveV3UserPositions", "--chains", "base"
    )
    (row,) = rows(capsys)
    assert (row["operations"], row["chains"]) == (["getBalance", "getLendAV3UserPositions"], ["base"])
    assert str(row["expires"]) > f"{datetime.now(UTC) + timedelta(days=29):%Y-%m-%d}"
    assert (
        main(["keys", "set", "1", "--expires", "never", "--allow", "all", "--notes", "of team a", "--rate", "7"]) == 0
    )
    assert "only these chains: base" in capsys.readouterr().out
    (row,) = rows(capsys)
    terms = ("expires", "operations", "chains", "notes", "rate", "name")
    assert [row[term] for term in terms] == [None, None, ["base"], "of team a", 7, "alice"]
    assert main(["keys", "rotate", first]) == 0
    captured = capsys.readouterr()
    second = captured.out.strip()
    assert second.startswith("wp_")
    assert second != first
    tomorrow = f"{datetime.now(UTC) + timedelta(hours=24):%Y-%m-%dT%H:%M}"
    assert f"key 1 (alice) has a new text; the one before works until {tomorrow}" in captured.err
    (rotated,) = rows(capsys)
    assert (str(rotated["previousUntil"])[:16], rotated["id"]) == (tomorrow, 1)
    assert {**rotated, "key": "", "previousUntil": ""} == {**row, "key": "", "previousUntil": ""}
    assert main(["keys", "list"]) == 0
    assert f"the text before works until {tomorrow}" in capsys.readouterr().out
    assert main(["keys", "revoke", second]) == 0
    assert main(["keys", "set", "1", "--rate", "default"]) == 1
    assert "is revoked" in capsys.readouterr().err


def test_a_second_rotation_names_the_text_that_ends(capsys: pytest.CaptureFixture[str]) -> None:
    create(capsys, "alice")
    texts = []
    for arguments, code in (
        (["--overlap", "2d"], 0),
        ([], 1),
        (["--replace"], 0),
        (["--overlap", "none"], 0),
        (["--replace"], 1),
        (["--overlap", "2020-01-01"], 1),
    ):
        before = rows(capsys)
        assert main(["keys", "rotate", "alice", "--json", *arguments]) == code
        captured = capsys.readouterr()
        if code:
            assert (captured.out, rows(capsys)) == ("", before)
            continue
        made = json.loads(captured.out)
        texts.append(made["key"])
        assert (made["id"], made["previousUntil"] is None) == (1, arguments == ["--overlap", "none"])
    assert len(set(texts)) == 3
    with pytest.raises(SystemExit):
        main(["keys", "rotate", "alice", "--replace", "--overlap", "1h"])


def test_a_text_never_outlives_its_key(capsys: pytest.CaptureFixture[str]) -> None:
    create(capsys, "alice", "--expires", "2h")
    assert main(["keys", "rotate", "alice"]) == 0
    capsys.readouterr()
    (row,) = rows(capsys)
    assert row["previousUntil"] == row["expires"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--expires", "soon"], "write a length such as 12h or 30d"),
        (["--expires", "2020-01-01"], "in the future"),
        (["--allow", "getBalanc"], "did you mean getBalance?"),
        (["--chains", "etherium"], "did you mean ethereum?"),
        (["--chains", ","], "name at least one chain"),
        (["--rate", "fast"], "fast is not a number"),
        ([], "nothing to change"),
    ],
)
def test_a_mistake_changes_nothing_and_says_the_fix(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    create(capsys, "alice")
    before = rows(capsys)
    with suppress(SystemExit):
        assert main(["keys", "set", "1", *given]) == 1
    assert said in capsys.readouterr().err
    assert rows(capsys) == before


def test_usage_is_shown_as_a_table_and_for_machines(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create(capsys, "alice")
    assert main(["usage"]) == 0
    assert "nothing was used" in capsys.readouterr().out
    now = f"{datetime.now(UTC):%Y-%m-%d %H:00:00.000000}"
    with sqlite3.connect(store) as connection:
        for account, operation, requests in (
            ("key:1", "getPrice", 1200),
            ("key:1", "getBalance", 3),
            ("gateway", "", 0),
        ):
            figures = (requests, requests, 2 * requests, 0, 7, 70, 700, 0, 0)
            row = (account, "hour", now, operation, "base", *figures)
            connection.execute(f"INSERT INTO usage VALUES ({', '.join('?' * len(row))})", row)
        errors = ("key:1", "hour", now, "getPrice", "base", "REVERTED", 5)
        connection.execute("INSERT INTO usage_errors VALUES (?, ?, ?, ?, ?, ?, ?)", errors)
    connection.close()
    assert main(["usage"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in shown[1:]] == [
        ["gateway", "0", "0"],
        ["key:1", "(alice)", "1,203"],
        ["all", "1,203", "1,203"],
    ]
    assert len({len(line) for line in shown}) == 1
    assert main(["usage", "--key", "alice", "--json", "--since", "1d"]) == 0
    of_key = json.loads(capsys.readouterr().out)
    assert [(row["operation"], row["units"], row["errors"]) for row in of_key] == [
        ("getBalance", 6, {}),
        ("getPrice", 2400, {"REVERTED": 5}),
    ]
    assert main(["usage", "--csv", "--by", "chain"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "base,1203,1203,2406,0,5,21,210,2100,0,0"
    assert main(["usage", "--key", "bob"]) == 1
    assert "no key is called bob" in capsys.readouterr().err
