"""Arguments that several subcommands share, and the settings that follow from them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.settings import load_settings

if TYPE_CHECKING:
    import argparse

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


def read_settings(arguments: argparse.Namespace, further: dict[str, Any] | None = None) -> Settings:
    """Return the settings that the arguments name, `further` nested values on top; raises ConfigError."""
    overrides = dict(further or {})
    for argument, key in OVERRIDES.items():
        value = getattr(arguments, argument, None)
        if value is not None:
            _put(overrides, key.split("."), value)
    return load_settings(config_path(arguments), overrides=overrides)


def config_path(arguments: argparse.Namespace) -> Path | None:
    """Return the configuration file that will be read, None when there is none."""
    if arguments.config is not None:
        return Path(arguments.config)
    named = os.environ.get("WAYPOST_CONFIG")
    return Path(named) if named else None


def _put(values: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        values[part] = dict(values.get(part, {}))
        values = values[part]
    values[path[-1]] = value
