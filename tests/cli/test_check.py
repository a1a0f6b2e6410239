from __future__ import annotations

import json
from operator import attrgetter
from pathlib import Path

import pytest

from cli.__main__ import main
from runtime.operations import load_operations
from runtime.settings.endpoints import SOURCES
from server.chains.facts import load_facts
from tests.each import each

CONFIGS = Path(__file__).parents[1] / "configs"
BROKEN = sorted(path for path in (CONFIGS / "broken").glob("*.toml") if "# env:" not in path.read_text())


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WAYPOST_CONFIG", "WAYPOST_HTTP_PORT", "WAYPOST_GRPC_PORT"):
        monkeypatch.delenv(name, raising=False)


@each(BROKEN, name=attrgetter("stem"))
def test_a_broken_config_is_exit_code_1_with_key_and_fix(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = dict(line.removeprefix("# ").split(": ", 1) for line in path.read_text().splitlines() if ": " in line[:10])
    assert main(["check", "--config", str(path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"config error: {head['key']}" in captured.err
    assert head["fix"] in captured.err
    assert "SECRET" not in captured.err


def test_an_unknown_chain_is_answered_with_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "waypost.toml"
    path.write_text('[chains.etherum]\nendpoints = [{ label = "a", url = "https://node.example.org/SECRET" }]\n')
    assert main(["check", "--config", str(path)]) == 1
    error = capsys.readouterr().err
    assert "chains.etherum" in error
    assert 'did you mean "ethereum"?' in error
    assert "SECRET" not in error


def test_an_endpoint_of_the_wrong_kind_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "waypost.toml"
    path.write_text('[chains.osmosis]\nendpoints = [{ label = "a", url = "https://node.example.org" }]\n')
    assert main(["check", "--config", str(path)]) == 1
    error = capsys.readouterr().err
    assert 'chains.osmosis.endpoints[0].kind = "jsonrpc" (endpoint "a")' in error
    assert "rest or comet" in error


def test_defaults_say_what_every_chain_uses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    text = capsys.readouterr().out
    assert "The configuration is valid." in text
    assert "://" not in text
    for slug, facts in load_facts().items():
        # An off-chain source further down may have a chain's name.
        line, *_ = [line for line in text.splitlines() if line.startswith(f"{slug} ")]
        assert all(endpoint.label in line for endpoint in facts.endpoints)


def test_configured_chains_replace_the_built_in_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GATE_CREDENTIAL", "0123456789abcdef0123456789abcdef")
    monkeypatch.setenv("PROVIDER_URL", "https://node.example.org/rpc/SECRETPATH")
    monkeypatch.setenv("PROVIDER_TOKEN", "Bearer SECRET")
    monkeypatch.setenv("CACHE_URL", "rediss://waypost:SECRET@redis.internal:6380/3")
    monkeypatch.setenv("QUOTA_URL", "redis://:SECRET@redis.internal/4")
    assert main(["check", "--json", "--config", str(CONFIGS / "good" / "everything.toml")]) == 0
    out = capsys.readouterr().out
    assert "SECRET" not in out
    rows = {row["chain"]: row for row in json.loads(out)["chains"]}
    assert rows["ethereum"] == {
        "chain": "ethereum",
        "family": "evm",
        "source": "configured",
        "endpoints": ["own", "provider-1"],
        "kinds": {"jsonrpc": 2},
        "answers": True,
    }
    assert rows["cosmoshub"]["kinds"] == {"rest": 1, "comet": 1}
    assert rows["base"]["source"] == "built-in"
    answered = {family for operation in load_operations() for family in operation.available}
    assert all(row["answers"] == (row["family"] in answered) for row in rows.values())


def test_the_devnet_has_no_public_endpoint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", "--network", "devnet"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {row["source"] for row in report["chains"]} == {"none"}


def test_a_missing_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--config", "/nonexistent/waypost.toml"]) == 1
    assert "config = /nonexistent/waypost.toml" in capsys.readouterr().err


def test_it_says_which_off_chain_sources_are_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "waypost.toml"
    path.write_text(
        "[sources.defillama]\nendpoints = []\n"
        '[sources.coingecko]\nendpoints = [{ label = "own", url = "https://prices.example.org/SECRET" }]\n'
    )
    assert main(["check", "--config", str(path), "--json"]) == 0
    text = capsys.readouterr().out
    assert "SECRET" not in text
    found = {row["name"]: (row["source"], row["endpoints"]) for row in json.loads(text)["sources"]}
    assert list(found) == list(SOURCES)
    assert found.pop("defillama") == ("configured", [])
    assert found.pop("coingecko") == ("configured", ["own"])
    assert found == {name: ("built-in", [name]) for name in found}
