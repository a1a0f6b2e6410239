"""`waypost methods`: the operations of the contract, which of them this build answers, and the published methods."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cli.apps import configured_catalogue
from cli.options import add_config, add_json, read_settings
from cli.terminal import paint
from runtime.operations import load_operations, load_watches
from server.marketplace.catalogue import signature

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection

    from runtime.operations import Operation
    from server.marketplace.catalogue import PublishedMethod


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost methods`."""
    parser.add_argument("--available", action="store_true", help="only the operations that this build answers")
    parser.add_argument("--published", action="store_true", help="the published contract methods instead")
    add_json(parser)
    add_config(parser)


def run(arguments: argparse.Namespace) -> int:
    """List the operations by group, or the contract methods that stand behind `svc_*`."""
    if arguments.published:
        methods = configured_catalogue(read_settings(arguments)).methods.values()
        print(json.dumps([publication(method) for method in methods], indent=2) if arguments.json else _names(methods))
        return 0
    rows = sorted(map(describe, (*load_operations(), *load_watches())), key=lambda row: str(row["group"]))
    if arguments.available:
        rows = [row for row in rows if row["available"]]
    print(json.dumps(rows, indent=2) if arguments.json else _groups(rows))
    return 0


def publication(method: PublishedMethod) -> dict[str, Any]:
    """Return a published method's row: name, app, operation, signature, chain and address (None for templates)."""
    return {
        "name": method.name,
        "app": method.app.app_id,
        "operation": method.operation,
        "signature": signature(method.abi_item),
        "chain": method.deployment.chain,
        "address": method.deployment.address,
    }


def _names(methods: Collection[PublishedMethod]) -> str:
    """Return the published names with their signatures, a line each."""
    width = max((len(method.name) for method in methods), default=0)
    return "\n".join(f"{method.name:<{width}}  {signature(method.abi_item)}" for method in methods)


def describe(operation: Operation) -> dict[str, Any]:
    """Return an operation's row: name, aliases, group, path, families, available, state, stream.

    `stream` is whether it is subscribed to; `state` is `available`, `partly` (for some of its chain families) or
    `planned`.
    """
    missing = operation.families - operation.available
    return {
        "name": operation.name,
        "aliases": list(operation.aliases),
        "group": operation.options.group,
        "path": operation.path,
        "families": sorted(operation.families),
        "available": sorted(operation.available),
        "state": "planned" if not operation.available else "partly" if missing else "available",
        "stream": operation.is_stream,
    }


def _groups(rows: list[dict[str, Any]]) -> str:
    """Return the rows as aligned text under their groups' names."""
    lines: list[str] = []
    width = max((len(row["name"]) for row in rows), default=0)
    group = None
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            lines += ["" for _ in lines[:1]] + [paint(group or "Others", "bold")]
        on = ", ".join(row["available"])
        state = {
            "available": f"available on {on}",
            "partly": paint(f"available on {on} so far", "doubtful"),
            "planned": paint("not yet", "bad"),
        }
        lines.append(f"  {row['name']:<{width}}  {state[row['state']]}")
    return "\n".join(lines)
