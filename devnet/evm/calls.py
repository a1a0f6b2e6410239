"""Calldata of contract calls: four bytes of Keccak-256 over the signature, then the ABI-encoded arguments."""

from collections.abc import Sequence
from functools import cache

from eth_abi.abi import encode
from eth_abi.grammar import parse
from eth_utils.crypto import keccak


def encode_call(signature: str, arguments: Sequence[object] = ()) -> bytes:
    """Return the calldata for a signature such as `transfer(address,uint256)`."""
    return keccak(text=signature)[:4] + encode_arguments(signature, arguments)


def encode_arguments(signature: str, arguments: Sequence[object]) -> bytes:
    """Return the ABI encoding of the arguments of a signature, with nothing before it."""
    return encode(argument_types(signature), arguments)


@cache
def argument_types(signature: str) -> list[str]:
    """Return the types of a signature's arguments, `(address,uint256)[]` being one."""
    inner = signature[signature.index("(") :]
    return [] if inner == "()" else [component.to_type_str() for component in parse(inner).components]


def to_hex(data: bytes) -> str:
    """Return bytes as a node reads them."""
    return "0x" + data.hex()
