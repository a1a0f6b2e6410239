"""Writes the table of operations with their state into README.md, from the descriptors.

`python -m scripts.operations_table` rewrites the part between the two markers; with `--check` it changes nothing and
exits with 1 when the README is not current.
"""

from __future__ import annotations

import sys
from pathlib import Path

from runtime.operations import Operation, load_operations

README = Path(__file__).resolve().parents[1] / "README.md"
START, END = "<!-- operations -->", "<!-- /operations -->"
FAMILIES = {
    "chainless": "takes no chain",
    "evm": "EVM",
    "solana": "Solana",
    "bitcoin": "Bitcoin",
    "starknet": "Starknet",
    "cosmos": "Cosmos",
}


def words(families: frozenset[str]) -> str:
    """Return the families in their usual order, as readers know them."""
    return ", ".join(text for word, text in FAMILIES.items() if word in families)


def render() -> str:
    """Return the part of the README between the markers: what answers today, and what is still to come."""
    operations = load_operations()
    working = [operation for operation in operations if operation.available]
    lines = [f"{len(working)} of {len(operations)} operations answer today.", ""]
    lines += ["| group | operation | answers on | not yet on |", "|---|---|---|---|"]
    lines += [
        f"| {operation.options.group} | `{operation.name}` | {words(operation.available)} "
        f"| {words(operation.families - operation.available) or '-'} |"
        for operation in sorted(working, key=_place)
    ]
    waiting = sorted((operation for operation in operations if not operation.available), key=_place)
    if waiting:
        lines += ["", "Not built yet (they answer 404 `NOT_AVAILABLE`): "]
        lines[-1] += ", ".join(f"`{operation.name}`" for operation in waiting) + "."
    return "\n".join(lines)


def _place(operation: Operation) -> tuple[str, str]:
    return operation.options.group, operation.name


def main(check: bool) -> int:
    """Write or check the README; return the exit code."""
    text = README.read_text()
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    current = f"{head}{START}\n{render()}\n{END}{tail}"
    if check:
        return 0 if current == text else 1
    README.write_text(current)
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
