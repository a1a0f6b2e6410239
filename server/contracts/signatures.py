"""ABI items from signatures as Solidity writes them, one a line.

    # comments and empty lines are skipped
    function balanceOf(address account) view returns (uint256)
    function quote((address tokenIn, uint24 fee) params) returns (uint256 amountOut, uint256[] prices)
    event Transfer(address indexed from, address indexed to, uint256 value)
    error PoolNotInitialized()

Types are those of the ABI: an interface or contract is an `address`, an enum a `uint8`, a struct its members in
parentheses. Names of parameters may be left out, as may `external` and where a parameter is kept.
Source: Solidity documentation, grammar, "function-definition".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*|(?:\[[0-9]*\])+|[(),]")
_MUTABILITIES = frozenset(("pure", "view", "payable"))
_IGNORED = frozenset(("external", "public", "virtual", "override"))
_PLACES = frozenset(("memory", "calldata", "storage"))


def parse_items(text: str) -> list[dict[str, Any]]:
    """Return the items of a text as ABI JSON has them; ValueError, naming the line, for one that is no signature."""
    items = []
    for number, line in enumerate(text.splitlines(), start=1):
        signature = line.partition("#")[0].strip()
        if signature:
            try:
                items.append(parse_item(signature))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
    return items


def parse_item(signature: str) -> dict[str, Any]:
    """Return one signature as ABI JSON has it; ValueError where it is none."""
    tokens = _Tokens(signature.removesuffix(";"))
    kind, name = tokens.next("function, event or error"), tokens.next("a name")
    if kind not in ("function", "event", "error"):
        raise ValueError(f"a signature begins with function, event or error, not with {kind}")
    item: dict[str, Any] = {"type": kind, "name": name, "inputs": _parameters(tokens, may_be_indexed=kind == "event")}
    if kind == "function":
        item.update(stateMutability="nonpayable", outputs=[])
        while (word := tokens.peek()) in _MUTABILITIES | _IGNORED:
            tokens.next("")
            if word in _MUTABILITIES:
                item["stateMutability"] = word
        if tokens.take("returns"):
            item["outputs"] = _parameters(tokens)
    if (rest := tokens.peek()) is not None:
        raise ValueError(f"{rest!r} is not expected after {name}(...)")
    return item


class _Tokens:
    """The words and marks of a signature, in their order."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_split(text))
        self._at = 0

    def peek(self) -> str | None:
        """Return the next token without taking it; None at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def next(self, wanted: str) -> str:
        """Return the next token; ValueError at the end."""
        token = self.peek()
        if token is None:
            raise ValueError(f"the signature ends where {wanted} is expected")
        self._at += 1
        return token

    def take(self, token: str) -> bool:
        """Return whether the next token is that one, which is taken then."""
        if self.peek() != token:
            return False
        self._at += 1
        return True


def _split(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"{text[at]!r} is not expected in a signature")
        yield match[0]
        at = match.end()


def _parameters(tokens: _Tokens, *, may_be_indexed: bool = False) -> list[dict[str, Any]]:
    if not tokens.take("("):
        raise ValueError("parameters stand in parentheses")
    parameters: list[dict[str, Any]] = []
    if tokens.take(")"):
        return parameters
    while True:
        parameters.append(_parameter(tokens, may_be_indexed=may_be_indexed))
        if tokens.take(")"):
            return parameters
        if not tokens.take(","):
            raise ValueError(f"a comma or ) is expected, not {tokens.next('a comma or )')!r}")


def _parameter(tokens: _Tokens, *, may_be_indexed: bool) -> dict[str, Any]:
    tokens.take("tuple")
    parameter: dict[str, Any] = {"name": ""}
    if tokens.peek() == "(":
        parameter["components"] = _parameters(tokens)
        parameter["type"] = "tuple"
    else:
        parameter["type"] = tokens.next("a type")
    if (suffix := tokens.peek()) is not None and suffix.startswith("["):
        parameter["type"] += tokens.next("")
    if may_be_indexed and tokens.take("indexed"):
        parameter["indexed"] = True
    if tokens.peek() in _PLACES:
        tokens.next("")
    if tokens.peek() not in (",", ")"):
        parameter["name"] = tokens.next("a name, a comma or )")
    return parameter
