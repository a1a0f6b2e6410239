"""What an ABI in JSON must be to be published: the items by the Solidity contract ABI specification."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from server.catalog.apps.published import OPERATION_OF

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Report = Callable[[str, str], None]

KINDS = ("function", "event", "error", "constructor", "fallback", "receive")
MOST_ITEMS = 1000
MOST_PARAMETERS = 256
DEEPEST = 16
MOST_INDEXED = 3

_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,127}")
_LISTS = re.compile(r"(?:\[(?:[1-9][0-9]{0,4})?\]){0,8}")
_SIZED = {"uint": range(8, 257, 8), "int": range(8, 257, 8), "bytes": range(1, 33)}
_PLAIN = frozenset({"address", "bool", "string", "bytes", "tuple"})
_WORD = re.compile(r"(uint|int|bytes)([1-9][0-9]{0,2})")


def check_item(item: Any, report: Report) -> bool:
    """Return whether the item is well formed; `report(entry, fix)` is told what is not, entries relative to it."""
    mistakes = list(_item_mistakes(item))
    for entry, fix in mistakes:
        report(entry, fix)
    return not mistakes


def signature(item: Any) -> str:
    """Return name and canonical input types of a function, event or error: `transfer(address,uint256)`."""
    return f"{item['name']}({','.join(map(canonical_type, item['inputs']))})"


def canonical_type(parameter: Any) -> str:
    """Return a parameter's type as it is hashed: a tuple as its members' types in parentheses."""
    written = str(parameter["type"])
    if not written.startswith("tuple"):
        return written
    return f"({','.join(map(canonical_type, parameter['components']))}){written.removeprefix('tuple')}"


def indexed_count(item: Any) -> int:
    """Return how many of an event's inputs are indexed."""
    return sum(1 for parameter in item["inputs"] if parameter["indexed"])


def _item_mistakes(item: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(item, dict):
        yield "", "an ABI item is an object"
        return
    kind = item.get("type")
    if kind not in KINDS:
        yield "type", f"write one of {', '.join(KINDS)}"
        return
    if kind in ("fallback", "receive"):
        return
    if kind != "constructor" and not (isinstance(item.get("name"), str) and _NAME.fullmatch(item["name"])):
        yield "name", "write the item's name, a Solidity identifier"
    if kind == "function" and item.get("stateMutability") not in OPERATION_OF:
        yield "stateMutability", f"write one of {', '.join(OPERATION_OF)}"
    if kind == "event" and not isinstance(item.get("anonymous", False), bool):
        yield "anonymous", "write true or false"
    yield from _parameters(item.get("inputs"), "inputs", depth=0, in_event=kind == "event")
    if kind == "function":
        yield from _parameters(item.get("outputs"), "outputs", depth=0)
    if kind == "event" and isinstance(item.get("inputs"), list):
        indexed = sum(1 for entry in item["inputs"] if isinstance(entry, dict) and entry.get("indexed") is True)
        most = MOST_INDEXED + bool(item.get("anonymous"))
        if indexed > most:
            yield "inputs", f"at most {most} inputs of an event are indexed"


def _parameters(given: Any, where: str, *, depth: int, in_event: bool = False) -> Iterator[tuple[str, str]]:
    if not isinstance(given, list) or len(given) > MOST_PARAMETERS:
        yield where, f"write an array of at most {MOST_PARAMETERS} parameters, empty where there are none"
        return
    if depth > DEEPEST:
        yield where, f"tuples are nested more than {DEEPEST} deep"
        return
    for position, parameter in enumerate(given):
        entry = f"{where}[{position}]"
        if not isinstance(parameter, dict):
            yield entry, "a parameter is an object"
            continue
        if not isinstance(parameter.get("name", ""), str):
            yield f"{entry}.name", "write the parameter's name, empty where it has none"
        written = parameter.get("type")
        if not isinstance(written, str) or not _is_type(written):
            yield f"{entry}.type", "write a Solidity type such as uint256, address, bytes32[] or tuple"
        elif written.startswith("tuple"):
            yield from _parameters(parameter.get("components"), f"{entry}.components", depth=depth + 1)
        if in_event and not isinstance(parameter.get("indexed"), bool):
            yield f"{entry}.indexed", "say whether the event's input is indexed: true or false"


def _is_type(written: str) -> bool:
    base, bracket, lists = written.partition("[")
    if not _LISTS.fullmatch(bracket + lists):
        return False
    word = _WORD.fullmatch(base)
    return base in _PLAIN or (word is not None and int(word[2]) in _SIZED[word[1]])
