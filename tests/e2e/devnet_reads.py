"""Reads of a node by raw JSON-RPC and plain ABI decoding: the devnet's tests do not lean on the gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_abi.abi import decode, encode

from devnet.evm.calls import encode_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from devnet.evm.node import Node

AGGREGATE3 = bytes.fromhex("82ad56cb")  # selector of aggregate3((address,bool,bytes)[])


async def read(
    node: Node, to: str, signature: str, arguments: Sequence[object], answer: str, block: int | None = None
) -> Any:
    """Return the single decoded answer of a contract at a block (latest by default)."""
    [value] = decode([answer], await call_raw(node, to, encode_call(signature, arguments), block))
    return value


async def call_raw(node: Node, to: str, data: bytes, block: int | None = None) -> bytes:
    """Return the bytes that a contract answers; raises NodeError when it reverts."""
    at = "latest" if block is None else hex(block)
    return bytes.fromhex((await node.call("eth_call", {"to": to, "data": "0x" + data.hex()}, at))[2:])


async def aggregate3(node: Node, multicall: str, calls: Sequence[tuple[str, bytes]]) -> list[tuple[bool, bytes]]:
    """Return (success, answer) of each call, made in one execution through Multicall3."""
    encoded = encode(["(address,bool,bytes)[]"], [[(to, True, data) for to, data in calls]])
    answer = await call_raw(node, multicall, AGGREGATE3 + encoded)
    [results] = decode(["(bool,bytes)[]"], answer)
    return [(bool(success), bytes(data)) for success, data in results]
