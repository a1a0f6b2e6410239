"""Starts the local chain nodes, seeds them, keeps them going and ends them.

async with Devnet.start() as devnet:
    devnet.endpoints["ethereum"]
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp

from devnet.evm.activity import Ear, Listener
from devnet.evm.artifacts import stand_ins
from devnet.evm.genesis import FIRST_TIMESTAMP, genesis_file
from devnet.evm.mining import Miner
from devnet.evm.node import Node, genesis_flags
from devnet.evm.seed import Seeded, seed_world
from devnet.evm.world import Chain, load_world
from devnet.install import STATE, installed, write_whole
from devnet.watchdog import Watchdog

RUNNING = STATE / "running"
LABEL = "anvil"
_NODE_TIMEOUT = aiohttp.ClientTimeout(total=30)

Progress = Callable[[str], None]


class Devnet:
    """The running nodes. `nodes`, `seeded` and `miners` are by chain slug."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.seeded: dict[str, Seeded] = {}
        self.miners: dict[str, Miner] = {}
        self._ears: dict[str, Ear] = {}

    @classmethod
    @asynccontextmanager
    async def start(
        cls, chains: Iterable[str] | None = None, progress: Progress = lambda line: None, *, mines: bool = True
    ) -> "AsyncIterator[Devnet]":
        """Run the nodes of these chains (all by default) for the length of the context.

        What is missing is installed and built first; `progress` is given a line now and then. With `mines` False blocks
        are made by `mine` alone. Raises ValueError for an unknown chain, InstallError and NodeError.
        """
        wanted = _chosen(chains)
        began = time.monotonic()
        devnet = cls()
        await asyncio.to_thread(installed, progress)
        await asyncio.to_thread(stand_ins)
        async with AsyncExitStack() as stack:
            guard = stack.enter_context(Watchdog())
            listener = stack.enter_context(Listener()) if mines else None
            http = await stack.enter_async_context(
                aiohttp.ClientSession(timeout=_NODE_TIMEOUT, connector=aiohttp.TCPConnector(limit=0))
            )
            stack.push_async_callback(devnet._stop_nodes)
            progress(f"devnet: starting {len(wanted)} nodes ...")
            devnet.nodes = {chain.slug: Node(chain, http) for chain in wanted}
            try:
                async with asyncio.TaskGroup() as group:
                    for node in devnet.nodes.values():
                        group.create_task(devnet._bring_up(node, http, guard, listener))
            except ExceptionGroup as failures:
                raise failures.exceptions[0] from None
            timers = [asyncio.create_task(devnet.miners[slug].run(ear)) for slug, ear in devnet._ears.items()]
            stack.push_async_callback(_cancel, timers)
            stack.callback(_forget, _note_running(devnet))
            progress(f"devnet: {len(wanted)} nodes up in {time.monotonic() - began:.1f} s")
            yield devnet

    @property
    def endpoints(self) -> dict[str, str]:
        """The nodes' loopback URLs by chain slug."""
        return {slug: node.url for slug, node in self.nodes.items()}

    async def mine(self, chain: str, blocks: int = 1) -> int:
        """Mine empty blocks on a chain now and return its new height."""
        return await self.miners[chain].mine(blocks)

    def summary(self) -> list[dict[str, object]]:
        """Return {chain, url, pid} of each node."""
        return [{"chain": slug, "url": node.url, "pid": node.pid} for slug, node in self.nodes.items()]

    def settings_overrides(self) -> dict[str, Any]:
        """Return what the gateway's settings need to use these nodes, as the nested mapping that the settings are."""
        return {
            "profile": "devnet",
            "chains": {slug: {"endpoints": [{"label": LABEL, "url": url}]} for slug, url in self.endpoints.items()},
        }

    def write_config(self, path: Path) -> None:
        """Write the same as a configuration file."""
        lines = ['profile = "devnet"']
        for slug, url in self.endpoints.items():
            lines += ["", f"[chains.{slug}]", f'endpoints = [{{ label = "{LABEL}", url = "{url}" }}]']
        path.write_text("\n".join(lines) + "\n")

    async def _bring_up(
        self, node: Node, http: aiohttp.ClientSession, guard: Watchdog, listener: Listener | None
    ) -> None:
        chain = node.chain
        genesis = await genesis_file(chain, http, guard)
        flags = genesis_flags(genesis, FIRST_TIMESTAMP, chain.parent_number)
        if listener is None:
            await node.start(guard, flags)
        else:
            self._ears[chain.slug], output = listener.open()
            try:
                await node.start(guard, flags, output)
            finally:
                os.close(output)
        self.seeded[chain.slug] = await seed_world(node)
        self.miners[chain.slug] = Miner(node)
        await self.miners[chain.slug].move_to_present()
        if chain.slug in self._ears:
            self._ears[chain.slug].forget()

    async def _stop_nodes(self) -> None:
        await asyncio.gather(*(node.stop() for node in self.nodes.values()))


def _chosen(chains: Iterable[str] | None) -> list[Chain]:
    world = load_world()
    slugs = list(world if chains is None else chains)
    unknown = [slug for slug in slugs if slug not in world]
    if unknown:
        raise ValueError(f"the devnet has no chain {', '.join(unknown)}; it has {', '.join(world)}")
    return [world[slug] for slug in slugs]


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _note_running(devnet: Devnet) -> Path:
    """Leave a note for `python -m devnet status` and return its path."""
    RUNNING.mkdir(parents=True, exist_ok=True)
    path = RUNNING / f"{os.getpid()}-{id(devnet)}.json"
    write_whole(path, json.dumps({"launcher": os.getpid(), "nodes": devnet.summary()}))
    return path


def _forget(note: Path) -> None:
    note.unlink(missing_ok=True)
    with suppress(OSError):
        RUNNING.rmdir()  # when it was the last one
