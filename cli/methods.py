"""`waypost methods`: the operations of the contract and which of them this build answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from runtime.operations import load_operations

if TYPE_CHECKING:
    import argparse

    from runtime.operations import Operation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost methods`."""
    parser.add_argument("--available", action="store_true", help="only the operations that this build answers")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """List the operations by group."""
    rows = sorted(map(describe, load_operations()), key=lambda row: str(row["group"]))
    if arguments.available:
        rows = [row for row in rows if row["available"]]
    print(json.dumps(rows, indent=2) if arguments.json else table(rows))
    return 0


def describe(operation: Operation) -> dict[str, Any]:
    """Return an operation's row: name, aliases, group, path, families, available, state.

    `state` is `available`, `partly` (for some of its chain families) or `planned`.
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
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as aligned text under their groups' names."""
    lines: list[str] = []
    width = max((len(row["name"]) for row in rows), default=0)
    group = None
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            lines += ["", group or "Others"] if lines else [group or "Others"]
        on = ", ".join(row["available"])
        state = {"available": f"available on {on}", "partly": f"available on {on} so far", "planned": "not yet"}
        lines.append(f"  {row['name']:<{width}}  {state[row['state']]}")
    return "\n".join(lines)
