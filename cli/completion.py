"""`waypost completion`: a script by which a shell completes what the command takes, out of its own parser.

The scripts are shtab's, which knows the shells; what this adds are the values that only Waypost knows, by the word that
stands for them in the help. A script holds everything: completing starts no process.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import shtab

from runtime.operations import load_operations
from server.chains.facts import load_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

SHELLS = ("bash", "zsh", "fish")

# In bash a `=` ends a word: what stands behind `chain=` is completed as a word of its own.
_BASH = """
_waypost_parameters() {{
  local before="${{COMP_WORDS[COMP_CWORD-1]}}" name="${{COMP_WORDS[COMP_CWORD-2]}}"
  if [[ "$1" == "=" ]]; then
    [[ "$before" == chain ]] && compgen -W "{chains}"
  elif [[ "$before" == "=" ]]; then
    [[ "$name" == chain ]] && compgen -W "{chains}" -- "$1"
  else
    compgen -W "{pairs}" -- "$1"
  fi
}}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost completion`."""
    parser.add_argument("shell", choices=SHELLS, help="the shell; docs/cli.md says where its script belongs")


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    # Here: the entry imports a subcommand only when it is used.
    from cli.__main__ import COMMANDS, build_parser

    parser = build_parser(COMMANDS)
    chains = list(load_facts())
    operations = [one for one in load_operations() if not one.stands_for_many]
    names = [name for one in operations for name in (one.name, *one.aliases)]
    values = {"METHOD": names, "NAMES": names, "SLUG": chains, "SLUG,...": chains, "CHAINS": chains}
    for action in _actions(parser):
        word = action.metavar if isinstance(action.metavar, str) else ""
        if word in values:
            action.choices = values[word]
        elif word in ("FILE", "PATH"):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif word == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif word == "KEY=VALUE":
            action.complete = _parameters(chains)  # type: ignore[attr-defined]
        # In a script of zsh a colon ends the word.
        action.metavar = word.replace(":", " ") or action.metavar
    print(shtab.complete(parser, arguments.shell), end="")
    return 0


def _parameters(chains: list[str]) -> dict[str, Any]:
    """Return how each shell completes `chain=<slug>`."""
    pairs = " ".join(f"chain={slug}" for slug in chains)
    preamble = {"bash": _BASH.format(chains=" ".join(chains), pairs=pairs)}
    return {"bash": "_waypost_parameters", "zsh": f"({pairs})", "fish": pairs, "preamble": preamble}


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield what the parser and its subcommands take."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                yield from _actions(subparser)
