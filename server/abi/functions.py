"""Functions of an ABI: calldata from arguments, outputs from return data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_abi.abi import encode
from eth_hash.auto import keccak

from server.abi.arguments import accept_arguments
from server.abi.composites import read_row
from server.abi.parameters import Parameter, parse_parameters, signature
from server.abi.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,127}")
"""What functions and events may be called (Solidity identifiers)."""

_MUTABILITIES = ("pure", "view", "nonpayable", "payable")


@dataclass(frozen=True, slots=True)
class Function:
    """One function; `selector` is the first four bytes of the Keccak-256 hash of its signature."""

    name: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    mutability: str
    selector: bytes

    @classmethod
    def parse(cls, item: Mapping[str, Any]) -> Function:
        """Return the function of an ABI item; ValueError where the item is none."""
        name = item.get("name")
        if item.get("type") != "function" or not isinstance(name, str) or not NAME.fullmatch(name):
            raise ValueError("not a function with a name")
        mutability = item.get("stateMutability")
        if mutability not in _MUTABILITIES:
            raise ValueError(f"stateMutability of {name} must be one of {', '.join(_MUTABILITIES)}")
        inputs, outputs = parse_parameters(item.get("inputs", [])), parse_parameters(item.get("outputs", []))
        return cls(name, inputs, outputs, str(mutability), keccak(signature(name, inputs).encode())[:4])

    @property
    def is_read_only(self) -> bool:
        """Whether it changes nothing by its own declaration."""
        return self.mutability in ("pure", "view")

    def encode_call(self, values: Sequence[Any]) -> bytes:
        """Return the calldata for arguments as JSON values; InvalidArgument for those that do not fit."""
        arguments = accept_arguments(values, self.inputs)
        if not arguments:
            return self.selector
        return self.selector + encode([parameter.type.canonical for parameter in self.inputs], arguments)

    def decode_outputs(self, data: bytes) -> list[Any]:
        """Return the outputs as JSON values in their order.

        Integers are decimal text, addresses checksummed, bytes hex, arrays and tuples arrays. Bytes after the outputs
        are not looked at. Raises Undecodable (TooManyValues) for data that is no encoding of them.
        """
        types = [parameter.type for parameter in self.outputs]
        return [kind.to_json(value) for kind, value in zip(types, read_row(Reader(data), 0, types), strict=True)]
