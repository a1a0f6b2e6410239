"""Builds a chain's first block: contracts are run into place on a scratch node, their state becomes a genesis file."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp

from devnet import archives, known
from devnet.evm import artifacts, placements
from devnet.evm.builder import Builder
from devnet.evm.node import Node
from devnet.evm.protocol import Protocol
from devnet.evm.world import FIRST_TIMESTAMP, Chain
from devnet.install import cache_folder, installed, write_whole
from devnet.local_chain import Guard

_SCRATCH = ("--auto-impersonate", "--gas-limit", "1000000000000", "--timestamp", str(FIRST_TIMESTAMP - 2 * 86_400))
_BLOCKS = 5_000  # more than building a world takes
_ZERO_HASH = "0x" + "00" * 32
_ZERO_ADDRESS = "0x" + "00" * 20


async def genesis_file(chain: Chain, http: aiohttp.ClientSession, guard: Guard, more: Sequence[Protocol] = ()) -> Path:
    """Return the path of the chain's genesis file, building it first when it is not in the cache. Raises NodeError.

    `more` is built after the chain's own protocols.
    """
    without = "".join(f" without {protocol.name}" for protocol in _protocols(chain) if not protocol.is_ready)
    besides = "".join(f" with {protocol.name}" for protocol in more)
    path = cache_folder("worlds", _content_hash()) / f"{chain.slug}{without}{besides}.json"
    if not path.is_file():
        # Some blocks earlier, so that nothing in the world is newer than its first block.
        scratch = Node(replace(chain, height=chain.height - _BLOCKS), http)
        try:
            await scratch.start(guard, _SCRATCH)
            alloc = await _build(Builder(scratch), chain, more)
        finally:
            await scratch.stop()
        write_whole(path, json.dumps(_genesis(chain, alloc)))
    return path


async def _build(builder: Builder, chain: Chain, more: Sequence[Protocol]) -> dict[str, Any]:
    contracts = list(placements.placements(chain))
    for contract in contracts:
        # One after the other: a proxy's constructor calls its implementation.
        if contract.creation:
            await builder.place(contract.address, contract.creation, contract.rewrite)
    for contract in contracts:
        if contract.runtime:
            await builder.put(contract.address, contract.runtime)
    for contract in contracts:
        for call in contract.calls:
            await builder.send(call.sender, contract.address, call.data, call.value)
    for contract in contracts:
        if contract.storage:
            await builder.store(contract.address, contract.storage)
    for protocol in (*_protocols(chain), *more):
        if protocol.is_ready:
            await protocol.build(chain, builder)
    return await builder.contracts()


def _protocols(chain: Chain) -> list[Protocol]:
    return [protocol for protocol in placements.PROTOCOLS if chain.slug in protocol.chains]


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
    sources += [archives.MANIFEST, own / "solc.js"]
    for path in sorted(sources):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
