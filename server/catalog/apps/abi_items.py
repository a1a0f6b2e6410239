"""What an ABI in JSON must be to be published: the items by the Solidity contract ABI specification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from server.abi.functions import NAME
from server.abi.types import parse_type
from server.catalog.apps.published import OPERATION_OF

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Report = Callable[[str, str], None]

KINDS = ("function", "event", "error", "constructor", "fallback", "receive")
MOST_ITEMS = 1000
MOST_PARAMETERS = 256
MOST_INDEXED = 3


def check_item(item: Any, report: Report) -> bool:
    """Return whether the item is well formed; `report(entry, fix)` is told what is not, entries relative to it."""
    mistakes = list(_item_mistakes(item))
    for entry, fix in mistakes:
        report(entry, fix)
    return not mistakes


def signature(item: Any) -> str:
    """Return name and canonical input types of a well-formed function or event: `transfer(address,uint256)`."""
    return f"{item['name']}({','.join(map(canonical_type, item['inputs']))})"


def canonical_type(parameter: Any) -> str:
    """Return a well-formed parameter's type as it is hashed: a tuple as its members' types in parentheses."""
    return parse_type(parameter).canonical


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
    if kind != "constructor" and not (isinstance(item.get("name"), str) and NAME.fullmatch(item["name"])):
        yield "name", "write the item's name, a Solidity identifier"
    if kind == "function" and item.get("stateMutability") not in OPERATION_OF:
        yield "stateMutability", f"write one of {', '.join(OPERATION_OF)}"
    if kind == "event" and not isinstance(item.get("anonymous", False), bool):
        yield "anonymous", "write true or false"
    yield from _parameters(item.get("inputs"), "inputs", in_event=kind == "event")
    if kind == "function":
        yield from _parameters(item.get("outputs"), "outputs")
    if kind == "event" and isinstance(item.get("inputs"), list):
        indexed = sum(1 for entry in item["inputs"] if isinstance(entry, dict) and entry.get("indexed") is True)
        most = MOST_INDEXED + bool(item.get("anonymous"))
        if indexed > most:
            yield "inputs", f"at most {most} inputs of an event are indexed"


def _parameters(given: Any, where: str, *, in_event: bool = False) -> Iterator[tuple[str, str]]:
    if not isinstance(given, list) or len(given) > MOST_PARAMETERS:
        yield where, f"write an array of at most {MOST_PARAMETERS} parameters, empty where there are none"
        return
    for position, parameter in enumerate(given):
        entry = f"{where}[{position}]"
        if not isinstance(parameter, dict):
            yield entry, "a parameter is an object"
            continue
        name = parameter.get("name", "")
        if not isinstance(name, str) or (name and not NAME.fullmatch(name)):
            yield f"{entry}.name", "write the parameter's name, a Solidity identifier, empty where it has none"
        try:
            parse_type(parameter)
        except ValueError as error:
            yield f"{entry}.type", f"{error}; write a Solidity type such as uint256, address, bytes32[] or tuple"
        if in_event and not isinstance(parameter.get("indexed"), bool):
            yield f"{entry}.indexed", "say whether the event's input is indexed: true or false"
