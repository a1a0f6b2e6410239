"""Arguments that several subcommands share, and the settings that follow from them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.settings import load_settings

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runtime.settings import Settings

# Argument -> dotted key of the setting that it overrides.
OVERRIDES: dict[str, str] = {
    "network": "profile",
    "http_port": "http.port",
    "grpc_port": "grpc.port",
    "workers": "workers",
    "grpc_target": "transcoder.grpc_target",
}


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


def read_settings(arguments: argparse.Namespace, further: dict[str, Any] | None = None) -> Settings:
    """Return the settings that the arguments name, with `further` nested values under them; raises ConfigError."""
    return load_settings(config_path(arguments), overrides=merge(further or {}, given_overrides(arguments)))


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


def config_path(arguments: argparse.Namespace) -> Path | None:
    """Return the configuration file that will be read, None when there is none."""
    if arguments.config is not None:
        return Path(arguments.config)
    named = os.environ.get("WAYPOST_CONFIG")
    return Path(named) if named else None
