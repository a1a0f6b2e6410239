"""Entry of the `waypost` command, and its subcommands: module `cli.<name>` has `add_arguments(parser)` and `run`."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from typing import TYPE_CHECKING, NoReturn, Protocol, cast

from cli.options import print_config_error
from runtime.config_errors import ConfigError
from runtime.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


COMMANDS: dict[str, str] = {
    "serve": "run the whole gateway, JSON-RPC and gRPC, in one process",
    "server": "run the gRPC server alone",
    "transcoder": "run the JSON-RPC face alone, in front of a server in another process",
    "reload": "have a running gateway read its configuration again",
    "devnet": "run the local chain nodes alone",
    "keys": "create, list, change and revoke API keys",
    "usage": "show what each key has used",
    "check": "validate a configuration and say what each chain will use",
    "doctor": "look for what keeps a gateway from serving, with the fix of each fault",
    "registry": "check the protocol registry against a chain's nodes",
    "apps": "list and validate published contracts, print their .proto files",
    "call": "ask a running gateway over gRPC and print the answer as JSON",
    "methods": "list the operations with their state",
    "completion": "print a script by which a shell completes the command",
}


class Command(Protocol):
    """What a subcommand's module offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the subcommand's own arguments."""
        ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Run it and return the exit code."""
        ...


def load_command(name: str) -> Command:
    """Return the module of a subcommand; only the one that is used is imported."""
    return cast("Command", importlib.import_module(f"cli.{name}"))


class JsonParser(argparse.ArgumentParser):
    """A parser whose errors are JSON; those of its subcommands are of the same kind."""

    def error(self, message: str) -> NoReturn:
        """Print wrong usage and end the process with exit code 2."""
        usage = " ".join(self.format_usage().removeprefix("usage: ").split())
        print(json.dumps({"error": {"message": message, "usage": usage}}), file=sys.stderr)
        sys.exit(2)


def build_parser(chosen: Collection[str], *, as_json: bool = False) -> argparse.ArgumentParser:
    """Return the parser of the whole command; only the chosen subcommands are given their arguments."""
    kind = JsonParser if as_json else argparse.ArgumentParser
    parser = kind(
        prog="waypost", description="Waypost: one gateway to 24 chains, over gRPC and JSON-RPC.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"Waypost {VERSION}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, purpose in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=purpose, description=purpose, allow_abbrev=False)
        if name in chosen:
            load_command(name).add_arguments(subparser)
    return parser


def parse(parser: argparse.ArgumentParser, given: Sequence[str]) -> argparse.Namespace:
    """Return the arguments; wrong usage ends the process with exit code 2.

    argparse gives a list of arguments only those that stand before the first option. A subcommand names, as `late`, the
    list that takes those behind options too.
    """
    arguments, behind = parser.parse_known_args(given)
    late = getattr(arguments, "late", None)
    if behind and (late is None or any(argument.startswith("-") for argument in behind)):
        parser.error(f"unrecognized arguments: {' '.join(behind)}")
    if behind:
        getattr(arguments, str(late)).extend(behind)
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run `waypost` with the arguments and return the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    given = list(sys.argv[1:] if argv is None else argv)
    chosen = [argument for argument in given if not argument.startswith("-")][:1]
    arguments = parse(build_parser(chosen, as_json="--json" in given), given)
    try:
        return load_command(arguments.command).run(arguments)
    except ConfigError as error:
        print_config_error(error, sys.stderr, as_json=getattr(arguments, "json", False))
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output went away (`waypost methods | head`); nothing more can be written to it.
        sys.stderr.close()
        return 1


if __name__ == "__main__":
    sys.exit(main())
