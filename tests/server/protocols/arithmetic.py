"""Reads of a node by plain decoding, and decimal text as integers: tests recompute what readers answer from these."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from eth_abi.abi import decode

from devnet.evm.calls import encode_call, to_hex
from tests.e2e.devnet_reads import call_raw

if TYPE_CHECKING:
    from devnet.evm.node import Node

YEAR = 31_536_000


async def ask(node: Node, to: str, signature: str, *arguments: object, types: str = "uint256") -> Any:
    """Return the answer of a contract at the latest block: the value of one type, a tuple of several."""
    names = _split(types)
    values = decode(names, await call_raw(node, to, encode_call(signature, arguments)))
    return values[0] if len(names) == 1 else values


def _split(types: str) -> list[str]:
    """Return the types of a list, tuples being one."""
    names, depth = [""], 0
    for letter in types:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            names.append("")
        else:
            names[-1] += letter
    return names


async def send(node: Node, sender: str, to: str, signature: str, *arguments: object, value: int = 0) -> None:
    """Send a transaction of any account, which waits for the next block."""
    await node.call("anvil_impersonateAccount", sender)
    await node.call("anvil_setBalance", sender, hex(10**24))
    transaction = {
        "from": sender,
        "to": to,
        "data": to_hex(encode_call(signature, arguments)),
        "value": hex(value),
        "gas": hex(5_000_000),
    }
    _sent.append(await node.call("eth_sendTransaction", transaction))


_sent: list[str] = []


async def mine_at(node: Node, time: int) -> None:
    """Make a block of a certain time; every transaction that waited must succeed in it."""
    await node.call("evm_setNextBlockTimestamp", time)
    await node.call("evm_mine")
    waited, _sent[:] = _sent[:], []
    for sent in waited:
        receipt = await node.call("eth_getTransactionReceipt", sent)
        assert receipt["status"] == "0x1", receipt


async def now(node: Node) -> int:
    """Return the time of the latest block."""
    return int((await node.call("eth_getBlockByNumber", "latest", False))["timestamp"], 16)


def units(text: str, decimals: int) -> int:
    """Return decimal text as an integer of the smallest unit; it must have no more places than the unit."""
    scaled = Decimal(text).scaleb(decimals)
    assert scaled == int(scaled), text
    return int(scaled)
