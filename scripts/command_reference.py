"""Writes the reference of docs/cli.md from the command's own parser; `--check` tells whether it is current."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cli.__main__ import COMMANDS, build_parser

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
START = "<!-- commands: python -m scripts.command_reference -->"
END = "<!-- end of commands -->"


def render() -> str:
    """Return the part of the page between the markers: each subcommand with what it takes."""
    lines: list[str] = []
    for name, purpose, parser in _parsers("waypost", "", build_parser(COMMANDS)):
        shown = [
            one for one in parser._actions if one.help is not argparse.SUPPRESS and one.dest not in ("help", "version")
        ]
        arguments = [one for one in shown if not isinstance(one, argparse._SubParsersAction)]
        if name == "waypost" or len(arguments) < len(shown):
            continue
        lines += ["", f"### `{name}`", "", f"{purpose[:1].upper()}{purpose[1:]}.", ""]
        if arguments:
            lines += ["| argument | meaning |", "|---|---|"]
            lines += [f"| {_written(one)} | {_meaning(one, parser)} |" for one in arguments]
    return "\n".join(lines).strip()


def _parsers(
    name: str, purpose: str, parser: argparse.ArgumentParser
) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Yield the parser and its subcommands, each with its full name and what it is for."""
    yield name, purpose, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            purposes = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for word, subparser in action.choices.items():
                yield from _parsers(f"{name} {word}", purposes[word], subparser)


def _written(action: argparse.Action) -> str:
    """Return an argument as it is typed: `--workers N|auto`."""
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    words = [*action.option_strings[-1:], *([] if action.nargs == 0 else [str(value)])]
    return f"`{' '.join(words)}`{' ...' if action.nargs == '*' else ''}".replace("|", "\\|")


def _meaning(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    text = parser._get_formatter()._expand_help(action) if action.help else f"one of {', '.join(action.choices or ())}"
    return text.replace("|", "\\|")


def main(check: bool) -> int:
    """Write or check the page; return the exit code."""
    text = PAGE.read_text()
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    current = f"{head}{START}\n\n{render()}\n\n{END}{tail}"
    if check:
        return 0 if current == text else 1
    PAGE.write_text(current)
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
