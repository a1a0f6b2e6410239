"""Runs contracts into place on a scratch node, whose state then becomes a chain's first block.

The recipe for a contract at a chosen address: put its creation code there, ask for the runtime code by a call with
empty data (immutables included), send it an empty transaction so that the constructor's storage is written at that
address, then put the runtime code there. Contracts that other contracts create come to stand where those put them.
"""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eth_abi.abi import decode

from devnet import known
from devnet.evm.calls import encode_call, to_hex
from devnet.evm.node import Node
from devnet.evm.world import FIRST_TIMESTAMP
from devnet.local_chain import NodeError

_PLENTY = hex(10**30)
_GAS = hex(15_000_000)
_BEFORE = 86_400  # seconds before a chain's first block in which its world is built
_NO_CODE = ("", "0x")
# What every such node brings by itself: the contract of block hashes (EIP-2935) and the one of deployments by CREATE2.
_OF_THE_NODE = {"0x0000f90827f1c53a10cb7a02335b175320002935", "0x4e59b44847b379578588920ca78fbf26c0b4956c"}


class Builder:
    """What stands on a scratch node so far. Every transaction is sent by an account that the node impersonates.

    Transactions wait until the next read or placement, or `mine`; only then is it seen whether they succeeded. The
    clock moves by a second a block, so that a world is the same whenever it is built.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._senders: set[str] = set()
        self._waiting: list[tuple[str, dict[str, str]]] = []  # hashes with their transactions
        self._blocks = 0

    async def place(self, address: str, creation: bytes, rewrite: Callable[[bytes], bytes] | None = None) -> str:
        """Run creation code (with its arguments) into place and return the address; `rewrite` changes what it left.

        Raises ValueError and NodeError when the constructor fails.
        """
        await self.mine()
        await self._node.call("anvil_setCode", address, to_hex(creation))
        runtime = bytes.fromhex((await self._node.call("eth_call", {"to": address, "gas": _GAS}, "latest"))[2:])
        await self.send(known.DEVELOPER, address, b"")
        await self.mine()
        await self.put(address, rewrite(runtime) if rewrite else runtime)
        return address

    async def put(self, address: str, runtime: bytes) -> str:
        """Put finished runtime code at an address and return that."""
        await self._node.call("anvil_setCode", address, to_hex(runtime))
        return address

    async def runtime(self, address: str) -> bytes:
        """Return the code that stands at an address."""
        await self.mine()
        return bytes.fromhex((await self._node.call("eth_getCode", address, "latest"))[2:])

    async def store(self, address: str, words: Mapping[int, bytes]) -> None:
        """Overwrite storage slots of a contract."""
        await self.mine()
        for slot, word in words.items():
            await self._node.call("anvil_setStorageAt", address, to_hex(slot.to_bytes(32, "big")), to_hex(word))

    async def send(self, sender: str, to: str, data: bytes, value: int = 0) -> None:
        """Send a transaction; the sender has all the ether it needs."""
        if sender not in self._senders:
            await self._node.call("anvil_setBalance", sender, _PLENTY)
            self._senders.add(sender)
        transaction = {"from": sender, "to": to, "data": to_hex(data), "value": hex(value), "gas": _GAS}
        self._waiting.append((await self._node.call("eth_sendTransaction", transaction), transaction))

    async def call(self, sender: str, to: str, signature: str, *arguments: object, value: int = 0) -> None:
        """Send a transaction given by a signature such as `transfer(address,uint256)` and its arguments."""
        await self.send(sender, to, encode_call(signature, arguments), value)

    async def read(self, to: str, signature: str, arguments: Sequence[object], *answer: str) -> Any:
        """Return what a contract answers: the value of one type, a tuple of the values of several."""
        await self.mine()
        question = {"to": to, "data": to_hex(encode_call(signature, arguments)), "gas": _GAS}
        values = decode(answer, bytes.fromhex((await self._node.call("eth_call", question, "latest"))[2:]))
        return values[0] if len(values) == 1 else values

    async def mine(self) -> None:
        """Mine a block of what waits. Raises ValueError naming the first transaction that failed, and why."""
        if not self._waiting:
            return
        self._blocks += 1
        await self._node.call("evm_mine", FIRST_TIMESTAMP - _BEFORE + self._blocks)
        waiting, self._waiting = self._waiting, []
        receipts = await self._node.calls([("eth_getTransactionReceipt", [sent]) for sent, _ in waiting])
        for receipt, (_, transaction) in zip(receipts, waiting, strict=True):
            if receipt is None or int(receipt["status"], 16) != 1:
                raise ValueError(
                    f"building the {self._node.chain.slug} world, a call of {transaction['to']} with "
                    f"{transaction['data'][:10]} failed: {await self._reason(transaction)}"
                )

    async def contracts(self) -> dict[str, Any]:
        """Return {address: {nonce, balance, code, storage}} of every account that has code."""
        await self.mine()
        state = json.loads(gzip.decompress(bytes.fromhex((await self._node.call("anvil_dumpState"))[2:])))
        accounts = sorted(state["accounts"].items())
        return {
            address: account
            for address, account in accounts
            if account["code"] not in _NO_CODE and address not in _OF_THE_NODE
        }

    async def _reason(self, transaction: dict[str, str]) -> str:
        try:
            await self._node.call("eth_call", transaction, "latest")
        except NodeError as error:
            return str(error)
        return "not when it is asked again"
