"""Inputs and outputs of functions and events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from server.abi.types import parse_type

if TYPE_CHECKING:
    from server.abi.composites import Type


@dataclass(frozen=True, slots=True)
class Parameter:
    """One input or output: its name (empty where the ABI gives none), its type, whether it is an event's topic."""

    name: str
    type: Type
    is_indexed: bool = False

    def __str__(self) -> str:
        return f"{self.name or 'unnamed'}: {self.type.canonical}"


def parse_parameters(items: Any) -> tuple[Parameter, ...]:
    """Return the parameters of an ABI's list of them; ValueError where it is none."""
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ValueError("inputs and outputs are lists of parameters")
    return tuple(Parameter(str(item.get("name", "")), parse_type(item), item.get("indexed") is True) for item in items)


def signature(name: str, parameters: tuple[Parameter, ...]) -> str:
    """Return `name(type,type)`, by which selectors and first topics are made."""
    return f"{name}({','.join(parameter.type.canonical for parameter in parameters)})"
