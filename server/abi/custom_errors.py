"""Errors of an ABI: what a contract says by reverting (Solidity documentation, "Errors and the Revert Statement")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_hash.auto import keccak

from server.abi.composites import read_row
from server.abi.functions import NAME
from server.abi.parameters import Parameter, parse_parameters, signature
from server.abi.reader import Reader, Undecodable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SELECTOR = 4
# A reason is for people to read: longer ones are cut.
_MAX_VALUES = 64
_MAX_CHARACTERS = 512


@dataclass(frozen=True, slots=True)
class CustomError:
    """One error; `selector` is the first four bytes of the Keccak-256 hash of its signature."""

    name: str
    inputs: tuple[Parameter, ...]
    selector: bytes

    @classmethod
    def parse(cls, item: Mapping[str, Any]) -> CustomError:
        """Return the error of an ABI item; ValueError where the item is none."""
        name = item.get("name")
        if item.get("type") != "error" or not isinstance(name, str) or not NAME.fullmatch(name):
            raise ValueError("not an error with a name")
        inputs = parse_parameters(item.get("inputs", []))
        return cls(name, inputs, keccak(signature(name, inputs).encode())[:_SELECTOR])

    def describe(self, data: bytes) -> str | None:
        """Return revert data in words, `InsufficientBalance(available: 5, required: 7)`; None where it is no such."""
        try:
            values = [one.type.to_json(value) for one, value in self._pairs(self.read(data))]
        except Undecodable:
            return None
        named = [f"{one.name}: {_text(value)}" if one.name else _text(value) for one, value in self._pairs(values)]
        text = f"{self.name}({', '.join(named)})"
        return text if len(text) <= _MAX_CHARACTERS else text[:_MAX_CHARACTERS] + "..."

    def read(self, data: bytes) -> tuple[Any, ...]:
        """Return the arguments of revert data as Python values (see `Type`); Undecodable where it is no such error."""
        if data[:_SELECTOR] != self.selector:
            raise Undecodable(f"the data is no {self.name}")
        return tuple(read_row(Reader(data[_SELECTOR:], _MAX_VALUES), 0, [one.type for one in self.inputs]))

    def _pairs(self, values: Sequence[Any]) -> zip[tuple[Parameter, Any]]:
        return zip(self.inputs, values, strict=True)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "".join(character if character.isprintable() else " " for character in str(value))
