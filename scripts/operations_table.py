"""Writes docs/operations.md and the README's list of groups from the descriptors.

`python -m scripts.operations_table` rewrites the page, and the part of the README between the two markers; with
`--check` it changes nothing and exits with 1 when one of them is not current.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.operations import Operation, load_operations, load_watches

if TYPE_CHECKING:
    from collections.abc import Iterable

_ROOT = Path(__file__).resolve().parents[1]
README = _ROOT / "README.md"
PAGE = _ROOT / "docs" / "operations.md"
START, END = "<!-- operations -->", "<!-- /operations -->"
FAMILIES = {
    "chainless": "takes no chain",
    "evm": "EVM",
    "solana": "Solana",
    "bitcoin": "Bitcoin",
    "starknet": "Starknet",
    "cosmos": "Cosmos",
}
_HEAD = """# Operations

Written by `make operations` from `proto/`, whose comments and `GET /openrpc.json` describe every parameter and result.
The method of JSON-RPC and the rpc are one operation: the same answers, errors and quota. `units` is what a call, or
each item of one, is charged ([access and quotas](keys.md)); families whose name is not listed are refused. A stream is
charged a unit for each 100 events, besides what it looks at; over HTTP it is subscribed to and never posted.
"""


def words(families: frozenset[str]) -> str:
    """Return the families in their usual order, as readers know them."""
    return ", ".join(text for word, text in FAMILIES.items() if word in families)


def render_page() -> str:
    """Return docs/operations.md: by group what answers today, and what is still to come."""
    operations = _everything()
    lines = [_HEAD, _answering(operations)]
    for group, members in _groups():
        lines += [
            "",
            f"## {group}",
            "",
            "| operation | rpc | units | answers on | not yet on |",
            "|---|---|---|---|---|",
        ]
        lines += [_row(operation) for operation in members]
    waiting = sorted(operation.name for operation in operations if not operation.available)
    if waiting:
        lines += ["", f"Not built yet (they answer 404 `NOT_AVAILABLE`): {', '.join(f'`{name}`' for name in waiting)}."]
    return "\n".join([*lines, ""])


def render_groups() -> str:
    """Return the part of the README between the markers: a line for each group."""
    lines = [_answering(_everything()), ""]
    for group, members in _groups():
        families = words(frozenset().union(*(operation.available for operation in members)))
        lines.append(f"- [{group}](docs/operations.md#{group.lower().replace(' ', '-')}), {len(members)}: {families}")
    return "\n".join(lines)


def _everything() -> tuple[Operation, ...]:
    return (*load_operations(), *load_watches())


def _answering(operations: Iterable[Operation]) -> str:
    listed = tuple(operations)
    return f"{sum(bool(operation.available) for operation in listed)} of {len(listed)} operations answer today."


def _groups() -> list[tuple[str, list[Operation]]]:
    working = sorted((one for one in _everything() if one.available), key=lambda one: (one.options.group, one.name))
    return [(group, list(members)) for group, members in groupby(working, key=lambda one: one.options.group)]


def _row(operation: Operation) -> str:
    later = words(operation.families - operation.available) or "-"
    rpc = operation.path.removeprefix("/")
    units = "100 events" if operation.is_stream else operation.cost
    return f"| `{operation.name}` | `{rpc}` | {units} | {words(operation.available)} | {later} |"


def main(check: bool) -> int:
    """Write or check both; return the exit code."""
    text = README.read_text()
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    current = {README: f"{head}{START}\n{render_groups()}\n{END}{tail}", PAGE: render_page()}
    if check:
        return 0 if all(path.is_file() and path.read_text() == text for path, text in current.items()) else 1
    for path, text in current.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
