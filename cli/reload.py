"""`waypost reload`: have a running gateway read its configuration again."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.control import RELOAD, ask, control_path
from cli.options import (
    add_config,
    add_grpc_port,
    add_http_port,
    add_json,
    add_network,
    config_path,
    given_overrides,
    merge,
    print_config_error,
)
from cli.reloader import mistakes_of
from cli.terminal import fail
from runtime.config_errors import ConfigError
from runtime.settings import Settings
from runtime.settings.loading import read_environment, read_file

if TYPE_CHECKING:
    import argparse


# Endpoints are proved meanwhile, in all workers at once.
SECONDS = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost reload`."""
    add_config(parser)
    add_network(parser)
    add_http_port(parser)
    add_grpc_port(parser)
    parser.add_argument(
        "--socket", metavar="PATH", type=Path, help="the gateway's control socket (default: found by the others)"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Ask the gateway to reload and print what changed; 1 where nothing did, with every mistake."""
    paths = [arguments.socket] if arguments.socket is not None else _paths(arguments)
    for path in paths:
        try:
            outcome = ask(path, RELOAD, SECONDS)
        except (FileNotFoundError, ConnectionRefusedError):
            continue
        except PermissionError:
            return fail(f"waypost: the control socket {path} belongs to another user", as_json=arguments.json)
        except (OSError, ValueError) as error:
            return fail(f"waypost: the gateway did not answer on {path}: {error}", as_json=arguments.json)
        return _print(outcome, as_json=arguments.json)
    return fail(
        f"waypost: no gateway answers on {' or '.join(map(str, paths))}; name its configuration or ports as it was "
        "started with, or its control socket (--socket)",
        as_json=arguments.json,
    )


def _print(outcome: dict[str, Any], *, as_json: bool) -> int:
    if outcome["ok"] and as_json:
        print(json.dumps({"generation": outcome["generation"], "changed": outcome["changed"]}))
        return 0
    if outcome["ok"]:
        changed = ", ".join(outcome["changed"]) or "nothing differs"
        print(f"reloaded (generation {outcome['generation']}): {changed}")
        return 0
    mistakes = mistakes_of(outcome)
    if mistakes is not None and not as_json:
        print_config_error(mistakes, sys.stderr)
    why = f": {outcome['error']}" if "error" in outcome else ""
    every = () if mistakes is None else mistakes.every()
    return fail(f"waypost: nothing was changed{why}", as_json=as_json, mistakes=every)


def _paths(arguments: argparse.Namespace) -> list[Path]:
    """Return where the socket may lie, without validating the configuration: that may be what is wrong with it."""
    file = config_path(arguments)
    try:
        table = {} if file is None else read_file(file)
    except ConfigError:
        table = {}
    values = merge(table, merge(read_environment(os.environ)[0], given_overrides(arguments)))
    defaults = Settings()
    socket = _value(values, "control", "socket")
    if socket:
        return [Path(socket)]
    profile = str(values.get("profile", defaults.profile))
    ports = [
        _value(values, "http", "port") or defaults.http.port,
        _value(values, "grpc", "port") or defaults.grpc.port,
    ]
    return [control_path(None, profile, int(port)) for port in ports if str(port).isdecimal()]


def _value(values: dict[str, Any], section: str, key: str) -> Any:
    table = values.get(section)
    return table.get(key) if isinstance(table, dict) else None
