"""Builds a chain's first block: contracts are run into place on a scratch node, their state is kept as a genesis file.

The recipe for a contract at a chosen address: put its creation code there, ask for the runtime code by a call with
empty data (immutables included), send it an empty transaction so that the constructor's storage is written at that
address, then put the runtime code there.
"""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import aiohttp

from devnet import known
from devnet.evm import artifacts, placements
from devnet.evm.calls import to_hex
from devnet.evm.node import Node
from devnet.evm.placement import Placement
from devnet.evm.world import FIRST_TIMESTAMP, Chain
from devnet.install import cache_folder, installed, write_whole
from devnet.local_chain import Guard

_PLENTY = hex(10**30)
_ROOMY = hex(5_000_000)
_ZERO_HASH = "0x" + "00" * 32
_ZERO_ADDRESS = "0x" + "00" * 20


async def genesis_file(chain: Chain, http: aiohttp.ClientSession, guard: Guard) -> Path:
    """Return the path of the chain's genesis file, building it first when it is not in the cache. Raises NodeError."""
    path = cache_folder("worlds", _content_hash()) / f"{chain.slug}.json"
    if not path.is_file():
        scratch = Node(chain, http)
        try:
            await scratch.start(guard, ["--auto-impersonate", "--gas-limit", "1000000000"])
            alloc = await _build(scratch, list(placements.placements(chain)))
        finally:
            await scratch.stop()
        write_whole(path, json.dumps(_genesis(chain, alloc)))
    return path


async def _build(node: Node, contracts: list[Placement]) -> dict[str, Any]:
    created = [contract for contract in contracts if contract.creation]
    senders = {call.sender for contract in contracts for call in contract.calls} | {known.DEVELOPER}
    await node.calls([("anvil_setBalance", [sender, _PLENTY]) for sender in sorted(senders)])
    for contract in created:
        # One after the other: a proxy's constructor calls its implementation.
        await node.call("anvil_setCode", contract.address, to_hex(contract.creation))
        runtime = bytes.fromhex((await node.call("eth_call", {"to": contract.address}, "latest"))[2:])
        await _send(node, known.DEVELOPER, contract.address, b"", 0)
        await node.call("evm_mine")
        placed = contract.rewrite(runtime) if contract.rewrite else runtime
        await node.call("anvil_setCode", contract.address, to_hex(placed))
    for contract in contracts:
        if contract.runtime:
            await node.call("anvil_setCode", contract.address, to_hex(contract.runtime))
    hashes = [
        await _send(node, call.sender, contract.address, call.data, call.value)
        for contract in contracts
        for call in contract.calls
    ]
    await node.call("evm_mine")
    receipts = await node.calls([("eth_getTransactionReceipt", [sent]) for sent in hashes])
    if any(int(receipt["status"], 16) != 1 for receipt in receipts):
        raise ValueError(f"a set-up call of the {node.chain.slug} world failed")
    for contract in contracts:
        for slot, word in contract.storage.items():
            await node.call("anvil_setStorageAt", contract.address, to_hex(slot.to_bytes(32, "big")), to_hex(word))
    state = json.loads(gzip.decompress(bytes.fromhex((await node.call("anvil_dumpState"))[2:])))
    return {
        address: state["accounts"][address] for address in sorted(contract.address.lower() for contract in contracts)
    }


async def _send(node: Node, sender: str, to: str, data: bytes, value: int) -> str:
    transaction = {"from": sender, "to": to, "data": to_hex(data), "value": hex(value), "gas": _ROOMY}
    return str(await node.call("eth_sendTransaction", transaction))


def _genesis(chain: Chain, alloc: dict[str, Any]) -> dict[str, Any]:
    for account in alloc.values():
        account["nonce"] = hex(account["nonce"])
    alloc[known.VITALIK.lower()] = {"balance": hex(known.NATIVE_AT_FIRST)}
    return {
        "config": {"chainId": chain.chain_id},
        "nonce": "0x0",
        "timestamp": hex(FIRST_TIMESTAMP),
        "extraData": "0x",
        "gasLimit": "0x1c9c380",
        "difficulty": "0x0",
        "mixHash": _ZERO_HASH,
        "coinbase": _ZERO_ADDRESS,
        "alloc": alloc,
    }


def _content_hash() -> str:
    """Hash everything that a genesis file is made from."""
    digest = hashlib.sha256(installed().name.encode())
    own = Path(__file__).parent
    sources = [*own.glob("*.py"), *own.glob("*.toml"), *own.parent.glob("known*.py"), *artifacts.CONTRACTS.glob("*.vy")]
    for path in sorted(sources):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
