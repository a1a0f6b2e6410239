"""Types as ABI JSON writes them: `uint256[3][]`, `tuple[]` with its `components`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from server.abi.composites import Array, Bytes, Text, Tuple
from server.abi.words import Address, Boolean, FixedBytes, Integer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from server.abi.composites import Type

MAX_DEPTH = 8
"""Most arrays and tuples around one value."""

MAX_LENGTH = 65_536
"""Longest array of fixed length."""

_TYPE = re.compile(r"([a-z]+)([0-9]*)((?:\[[0-9]*\])*)")
_SUFFIX = re.compile(r"\[([0-9]*)\]")
_SIMPLE: Mapping[str, Callable[[], Type]] = {
    "address": Address,
    "bool": Boolean,
    "bytes": Bytes,
    "string": Text,
    "function": lambda: FixedBytes(24, "function"),
}


def parse_type(item: Mapping[str, Any], depth: int = 0) -> Type:
    """Return the type of an ABI parameter (`type`, and `components` of a tuple).

    Raises:
        ValueError: the type is none, or too deep, or one that no compiler makes (`fixed`, empty tuples and arrays).
    """
    text = item.get("type")
    match = _TYPE.fullmatch(text) if isinstance(text, str) and len(text) <= 256 else None
    if match is None or text is None:
        raise ValueError(f"{str(text)[:64]!r} is no ABI type")
    word, digits, suffixes = match.groups()
    lengths = _SUFFIX.findall(suffixes)
    depth += len(lengths)
    if depth > MAX_DEPTH:
        raise ValueError(f"{text[:64]!r} nests more than {MAX_DEPTH} arrays and tuples")
    kind: Type = _tuple(item, depth + 1) if word == "tuple" and not digits else _elementary(word, digits)
    for length in lengths:
        if length and not 1 <= int(length) <= MAX_LENGTH:
            raise ValueError(f"an array of {length} elements is no ABI type here; write 1 to {MAX_LENGTH}")
        kind = Array(kind, int(length) if length else None)
    return kind


def _elementary(word: str, digits: str) -> Type:
    if not digits:
        simple = _SIMPLE.get(word)
        if simple is not None:
            return simple()
        if word in ("uint", "int"):
            return Integer(256, word == "int")
    elif word in ("uint", "int") and not digits.startswith("0") and int(digits) <= 256 and int(digits) % 8 == 0:
        return Integer(int(digits), word == "int")
    elif word == "bytes" and not digits.startswith("0") and int(digits) <= 32:
        return FixedBytes(int(digits), word + digits)
    raise ValueError(f"{(word + digits)[:64]!r} is no ABI type that can be called with")


def _tuple(item: Mapping[str, Any], depth: int) -> Tuple:
    if depth > MAX_DEPTH:
        raise ValueError(f"tuples and arrays nest more than {MAX_DEPTH} times")
    components = item.get("components")
    if not isinstance(components, list) or not components or not all(isinstance(one, dict) for one in components):
        raise ValueError("a tuple needs its components, a list of parameters")
    names = tuple(str(component.get("name", "")) for component in components)
    return Tuple(names, tuple(parse_type(component, depth) for component in components))
