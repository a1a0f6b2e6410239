"""The scripts of `waypost completion`, run by the shells themselves where they are on this machine."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from cli.__main__ import COMMANDS, build_parser, main
from cli.completion import SHELLS
from runtime.operations import load_operations
from server.chains.facts import load_facts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Path:
    shell = getattr(request, "param", "bash")
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not on this machine")
    path = tmp_path / f"waypost.{shell}"
    assert main(["completion", shell]) == 0
    path.write_text(capsys.readouterr().out)
    return path


def complete(script: Path, *words: str) -> list[str]:
    """Return what bash offers for the last of the words, which are as bash splits a line: at `=` too."""
    line = " ".join(f"'{word}'" for word in ("waypost", *words))
    program = f"""
source {script}
[[ "$(complete -p waypost)" == *_shtab_waypost* ]] || exit 3
COMP_WORDS=({line}); COMP_CWORD={len(words)}
_shtab_waypost
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", program], cwd=script.parent, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_commands_and_options_come_from_the_parser(script: Path) -> None:
    assert complete(script, "") == list(COMMANDS)
    assert complete(script, "re") == ["reload", "registry"]
    assert complete(script, "keys", "r") == ["rotate", "revoke"]
    for path, parser in parsers(build_parser(COMMANDS)):
        shown = {
            option
            for action in parser._actions
            if action.help is not argparse.SUPPRESS
            for option in action.option_strings
        }
        assert set(complete(script, *path, "-")) == shown, path


def parsers(
    parser: argparse.ArgumentParser, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    yield path, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, subparser in action.choices.items():
                yield from parsers(subparser, (*path, name))


def test_operations_and_chains_are_completed_for_call(script: Path) -> None:
    names = {name for one in load_operations() if not one.stands_for_many for name in (one.name, *one.aliases)}
    assert set(complete(script, "call", "")) == names
    assert complete(script, "call", "getBlockH") == ["getBlockHeight"]
    # Where `=` is none of the signs that end a word.
    assert complete(script, "call", "getBalance", "chain=os") == ["chain=osmosis"]
    assert complete(script, "call", "getBalance", "cha")[:2] == ["chain=ethereum", "chain=polygon"]
    assert set(complete(script, "call", "getBalance", "chain", "=")) == set(load_facts())
    assert complete(script, "call", "getBalance", "chain", "=", "os") == ["osmosis"]
    assert complete(script, "call", "getBalance", "address", "=", "os") == []
    assert complete(script, "registry", "verify", "--chain", "po") == ["polygon"]
    assert complete(script, "keys", "create", "a", "--chains", "ba") == ["base"]


def test_choices_and_files_are_completed(script: Path) -> None:
    (script.parent / "own.toml").touch()
    assert complete(script, "serve", "--network", "") == ["devnet", "mainnet"]
    assert complete(script, "check", "--config", "ow") == ["own.toml"]
    assert complete(script, "completion", "") == list(SHELLS)


@pytest.mark.parametrize("script", ["fish"], indirect=True)
def test_fish_completes(script: Path) -> None:
    def offered(line: str) -> list[str]:
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stderr == ""
        return [one.partition("\t")[0] for one in done.stdout.splitlines()]

    assert offered("waypost keys ro") == ["rotate"]
    assert offered("waypost call getBlockH") == ["getBlockHeight"]
    assert offered("waypost call getBalance chain=os") == ["chain=osmosis"]


@pytest.mark.parametrize("script", ["zsh"], indirect=True)
def test_zsh_takes_the_script(script: Path) -> None:
    program = f"autoload -U compinit; compinit -D -u; source {script}; print $_comps[waypost]"
    done = subprocess.run(["zsh", "-f", "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script_with_what_only_waypost_knows(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for word in ("getBlockHeight", "chain=osmosis", "rotate", "overlap"):
        assert word in text
    if shell == "zsh":
        # A colon would end the word for a value.
        assert ":HOST PORT:" in text
