"""A value that does not fit an ABI type: where it stands, what it is, what to write."""

from __future__ import annotations

from typing import Any

_SHOWN = 64


class Mismatch(ValueError):
    """`path` is the place in the arguments (`args[1][0]`), `type` the Solidity type there, `why` says what to write."""

    def __init__(self, path: str, type_name: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.type = type_name
        self.why = why


def shown(value: Any) -> str:
    """Return a JSON value as an error shows it: short, and containers by kind only."""
    if isinstance(value, str):
        text = value if len(value) <= _SHOWN else value[:_SHOWN] + "..."
        return '"' + "".join(character if character.isprintable() else "?" for character in text) + '"'
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
