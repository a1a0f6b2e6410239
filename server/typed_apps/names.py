"""Identifiers of a .proto file out of names in an ABI, each unlike the others of its scope.

The forms are those that `buf lint` asks for. Two names count as alike when they differ in casing and underscores only:
protobuf refuses fields of one JSON name, and generators of several languages fold them together.
"""

from __future__ import annotations

import keyword
import re

_PARTS = re.compile(r"[A-Za-z0-9]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Scope:
    """Names that are taken."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def claim(self, name: str) -> str:
        """Return the name, numbered from 2 on where one like it is taken."""
        candidate, number = name, 2
        while _folded(candidate) in self._taken:
            candidate = f"{name}{number}"
            number += 1
        self._taken.add(_folded(candidate))
        return candidate


def snake(name: str) -> str:
    """Return the name in lower_snake_case, empty where nothing is left of it: `_stETHAmount` is `st_eth_amount`."""
    parts = [word for part in _PARTS.findall(name) for word in _HUMP.split(part)]
    return started("_".join(parts).lower())


def pascal(name: str) -> str:
    """Return the name in PascalCase, inner capitals kept: `balanceOf` is `BalanceOf`."""
    joined = "".join(part[:1].upper() + part[1:] for part in _PARTS.findall(name))
    return "N" + joined if joined[:1].isdigit() else joined


def started(name: str) -> str:
    """Return the name, begun with a letter as identifiers are."""
    return f"n_{name}" if name[:1].isdigit() else name


def is_reserved(name: str) -> bool:
    """Return whether a Python stub could not name the field in its constructor."""
    return keyword.iskeyword(name)


def _folded(name: str) -> str:
    return name.replace("_", "").lower()
