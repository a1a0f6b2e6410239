"""The subcommands: name and what each is for. Module `cli.<name>` has `add_arguments(parser)` and `run(arguments)`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import argparse

COMMANDS: dict[str, str] = {
    "serve": "run the whole gateway, JSON-RPC and gRPC, in one process",
    "server": "run the gRPC server alone",
    "transcoder": "run the JSON-RPC face alone, in front of a server in another process",
    "devnet": "run the local chain nodes alone",
    "keys": "create, list and revoke API keys",
    "check": "validate a configuration and say what each chain will use",
    "registry": "check the protocol registry against a chain's nodes",
    "apps": "list and validate published contracts, print their .proto files",
    "call": "ask a running gateway over gRPC and print the answer as JSON",
    "methods": "list the operations with their state",
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
