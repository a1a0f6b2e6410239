"""Calldata of contract calls: four bytes of Keccak-256 over the signature, then the ABI-encoded arguments."""

from collections.abc import Sequence

from eth_abi.abi import encode
from eth_utils.crypto import keccak


def encode_call(signature: str, arguments: Sequence[object] = ()) -> bytes:
    """Return the calldata for a signature such as `transfer(address,uint256)`."""
    return keccak(text=signature)[:4] + encode_arguments(signature, arguments)


def encode_arguments(signature: str, arguments: Sequence[object]) -> bytes:
    """Return the ABI encoding of the arguments of a signature without tuples, with nothing before it."""
    inner = signature[signature.index("(") + 1 : -1]
    return encode(inner.split(",") if inner else [], arguments)


def to_hex(data: bytes) -> str:
    """Return bytes as a node reads them."""
    return "0x" + data.hex()
