"""Arguments that several subcommands share, the settings that follow from them, and mistakes in these.

A mistake is shown as the operator sees it: key, value, where it came from, and the fix.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.addresses import ListenRefusal
from cli.terminal import fail, paint
from runtime.config_errors import ConfigError
from runtime.settings import load_settings
from runtime.settings.loading import SHORT, variable_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from typing import TextIO

    from runtime.settings import Settings


# Argument -> dotted key of the setting that it overrides.
OVERRIDES: dict[str, str] = {
    "network": "profile",
    "http_port": "http.port",
    "grpc_port": "grpc.port",
    "workers": "workers",
    "grpc_target": "transcoder.grpc_target",
}

DEVNET_KEY = "local"


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add `--config`."""
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="configuration file, TOML (default: $WAYPOST_CONFIG, else none)"
    )


def add_http_port(parser: argparse.ArgumentParser) -> None:
    """Add `--http-port`."""
    parser.add_argument("--http-port", metavar="PORT", type=int, help="port of the JSON-RPC face (default: 8080)")


def add_grpc_port(parser: argparse.ArgumentParser) -> None:
    """Add `--grpc-port`."""
    parser.add_argument("--grpc-port", metavar="PORT", type=int, help="port of the gRPC face (default: 50051)")


def add_network(parser: argparse.ArgumentParser) -> None:
    """Add `--network`."""
    parser.add_argument(
        "--network",
        choices=("devnet", "mainnet"),
        help="mainnet: public endpoints; devnet: local nodes (default: mainnet)",
    )


def add_full(parser: argparse.ArgumentParser) -> None:
    """Add `--full`."""
    parser.add_argument(
        "--full",
        action="store_true",
        help="on the devnet: also the chains that are a large download, once (Starknet, 350 MB)",
    )


def read_settings(
    arguments: argparse.Namespace, further: dict[str, Any] | None = None, content: bytes | None = None
) -> Settings:
    """Return the settings that the arguments name, with `further` nested values under them; raises ConfigError.

    `content` stands for what the configuration file holds, which is then not read.
    """
    overrides = merge(further or {}, given_overrides(arguments))
    return load_settings(config_path(arguments), overrides=overrides, content=content)


def given_overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that the arguments themselves carry, nested."""
    overrides: dict[str, Any] = {}
    for argument, key in OVERRIDES.items():
        value = getattr(arguments, argument, None)
        if value is not None:
            *sections, last = key.split(".")
            table = overrides
            for section in sections:
                table = table.setdefault(section, {})
            table[last] = value
    return overrides


def merge(weak: Mapping[str, Any], strong: Mapping[str, Any]) -> dict[str, Any]:
    """Return both nested mappings as one; where they differ `strong` wins."""
    merged = dict(weak)
    for name, value in strong.items():
        known = merged.get(name)
        merged[name] = merge(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged


def worker_environment(environ: Mapping[str, str], overrides: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment in which a worker reads the same settings as its parent with these overrides."""
    environment = dict(environ)
    for key, value in _leaves("", overrides):
        for short, meant in SHORT.items():
            if meant == key:
                environment.pop(short, None)
        environment[variable_of(key)] = value if isinstance(value, str) else json.dumps(value)
    return environment


def _leaves(prefix: str, values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    leaves: list[tuple[str, Any]] = []
    for name, value in values.items():
        key = f"{prefix}{name}"
        leaves += _leaves(f"{key}.", value) if isinstance(value, dict) else [(key, value)]
    return leaves


def config_path(arguments: argparse.Namespace) -> Path | None:
    """Return the configuration file that will be read, None when there is none."""
    if arguments.config is not None:
        return Path(arguments.config)
    named = os.environ.get("WAYPOST_CONFIG")
    return Path(named) if named else None


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON, errors too")


def print_config_error(error: ConfigError, stream: TextIO, *, as_json: bool = False) -> None:
    """Print every mistake of the configuration, two lines each; of an address that cannot be had one line.

    As JSON they are one document on one line.
    """
    if as_json:
        fail("the configuration is refused", as_json=True, mistakes=error.every())
        return
    kind = paint("config error:", "bad", stream)
    for mistake in error.every():
        if isinstance(mistake, ListenRefusal):
            print(f"{kind} {mistake}", file=stream)
            continue
        stated = f"{mistake.key} = {mistake.value}" if mistake.value else mistake.key
        origin = f"  (from {mistake.origin})" if mistake.origin else ""
        print(f"{kind} {stated}{origin}\n         fix: {mistake.fix}", file=stream)


def storage_refusal(error: BaseException, settings: Settings) -> ConfigError:
    """Return the mistake behind a database that cannot be opened; the URL may hold a password and stays hidden."""
    # Imported here: most commands open no database, and SQLAlchemy is half of what they would import.
    from server.storage.failures import describe_database, explain_failure

    url = settings.storage.url.get_secret_value()
    cause, fix = explain_failure(error, url)
    stated = f"the {settings.profile} database ({describe_database(url)}) cannot be used: {cause}; {fix}"
    return ConfigError("storage.url", "(hidden)", stated)
