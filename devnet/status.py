"""What runs, as a table: each chain with what it is, its endpoint, its head and its memory."""

import asyncio
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp

from devnet import evm
from devnet.evm.node import Node
from devnet.evm.placements import PROTOCOLS
from devnet.evm.world import load_world
from devnet.launcher import RUNNING
from devnet.local_chain import NodeError, family_of

_WITHIN = aiohttp.ClientTimeout(total=2)
_COLUMNS = ("chain", "is a", "chain id", "native", "endpoint", "head", "pid", "memory")


async def describe_running() -> str:
    """Return the table of every devnet that runs on this tree, or a line that none does."""
    notes = list(_running_notes())
    if not notes:
        return "no devnet is running; start one with `python -m devnet` or `make run`"
    return "\n\n".join(
        [await describe(note["nodes"], note.get("sources", []), note.get("left_out", {})) for note in notes]
    )


def running_settings() -> dict[str, Any] | None:
    """Return what a gateway's settings need to use the devnet that runs on this tree, None where none runs."""
    return next((note["settings"] for note in _running_notes() if "settings" in note), None)


async def describe(
    nodes: Sequence[dict[str, object]],
    sources: Sequence[dict[str, str]] = (),
    left_out: Mapping[str, str] | None = None,
) -> str:
    """Return the table of these nodes, each given as {chain, url, pid}, and what the contracts on them are.

    `sources`, each given as {source, is_a, url}, stand in for off-chain ones. `left_out` has the reason by name of each
    DeFi protocol that is not there.
    """
    async with aiohttp.ClientSession(timeout=_WITHIN) as http:
        heads = await asyncio.gather(*(_head(http, str(node["chain"]), str(node["url"])) for node in nodes))
    rows = [
        (
            str(node["chain"]),
            *_nature(str(node["chain"])),
            str(node["url"]),
            head,
            str(node["pid"]),
            _memory(str(node["pid"])),
        )
        for node, head in zip(nodes, heads, strict=True)
    ]
    off_chain = [f"{row['source']}: a {row['is_a']} of an off-chain source, at {row['url']}" for row in sources]
    contracts = [f"{word}: {what}" for word, what in evm.CONTRACTS.items()]
    protocols = _protocols({str(node["chain"]) for node in nodes}, left_out or {})
    return "\n".join([*_aligned([_COLUMNS, *rows]), "", *off_chain, *contracts, *protocols])


def _protocols(slugs: set[str], left_out: Mapping[str, str]) -> list[str]:
    """Return a line for each DeFi protocol on these chains."""
    lines = []
    for protocol in PROTOCOLS:
        chains = [slug for slug in protocol.chains if slug in slugs]
        if protocol.name in left_out:
            lines.append(f"left out: {protocol.name}: {left_out[protocol.name]}")
        elif chains:
            lines.append(f"{protocol.word}: {protocol.name} ({protocol.note}) on {', '.join(chains)}")
    return lines


def _nature(slug: str) -> tuple[str, str, str]:
    """Return the devnet's word for a chain, its chain id and its native symbol."""
    family = family_of(slug)
    if family is not None:
        return family.word, *family.chains[slug]
    chain = load_world()[slug]
    return evm.WORD, str(chain.chain_id), chain.native


async def _head(http: aiohttp.ClientSession, slug: str, url: str) -> str:
    family = family_of(slug)
    if family is not None:
        try:
            return str(await family.read_head(http, slug, url))
        except (aiohttp.ClientError, TimeoutError, OSError, NodeError):
            return "no answer"
    node = Node(load_world()[slug], http, url)
    try:
        # Not eth_blockNumber: looking at a chain is no question, or it would set off its blocks.
        return str(int((await node.call("anvil_nodeInfo"))["currentBlockNumber"], 16))
    except (aiohttp.ClientError, TimeoutError, OSError, NodeError):
        return "no answer"


def _running_notes() -> Iterable[dict[str, Any]]:
    """Yield the notes of launchers that are alive; notes of others are removed."""
    for path in sorted(RUNNING.glob("*.json")):
        note = json.loads(path.read_text())
        if _is_alive(note["launcher"]):
            yield note
        else:
            path.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _memory(pid: str) -> str:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return "?"
    resident = next((line.split()[1] for line in lines if line.startswith("VmRSS:")), None)
    return "?" if resident is None else f"{int(resident) // 1024} MB"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
